"""What the user has in an editor and not yet in the file: shown when it is read, never written over.

An editor is asked by path and answers with text; the encoding and line ends of the file are put back, so that
once the user has saved, the file is what the model has seen.  Knows no protocol.
"""

from __future__ import annotations

from collections.abc import Callable

from wisp.messages.tool import ToolFailure
from wisp.tools.target import Target
from wisp.workspace import text
from wisp.workspace.errors import Refused
from wisp.workspace.protected import why_protected

Editor = Callable[[str], str | None]
"""From an absolute path to what an editor shows of that file; None where it cannot say.  May block."""

LARGEST = 4 << 20
"""Bytes of a file that an editor is asked about at most."""
NOTE = (
    "[shown as in the user's editor, where it is not saved yet; searches and commands see the saved file, "
    "and it cannot be changed until the user saves or discards that]"
)


def unsaved(editor: Editor | None, target: Target, data: bytes) -> bytes | None:
    """What the file would hold if the user saved now; None where it holds just that, or nobody knows.

    Args:
        target: asked about only inside the granted folders, and never when protected.
        data: what the file holds.
    """
    if editor is None or not target.place.inside or len(data) > LARGEST:
        return None
    if why_protected(target.path, "read") or why_protected(target.path, "write"):
        return None
    shown = editor(target.path)
    if shown is None:
        return None
    try:
        saved = text.decode(data)
    except Refused:
        return None
    if _plain(shown) == _plain(saved.text):
        return None
    form = saved.form
    ends = "\r\n" if "\r\n" in saved.text else "\n"
    try:
        return form.mark + text.encode(_plain(shown).replace("\n", ends), form)
    except Refused:
        return shown.encode("utf-8", "replace")


def refuse_unsaved(editor: Editor | None, target: Target, data: bytes, name: str) -> None:
    """Refuse to change a file that the user is changing.

    Raises:
        ToolFailure: `stale_input`.
    """
    if unsaved(editor, target, data) is not None:
        raise ToolFailure(
            "stale_input",
            f"{name} has changes in the user's editor that are not saved; nothing was written. "
            "Ask the user to save or discard them, then read it again",
        )


def _plain(content: str) -> str:
    """Without what editors leave out or put in on their own: a mark, carriage returns."""
    return content.removeprefix("\ufeff").replace("\r\n", "\n")
