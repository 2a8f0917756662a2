"""The settings of one place: every source merged, the folder found, its trust looked up.  Builds nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

import msgspec

from wisp.host.client import OpenFailed, OpenRequest
from wisp.host.library import TrustBook
from wisp.host.paths import Paths, find_paths
from wisp.host.settings import (
    Layer,
    Resolved,
    Settings,
    absolute,
    environment_layers,
    merge,
    read_file,
)
from wisp.messages.ids import Clock
from wisp.policy.rules import BadRule, Rule, Rules, is_set, parse_rule

COMMAND_LINE = "the command line"
"""Where options come from, as `origins` names it."""


class Configured(msgspec.Struct, frozen=True):
    """Settings of one place, before anything is built."""

    resolved: Resolved
    paths: Paths
    cwd: str
    trusted: bool

    @property
    def settings(self) -> Settings:
        """The merged settings."""
        return self.resolved.settings

    @property
    def rules_are_whole(self) -> bool:
        """Whether every permission rule could be read; a source that could not be read may have held some."""
        return not any(not p.key or p.key.startswith("permissions") for p in self.resolved.problems)

    @property
    def lost_bounds(self) -> list[str]:
        """What is wrong with settings that limit a run: going on would be a run without those limits."""
        bad = [str(problem) for problem in self.resolved.problems if problem.limit]
        return [re.sub("; (?:the setting|it) is ignored$", "", said) for said in bad]

    @property
    def session_base(self) -> str:
        """Where sessions are kept."""
        chosen = self.settings.session_dir
        return absolute(chosen, self.cwd) if chosen else self.paths.sessions

    @property
    def output(self) -> str:
        """Where whole outputs of commands are kept: with the sessions that refer to them."""
        return os.path.join(self.session_base, ".output") if self.settings.session_dir else self.paths.output


def configure(request: OpenRequest, env: Mapping[str, str], clock: Clock) -> Configured:
    """Merge every source of settings for `request`.

    Raises:
        OpenFailed: the folder does not exist, or with `strict_config` something is wrong.
    """
    paths = find_paths(env)
    cwd = _folder(request.cwd)
    user, problems = read_file(paths.settings_file)
    options = Layer(COMMAND_LINE, dict(request.options))
    book = TrustBook(paths.trust_file, clock)
    trusted = not request.no_project and (request.trust or book.state(cwd) == "trusted")
    layers = [user]
    if trusted and any(os.path.lexists(os.path.join(cwd, name)) for name in (".wisp", ".mcp.json")):
        from wisp.host.project import admitted, read_project

        own = merge([user, *environment_layers(env)]).settings
        project, more = admitted(read_project(cwd), own, book.approved(cwd))
        layers.append(project)
        problems = (*problems, *more)
    resolved = merge([*layers, *environment_layers(env), options], problems)
    bad = [problem for problem in resolved.problems if problem.source == options.source]
    if bad:
        raise OpenFailed(
            bad[0].message.replace("; the setting is ignored", "").replace("; it is ignored", ""), 2
        )
    if request.strict_config and resolved.problems:
        raise OpenFailed("; ".join(map(str, resolved.problems)))
    return Configured(resolved, paths, cwd, trusted)


def _folder(given: str) -> str:
    try:
        base = os.getcwd()
    except OSError:
        if not os.path.isabs(given):
            raise OpenFailed("the current folder was deleted; go to another, or use --cwd", 2) from None
        base = "/"
    path = os.path.realpath(absolute(given, base) if given else base)
    if not os.path.isdir(path):
        raise OpenFailed(f"{given!r} is not a folder", 2)
    return path


def rules_of(configured: Configured) -> Rules:
    """The standing rules of the settings.

    Raises:
        OpenFailed: one is no rule; with exit code 2 where the command line was the last to name any.
    """
    permissions = configured.settings.permissions
    source = configured.resolved.origins.get("permissions", "")

    def parsed(texts: Sequence[str]) -> tuple[Rule, ...]:
        try:
            return tuple(map(parse_rule, texts))
        except BadRule as exc:
            if source == COMMAND_LINE:
                raise OpenFailed(str(exc), 2) from None
            raise OpenFailed(f"{source}: permissions: {exc}") from None

    deny = parsed(permissions.deny)
    for rule in filter(is_set, deny):
        message = f"{rule.text!r} can only be allowed; name programs to deny, for instance 'bash(make)'"
        raise OpenFailed(message, 2 if source == COMMAND_LINE else 3)
    return Rules(parsed(permissions.allow), deny)
