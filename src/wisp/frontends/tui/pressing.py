"""Keys of the composer that mean something else while something else is shown, and looking for words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wisp.host.showing import safe

STOPPING = "stopping the command"
"""While this is said, the next press is meant for the run."""

if TYPE_CHECKING:
    from wisp.frontends.tui.app import WispApp
    from wisp.frontends.tui.talk import Talk


def pressed(app: WispApp, key: str) -> None:
    """Escape, Tab and, where a menu is open, arrows and Enter.  One scope for one press."""
    talk = app.talk
    if talk is None:
        return
    if app.menu.open and key in ("up", "down", "tab", "enter", "escape"):
        if key == "escape":
            app.show_menu([])
        elif key in ("up", "down"):
            app.menu.step(-1 if key == "up" else 1)
        elif _take(app, enter=key == "enter"):
            app.composer.send("now")
    elif key == "escape":
        if app.answers.wanted:
            app.answers.give_up()
        else:
            _escape(app, talk)
    elif key == "ctrl+d" and not app.working:
        app.exit(0)
    elif key == "alt+up":
        app.keep(talk.take_back())
    elif key == "ctrl+g":
        from wisp.frontends.tui.editing import edit

        edit(app, talk)
    elif key == "ctrl+v":
        from wisp.frontends.tui.bringing import picture

        app.keep(picture(app, talk))
    elif key == "recall":
        app.keep(talk.recall())


def _take(app: WispApp, *, enter: bool) -> bool:
    from wisp.frontends.tui.suggesting import take  # not before the first frame

    return take(app, enter=enter)


def _escape(app: WispApp, talk: Talk) -> None:
    """One thing is stopped by each press: the command that runs, then the run."""
    if talk.feed.commands and not app.below.hint.startswith(STOPPING):
        app.say_for_a_moment(f"{STOPPING}; esc again stops the run")
        app.keep(talk.stop(calls=True))
    else:
        app.action_stop()


def interrupt(app: WispApp, *, twice: bool) -> None:
    """Ctrl+C: copy what is marked; else clear the text and stop the run; twice leaves."""
    if marked := app.composer.selected_text:
        from wisp.frontends.tui.bringing import copied

        app.keep(copied(app, safe(marked)))
        app.composer.move_cursor(app.composer.cursor_location)
        return
    if twice:
        app.exit(130 if app.working else 0)
        return
    if app.composer.text and not app.working:
        app.composer.remember(app.composer.whole)
        app.composer.put("")
    app.action_stop()
    app.say_for_a_moment("ctrl+c again leaves")


def find(app: WispApp, talk: Talk, words: str) -> None:
    """Look for words upwards from what is in sight; Enter goes on to the next place, Esc ends it."""
    place = len(app.transcript.entries)
    before, far = "", False

    async def look(text: str) -> bool:
        nonlocal place, before, far
        if text.strip():
            if text != before:
                talk.past.end()
                place, far = len(app.transcript.entries), False
            before = text
            place = talk.find(text, place) if not far else -1
            if place < 0 and await talk.past.search(text):
                far = True
            elif place < 0:
                far = False
                talk.past.end()
                app.say_for_a_moment("nothing (more) found; Enter begins again")
                place = len(app.transcript.entries)
            else:
                app.transcript.reveal(place)
        return False

    if words:
        app.keep(look(words))
    else:
        app.answers.ask("words to look for, upwards; Esc ends", look, hint="enter finds the next")
