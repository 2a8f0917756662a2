"""Plans that were made in plan mode: Markdown files in wisp's own state folder, never in the project."""

from __future__ import annotations

import os
import re
import time

from wisp.messages.ids import Clock
from wisp.session.whole import create_private_folder

_NAMES = 1000


def save_plan(folder: str, clock: Clock, plan: str) -> str:
    """Keep `plan` in a new private file `DATE-SLUG.md` of `folder`; returns its path.

    The slug is made of the plan's own first words: they have been through the masking of credentials.

    Raises:
        OSError: it cannot be written.
    """
    create_private_folder(folder)
    stem = f"{time.strftime('%Y-%m-%d', time.gmtime(clock.now()))}-{slug(plan)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    for number in range(1, _NAMES):
        path = os.path.join(folder, f"{stem}{f'-{number}' if number > 1 else ''}.md")
        try:
            fd = os.open(path, flags, 0o600)
        except FileExistsError:
            continue
        try:
            with os.fdopen(fd, "wb") as file:
                file.write((plan.rstrip("\n") + "\n").encode("utf-8", "replace"))
        except OSError:
            os.unlink(path)
            raise
        return path
    raise FileExistsError(f"{folder} holds {_NAMES} plans of this name")


def slug(plan: str) -> str:
    """The first words of a plan as a piece of a file name."""
    first = next((line for line in plan.splitlines() if line.strip(" #*_-")), "")
    words = re.sub(r"[^a-z0-9]+", "-", first.lower()).strip("-")
    return words[:50].rstrip("-") or "plan"
