"""`wisp config set`, `unset`, `edit` and `schema`: the user's own settings file."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from wisp.frontends.cli.exitcodes import CONFIGURATION, FAILED, OK
from wisp.frontends.cli.streams import complain, hand_over, say
from wisp.host.showing import flat, safe


class Settings(Protocol):
    """What the library knows of the settings file."""

    def set_setting(self, key: str, value: str | None) -> str: ...
    def settings_schema(self) -> dict[str, Any]: ...
    def settings_file(self) -> tuple[str, str]: ...
    def settings_problems(self) -> list[str]: ...


def _set(words: Sequence[str], library: Settings) -> int:
    say(safe(f"{words[0]} = {library.set_setting(words[0], words[1])}"))
    return OK


def _unset(words: Sequence[str], library: Settings) -> int:
    say(safe(f"{words[0]} is {library.set_setting(words[0], None)}"))
    return OK


def _schema(words: Sequence[str], library: Settings) -> int:
    hand_over(json.dumps(library.settings_schema(), indent=1, sort_keys=True) + "\n")
    return OK


def _edit(words: Sequence[str], library: Settings) -> int:
    """Open the file in the user's editor, and say what is wrong with it afterwards."""
    path, editor = library.settings_file()
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    try:
        code = subprocess.run([*shlex.split(editor), path], check=False).returncode
    except (OSError, ValueError) as exc:
        complain(safe(f"wisp: the editor {editor!r} cannot be started: {exc}; set VISUAL or EDITOR"))
        return FAILED
    problems = library.settings_problems()
    for problem in problems:
        complain(flat(problem))
    return CONFIGURATION if problems else FAILED if code else OK


VERBS: dict[str, Callable[[Sequence[str], Settings], int]] = {
    "set": _set,
    "unset": _unset,
    "edit": _edit,
    "schema": _schema,
}
