"""Commands' sandbox from the settings: what is chosen, what must be hidden, and what follows for the policy.

Names no mechanism; that is found out when the first command is prepared, or here where a run promised a
sandbox and must not begin without one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from wisp.host.client import OpenFailed, OpenRequest
from wisp.host.configure import Configured
from wisp.messages.ids import Clock
from wisp.policy.decide import Policy
from wisp.policy.modes import Mode
from wisp.policy.rules import Rules
from wisp.workspace.box import Box, BoxSettings
from wisp.workspace.root import Workspace


def make_box(workspace: Workspace, configured: Configured, env: Mapping[str, str], clock: Clock) -> Box:
    """The box of this run; nothing is started and nothing proven.

    Raises:
        OpenFailed: the network setting cannot be understood.
    """
    path = env.get("PATH", "/usr/local/bin:/usr/bin:/bin")
    wall = lambda: int(clock.now() * 1_000_000_000)  # noqa: E731
    return Box(workspace, box_settings(configured), path, clock.monotonic, wall)


def box_settings(configured: Configured) -> BoxSettings:
    """What the settings say about the box.

    Raises:
        OpenFailed: the network setting cannot be understood.
    """
    settings, paths = configured.settings, configured.paths
    return BoxSettings(
        wanted=settings.sandbox != "off",
        network=_network(settings.network),
        home=paths.home,
        hide=(paths.config, paths.state, configured.session_base),
        show=(configured.output,),
    )


def box_state(box: Box) -> str:
    """The snapshot's word for it."""
    if not box.settings.wanted:
        return "off"
    return "bubblewrap" if box.likely else "none"


def sandboxed_policy(configured: Configured, request: OpenRequest, box: Box, rules: Rules) -> Policy:
    """The policy of this run; a run that promised a sandbox has one proven first.

    Raises:
        OpenFailed: `--yes` or `--sandbox required` where none works.
    """
    settings = configured.settings
    mode: Mode = settings.permission_mode
    if mode in ("auto", "full") and not configured.rules_are_whole:
        raise OpenFailed(
            f"{mode} mode asks little or nothing, and part of the permissions could not be read: "
            + "; ".join(map(str, configured.resolved.problems))
        )
    if settings.sandbox == "required" or request.yes:
        proof = box.prove()
        if proof.kind != "bubblewrap" and settings.sandbox == "required":
            raise OpenFailed(f"--sandbox required: {proof.reason}; use --sandbox auto or off")
        if proof.kind != "bubblewrap":
            raise OpenFailed(
                f"--yes needs a working sandbox and there is none here ({proof.reason}); to run everything "
                "unasked, say so: --permission-mode full"
            )
        mode = "auto" if request.yes else mode
    return policy_of(configured, mode, rules, sandboxed=box.likely)


def policy_of(configured: Configured, mode: Mode, rules: Rules, *, sandboxed: bool = False) -> Policy:
    """The policy of this configuration; it knows where the agent's own files are."""
    own = [os.path.realpath(configured.paths.config), os.path.realpath(configured.paths.state)]
    sessions = os.path.realpath(configured.session_base)
    if os.path.commonpath([sessions, configured.cwd]) != sessions:  # `--session-dir .` leaves the work free
        own.append(sessions)
    return Policy(
        mode,
        configured.cwd,
        rules,
        sandboxed=sandboxed,
        own=tuple(own),
        shown=(os.path.realpath(configured.output),),
    )


def _network(text: str) -> str:
    words = text.strip()
    if words in ("none", "on"):
        return words
    from wisp.workspace.sandbox.hosts import BadHost, parse_rules

    try:
        parse_rules(words)
    except BadHost as exc:
        raise OpenFailed(
            f"network: {exc}; it is none, on, or hosts as example.org,*.example.net:8443", 2
        ) from None
    return words
