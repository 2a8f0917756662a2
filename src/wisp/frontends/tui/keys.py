"""What each key does, as a text: the one list that the screen and the documentation show."""

from __future__ import annotations

KEYS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Writing",
        (
            ("Enter", "send; during a run: say it before the next request (steer)"),
            ("Alt+Enter", "during a run: say it when the run would stop (queue)"),
            ("Shift+Enter, Ctrl+J, \\ Enter", "a new line"),
            ("/", "a command; at the beginning of a message"),
            ("@", "a file, by some of its letters"),
            ("!, !!", "at the beginning: run a command; the model is told of it, or not"),
            ("Tab", "take the marked row of the menu"),
            ("Up, Down", "what was sent before, from the first or last line"),
            ("Ctrl+R", "look through what was sent before"),
            ("Ctrl+_, Alt+Z / Alt+Y", "undo / redo"),
            ("Ctrl+U, Ctrl+K, Ctrl+W / Ctrl+Y", "remove to the beginning, the end, a word / put it back"),
            ("Ctrl+Y Alt+Y", "put back what was removed before that"),
            ("Ctrl+G", "write in your editor (VISUAL, EDITOR)"),
            ("Ctrl+V, dropping a file", "a picture from the clipboard, a picture file"),
            ("Alt+Up", "take the last waiting message back"),
        ),
    ),
    (
        "The run",
        (
            ("Esc", "stop the command that runs; pressed again, or where none runs: the run"),
            ("Ctrl+C", "copy what is marked; else clear the text, stop the run; twice in 2 s leaves"),
            ("Ctrl+D", "leave, where nothing is written"),
            ("Shift+Tab", "the next permission mode: ask, auto, plan, read-only"),
        ),
    ),
    (
        "A question",
        (
            ("y, 1", "allow once"),
            ("a, 2", "allow for this session, by the rule that is shown"),
            ("n, 3, Esc", "deny"),
            ("m, 4", "deny and tell the model why"),
            ("p, 5", "choose the hunks of a change that are allowed, where it has several"),
            ("e, 6", "edit the command, content or arguments; Enter allows that"),
            ("x", "stop the run"),
            ("Up, Down, PgUp, PgDn", "see all of the operation"),
        ),
    ),
    (
        "Looking",
        (
            ("PgUp, PgDn, wheel", "scroll"),
            ("Ctrl+Home, Ctrl+End", "the beginning, the end"),
            (
                "Ctrl+F",
                "look for words upwards in the whole conversation; Enter finds the next place",
            ),
            ("drag with the mouse", "copy what is marked (OSC 52)"),
            ("Ctrl+O, click", "show all of every card, of one card"),
            ("Ctrl+L", "draw everything anew"),
            ("Ctrl+Z", "suspend; fg returns"),
            ("F1", "this list"),
        ),
    ),
)


def plain() -> str:
    """The list in lines."""
    wide = max(len(key) for _, rows in KEYS for key, _ in rows)
    out = []
    for title, rows in KEYS:
        out += [title, *(f"  {key:{wide}}  {does}" for key, does in rows), ""]
    return "\n".join(out).rstrip()
