"""Where wisp keeps its own files.  One of three modules that may look at the environment.

The XDG base directory names are part of the contract on every platform, so no library chooses others.
`WISP_HOME` moves everything under one folder.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec


class Paths(msgspec.Struct, frozen=True):
    """Absolute folders; none is created here."""

    config: str
    """Settings."""
    state: str
    """Sessions, trust, command output."""
    home: str
    """The user's home folder."""

    @property
    def settings_file(self) -> str:
        """The user's settings."""
        return os.path.join(self.config, "settings.toml")

    @property
    def sessions(self) -> str:
        """The default folder of sessions."""
        return os.path.join(self.state, "sessions")

    @property
    def worktrees(self) -> str:
        """Where `--worktree` works; what lies below are projects."""
        return os.path.join(self.state, "worktrees")

    @property
    def trust_file(self) -> str:
        """Decisions about folders."""
        return os.path.join(self.state, "trust.json")

    @property
    def credentials_file(self) -> str:
        """Keys and tokens that `wisp login` stored."""
        return os.path.join(self.state, "credentials.json")

    @property
    def mcp_logins(self) -> str:
        """What logins to MCP servers led to."""
        return os.path.join(self.state, "mcp-logins.json")

    @property
    def mcp_pins(self) -> str:
        """What MCP servers said of their tools, as digests."""
        return os.path.join(self.state, "mcp-pins.json")

    @property
    def catalogue_file(self) -> str:
        """What `wisp models --refresh` fetched; need not be there."""
        return os.path.join(self.state, "catalog.json")

    @property
    def plans(self) -> str:
        """What was planned in plan mode."""
        return os.path.join(self.state, "plans")

    @property
    def day_file(self) -> str:
        """What was spent today, where a day has limits."""
        return os.path.join(self.state, "spent-today.json")

    @property
    def output(self) -> str:
        """Whole outputs of commands."""
        return os.path.join(self.state, "output")


def environment() -> Mapping[str, str]:
    """The process's environment, for those who are handed it."""
    return os.environ


NO_HOME = "/dev/null/no-home"
"""Where nothing can be, for nobody: the place of a home folder that is not known."""


def find_paths(env: Mapping[str, str]) -> Paths:
    """The folders that `env` names; relative XDG values are ignored, as the specification says.

    A user without `HOME` and without an entry in the system's list has no home: nothing is read there, and
    what is to be written fails.  It never becomes a folder in the project.
    """
    home = env.get("HOME") or _listed_home()
    if not os.path.isabs(home):
        home = NO_HOME
    if wisp_home := env.get("WISP_HOME"):
        base = os.path.abspath(wisp_home)
        return Paths(os.path.join(base, "config"), os.path.join(base, "state"), home)
    config = _xdg(env, "XDG_CONFIG_HOME", os.path.join(home, ".config"))
    state = _xdg(env, "XDG_STATE_HOME", os.path.join(home, ".local", "state"))
    return Paths(os.path.join(config, "wisp"), os.path.join(state, "wisp"), home)


def _listed_home() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return NO_HOME


def _xdg(env: Mapping[str, str], name: str, default: str) -> str:
    value = env.get(name, "")
    return value if os.path.isabs(value) else default
