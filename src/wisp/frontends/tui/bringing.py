"""What comes from and goes to the desk around the terminal: the clipboard, pictures that are dropped.

The display's own programs first; the terminal's way (OSC 52) where they are not there, as over SSH.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wisp.host.showing import Shown, one_line

if TYPE_CHECKING:
    from wisp.frontends.tui.app import WispApp
    from wisp.frontends.tui.talk import Talk


async def copied(app: WispApp, text: Shown) -> None:
    """Put text into the clipboard, and say by which way."""
    took = await app.talk.client.around.copy(text) if app.talk is not None else ""
    if not took:
        app.copy_to_clipboard(text)
    app.say_for_a_moment(f"copied by {took}" if took else "copied by OSC 52, if the terminal allows it")


async def dropped(app: WispApp, talk: Talk, text: str) -> None:
    """Where the pasted text names pictures, put their marks in its place."""
    found = await talk.client.around.dropped(text)
    if not found or not app.composer.before_cursor().endswith(text):
        return
    app.composer.complete(len(text), "")
    for path in found:
        app.composer.add_picture(path, _name(path))


async def picture(app: WispApp, talk: Talk) -> None:
    """Ctrl+V: the picture in the clipboard goes along with the message."""
    app.say_for_a_moment("looking into the clipboard…")
    path = await talk.client.around.picture()
    if path:
        app.composer.add_picture(path, _name(path))
        app.say_for_a_moment("the picture goes along")
    else:
        app.say_for_a_moment("there is no picture in a clipboard that can be read from here")


def _name(path: str) -> str:
    return one_line(path.rsplit("/", 1)[-1], 60).replace("[", "(").replace("]", ")")
