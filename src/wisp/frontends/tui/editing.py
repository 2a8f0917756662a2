"""The person's own editor on what is being written, with the screen out of its way meanwhile."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from typing import TYPE_CHECKING

from wisp.host.showing import safe

if TYPE_CHECKING:
    from wisp.frontends.tui.app import WispApp
    from wisp.frontends.tui.talk import Talk

MOST = 2_000_000
"""Bytes that are taken from an editor."""


def edit(app: WispApp, talk: Talk) -> None:
    """Open the composer's text in the editor; what is saved there stands in the composer afterwards."""
    from textual.app import SuspendNotSupported

    editor = talk.client.around.editor()
    with tempfile.TemporaryDirectory(prefix="wisp-") as folder:
        path = os.path.join(folder, "message.md")
        with open(path, "w", encoding="utf-8", errors="replace") as file:
            file.write(app.composer.whole)
        try:
            with app.suspend():
                code = subprocess.run([*shlex.split(editor), path], check=False).returncode
        except (OSError, ValueError) as exc:
            talk.note(f"the editor {editor!r} cannot be started: {exc}; set VISUAL or EDITOR", "warn")
            return
        except SuspendNotSupported:
            talk.note("there is no room for an editor beside the inline screen", "warn")
            return
        if code:
            talk.note(f"the editor ended with exit code {code}; the text is as it was", "warn")
            return
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(MOST)
    text = text.removesuffix("\n")
    if text != app.composer.whole:
        app.composer.put(safe(text))
    app.refresh(repaint=True, layout=True)
