"""What works here and what does not: facts for `wisp doctor`, never a secret among them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping

import msgspec

from wisp._version import __version__
from wisp.host.client import OpenFailed
from wisp.host.configure import Configured, rules_of
from wisp.host.paths import environment
from wisp.tools.render import plural
from wisp.workspace.outputs import count


class Finding(msgspec.Struct, frozen=True):
    """One fact."""

    name: str
    status: str
    """`ok`, `missing`, `problem` or `info`."""
    detail: str


def examine(configured: Configured) -> list[Finding]:
    """Everything worth knowing before asking somebody for help."""
    env = environment()
    return [
        Finding("wisp", "info", f"{__version__}, Python {sys.version.split()[0]}, {sys.platform}"),
        *_settings(configured),
        *_providers(configured, env),
        *_extensions(configured),
        *_programs(env),
        *_sandbox(configured, env),
        Finding("terminal", "info", f"TERM={env.get('TERM', '')!r} NO_COLOR={'NO_COLOR' in env}"),
        _sessions(configured),
        Finding("trust", "info", f"{configured.cwd}: {'trusted' if configured.trusted else 'not trusted'}"),
    ]


def _settings(configured: Configured) -> list[Finding]:
    path = configured.paths.settings_file
    there = "read" if os.path.exists(path) else "no file"
    found = [Finding("settings", "ok" if not configured.resolved.problems else "problem", f"{path}: {there}")]
    found += [Finding("settings", "problem", str(problem)) for problem in configured.resolved.problems]
    try:
        rules_of(configured)
    except OpenFailed as exc:
        found.append(Finding("settings", "problem", str(exc)))
    found += [
        Finding("setting", "info", f"{name} from {origin}")
        for name, origin in sorted(configured.resolved.origins.items())
    ]
    return found


def _providers(configured: Configured, env: Mapping[str, str]) -> list[Finding]:
    from wisp.host.reach import facts

    return [Finding(*fact) for fact in facts(configured, env)]


def _extensions(configured: Configured) -> list[Finding]:
    """Each extension, loaded to see whether it can be."""
    if not configured.settings.extensions:
        return []
    import asyncio

    from wisp.host.extending import Extensions

    async def load() -> list[Finding]:
        found = Extensions()
        await found.load(configured)
        rows = [Finding(f"extension {name}", "problem", why) for name, why in found.failed.items()]
        rows += [Finding(f"extension {one.registry.name}", "ok", one.told) for one in found.loaded]
        await found.close()
        off = [name for name, table in configured.settings.extensions.items() if not table.enabled]
        return sorted(rows, key=lambda row: row.name) + [
            Finding(f"extension {n}", "info", "off") for n in off
        ]

    return asyncio.run(load())


def _programs(env: Mapping[str, str]) -> list[Finding]:
    found = []
    for name, why in (("rg", "searching"), ("git", "history"), ("bwrap", "the sandbox")):
        path = shutil.which(name, path=env.get("PATH", ""))
        found.append(Finding(name, "ok" if path else "missing", path or f"not in PATH; used for {why}"))
    return found


def _sandbox(configured: Configured, env: Mapping[str, str]) -> list[Finding]:
    """What boxes commands here, proven by trying to get out of it."""
    from wisp.host.sandbox import box_settings
    from wisp.messages.ids import SystemClock
    from wisp.workspace.errors import Refused
    from wisp.workspace.sandbox.selftest import attempts

    settings, clock = box_settings(configured), SystemClock()
    if not settings.wanted:
        return [Finding("sandbox", "info", "turned off in the settings; commands run with your rights")]
    try:
        tried = attempts(
            settings, configured.paths.state, env, clock.monotonic, lambda: int(clock.now() * 1e9)
        )
    except Refused as exc:
        return [Finding("sandbox", "missing", f"{exc}; every command is asked")]
    escaped = [one for one in tried if not one.held]
    found = [Finding("sandbox escape", "problem", f"{one.what}: not prevented") for one in escaped]
    words = f"bubblewrap; {len(tried) - len(escaped)} of {len(tried)} ways out tried and closed: "
    names = ", ".join(one.what for one in tried if one.held)
    return [Finding("sandbox", "problem" if escaped else "ok", words + names), *found]


def _sessions(configured: Configured) -> Finding:
    base = configured.session_base
    place = base
    while not os.path.exists(place) and os.path.dirname(place) != place:
        place = os.path.dirname(place)
    writable = os.access(place, os.W_OK)
    if not writable:
        return Finding("sessions", "problem", f"{base}: not writable")
    files, size = count(configured.output)
    told = f"; {plural(files, 'kept output')} of commands, {size / 1e6:,.1f} MB" if files else ""
    return Finding("sessions", "ok", base + told)
