"""What a person decides on when they trust a folder: what of it would be read, and what could run then."""

from __future__ import annotations

import os
import stat

import msgspec

from wisp.context.project import NAMES
from wisp.host.configure import Configured
from wisp.host.library import TrustBook
from wisp.host.project import FILE, SERVERS, read_project
from wisp.messages.ids import Clock
from wisp.policy.trust import TrustState

READ = (
    *NAMES,
    FILE,
    SERVERS,
    ".agents/skills",
    ".wisp/skills",
    ".claude/skills",
    ".wisp/commands",
    ".claude/commands",
)


class TrustCard(msgspec.Struct, frozen=True):
    """The state of one folder."""

    folder: str
    state: TrustState
    trusted: bool
    """Whether it counts as trusted now, also for this process alone."""
    found: tuple[str, ...]
    """What of it is read only where it is trusted."""
    executing: tuple[str, ...]
    """Settings of it that could run something, each with its value."""


def trust_card(configured: Configured, clock: Clock) -> TrustCard:
    """What there is to decide about the folder; no file of it is opened but its settings."""
    cwd = configured.cwd
    found = _found(cwd)
    project = read_project(cwd) if {FILE, SERVERS} & set(found) else None
    executing = sorted(project.executing.items()) if project is not None else []
    return TrustCard(
        cwd,
        TrustBook(configured.paths.trust_file, clock).state(cwd),
        configured.trusted,
        found,
        tuple(f"{name} = {value!r}" for name, value in executing),
    )


def not_read(configured: Configured, clock: Clock) -> tuple[str, ...]:
    """A note of what is not read of a folder that nobody decided about."""
    found = _found(configured.cwd)
    if not found or TrustBook(configured.paths.trust_file, clock).state(configured.cwd) != "undecided":
        return ()
    said = f"not read, because this folder is not trusted: {', '.join(found)}"
    return (f"{said}; 'wisp trust allow', or --trust for one run",)


def _found(folder: str) -> tuple[str, ...]:
    return tuple(name for name in READ if _says_something(os.path.join(folder, name)))


def _says_something(path: str) -> bool:
    """Whether there is anything to read: an empty folder may only stand in for what is not there."""
    try:
        return not stat.S_ISDIR(os.lstat(path).st_mode) or bool(os.listdir(path))
    except FileNotFoundError:
        return False
    except OSError:
        return True
