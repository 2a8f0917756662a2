"""Settings that are none: what was meant by them, and whether a limit is lost with them.

A limit under a name that nobody knows would be a run without it.  Knows names, not values or files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from wisp.host.showing import nearest
from wisp.host.tables import EVENTS, GUARDS

_COUNTED = ("turns", "cost", "tokens", "time")
LIMITS = frozenset(
    {
        *(f"{whose}max_{what}" for whose in ("", "session_", "day_") for what in _COUNTED),
        *("max_repeats", "silence_limit", "memory_limit"),
        *("sandbox", "network", "tools", "permission_mode", "permissions", "hooks"),
    }
)
"""Settings that bound a run: without one of them, more is done than somebody said."""
_SOUNDS = ("max_", "deny", "denied", "disallow", "forbid", "sandbox", "network", "permission", "budget")
"""How names begin that bound something in other programs, and may here one day."""
_DEEPEST = 8


class Wrong(NamedTuple):
    """One thing wrong in a table, and whether a limit is lost by it."""

    where: tuple[str, ...]
    what: str
    limit: bool


def is_limit(where: tuple[str, ...]) -> bool:
    """Whether the setting at `where`, which could not be read, bounds a run.

    Rules that allow something are no limit: without them more is asked.
    """
    return where[0] in LIMITS and where[:2] != ("permissions", "allow")


def like_a_limit(name: str) -> bool:
    """Whether `name`, in small letters, is none of the limits but was meant to be one."""
    if name in LIMITS or not any(part in name for part in ("max", "sand", "net", "tool", "perm", "lim")):
        return False  # most names, without the cost of comparing
    import difflib  # 3 ms that only a mistake pays

    return bool(difflib.get_close_matches(name, LIMITS, 1, 0.85))


def unknown(
    where: tuple[str, ...],
    value: Any,
    known: Mapping[tuple[str, ...], tuple[str, ...]],
    *,
    compare: bool = True,
) -> Wrong:
    """What to say of a setting that there is not, and whether a limit was meant by it.

    Args:
        value: what it is set to; a table that nobody knows may hold a limit.
        known: the names there are: of the whole file under `()`, of a table under its name.
        compare: whether names that are merely alike count; comparing costs a millisecond.
    """
    name, shown = where[-1], ".".join(where)
    if where[0] == "mcp_servers":
        what = f"{'.'.join(where[:2])} has no setting {name!r}; the server is ignored"
        return Wrong(where, what, limit=False)
    there = known.get(where[:1] if len(where) > 1 else (), ())
    if not compare:
        form = name.casefold().replace("-", "_")
        there = (form,) if form in there else ()
    hint = nearest(name, there) if there and len(where) < 4 else ""
    meant = hint.partition("'")[2].partition("'")[0]
    if len(where) == 1:
        lost = meant in LIMITS or (not meant and _sounds(name)) or any(True for _ in _limits_in(value))
    elif where[0] == "permissions":
        lost = meant != "allow"
        hint = hint or " (the table holds 'allow' and 'deny')"
    else:
        lost = where[0] in ("providers", "screen") and len(where) < 4 and _limit_like(name)
        if lost and not hint:
            hint = f" ({_limit_named(name)!r} stands at the top of the file, before the first table)"
    if lost and not hint:
        inner = next(_limits_in(value), "" if name in LIMITS else name)
        if inner in LIMITS:
            hint = f" ({inner!r} stands at the top of the file, in no table)"
        elif inner.startswith(("den", "disallow", "forbid")):
            hint = " (what is forbidden stands in [permissions], as 'deny')"
    return Wrong(where, f"there is no setting {shown!r}{hint}; it is ignored", lost)


def lost_hooks(events: Mapping[str, Any]) -> Iterator[Wrong]:
    """Of `[hooks]`: each event whose hooks would never run, why, and whether a guard is lost with them.

    An event that others have and Wisp does not is none of them: it is told where hooks are made ready.
    """
    guards = {guard.casefold(): guard for guard in GUARDS}
    if events.keys() - set(EVENTS):
        import difflib  # as above
    for event, groups in events.items():
        form = event.casefold().replace("_", "").replace("-", "")
        near = difflib.get_close_matches(form, guards, 1, 0.8) if event not in EVENTS else []
        where = ("hooks", event)
        if near:
            what = f"there is no event {event!r} (did you mean {guards[near[0]]!r}?); it is ignored"
            yield Wrong(where, what, limit=True)
        elif any(not group.get("hooks") for group in groups):
            yield Wrong(where, f"hooks.{event} has a group without hooks; it is ignored", event in GUARDS)


def _sounds(name: str) -> bool:
    """Whether a name, in whatever form, begins as one that bounds something."""
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower().replace("-", "_").startswith(_SOUNDS)


def _limit_like(name: str) -> bool:
    return bool(_limit_named(name))


def _limit_named(name: str) -> str:
    """The limit of one value that `name` is, in whatever form it is written."""
    wanted = name.casefold().replace("-", "_")
    return wanted if wanted in LIMITS - {"permissions", "hooks", "tools"} else ""


def _limits_in(value: Any, depth: int = 0) -> Iterator[str]:
    """Names of limits in a table that nobody knows, and in the tables in it."""
    if not isinstance(value, Mapping) or depth > _DEEPEST:
        return
    for key, inner in value.items():
        if key in LIMITS or _sounds(key):
            yield key
        yield from _limits_in(inner, depth + 1)
