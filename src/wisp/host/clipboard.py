"""The clipboard of the display that the process stands on, by that display's own programs.

Over SSH there is none: what runs there would reach the far machine.  Knows nothing of terminals, which have a
way of their own (OSC 52).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence

from wisp.host.showing import Shown

PATIENCE = 2.0
"""Seconds for one program."""
MOST_PICTURE = 20 << 20
"""Bytes of a picture that is taken."""
_WAYLAND = (("wl-copy", "--type", "text/plain;charset=utf-8"),)
_X11 = (("xclip", "-selection", "clipboard", "-in"), ("xsel", "--clipboard", "--input"))
_PICTURES = {
    "wayland": (("wl-paste", "--no-newline", "--type", "image/png"),),
    "x11": (("xclip", "-selection", "clipboard", "-target", "image/png", "-out"),),
    "darwin": (("pngpaste", "-"),),
}


def display(env: Mapping[str, str]) -> str:
    """`wayland`, `x11`, `darwin`, `windows` (from within WSL); nothing where none is, or it is far away."""
    if env.get("SSH_CONNECTION") or env.get("SSH_TTY"):
        return ""
    if sys.platform == "darwin":
        return "darwin"
    if env.get("WAYLAND_DISPLAY"):
        return "wayland"
    if env.get("DISPLAY"):
        return "x11"
    return "windows" if env.get("WSL_DISTRO_NAME") else ""


def copy(text: Shown, env: Mapping[str, str]) -> str:
    """Put `text` into the clipboard; the program that took it, nothing where none did."""
    ways: dict[str, Sequence[Sequence[str]]] = {
        "wayland": (*_WAYLAND, *(_X11 if env.get("DISPLAY") else ())),
        "x11": _X11,
        "darwin": (("pbcopy",),),
        "windows": (("clip.exe",),),
    }
    for argv in ways.get(display(env), ()):
        if (found := shutil.which(argv[0], path=env.get("PATH"))) is None:
            continue
        try:
            done = subprocess.run(  # it goes on serving the clipboard beside us, so it is not waited for
                [found, *argv[1:]],
                input=text.encode("utf-16-le" if argv[0] == "clip.exe" else "utf-8", "replace"),
                env=dict(env),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=PATIENCE,
                check=False,
                start_new_session=True,
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            return argv[0]
    return ""


def picture(env: Mapping[str, str]) -> bytes:
    """The picture in the clipboard, as PNG; nothing where there is none or it cannot be had."""
    for argv in _PICTURES.get(display(env), ()):
        if (found := shutil.which(argv[0], path=env.get("PATH"))) is None:
            continue
        try:
            done = subprocess.run(
                [found, *argv[1:]],
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=PATIENCE,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0 and done.stdout.startswith(b"\x89PNG") and len(done.stdout) <= MOST_PICTURE:
            return done.stdout
    return b""
