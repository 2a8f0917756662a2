"""Keys as a person wants them: which key means which other one, and what is wrong with the wish.  Pure.

Every action has a key of its own, which the rest of the screen knows it by; a person adds keys.  A key that
was another action's goes to the one that claims it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

ACTIONS = {
    "send": "enter",
    "queue": "alt+enter",
    "newline": "ctrl+j",
    "stop": "escape",
    "mode": "shift+tab",
    "cards": "ctrl+o",
    "history": "ctrl+r",
    "find": "ctrl+f",
    "help": "f1",
    "editor": "ctrl+g",
    "picture": "ctrl+v",
    "take_back": "alt+up",
    "undo": "alt+z",
    "redo": "alt+y",
    "redraw": "ctrl+l",
    "suspend": "ctrl+z",
    "leave": "ctrl+d",
    "page_up": "pageup",
    "page_down": "pagedown",
    "beginning": "ctrl+home",
    "end": "ctrl+end",
}
"""The key of each action."""
FIXED = ("ctrl+c", "tab", "up", "down", "left", "right", "backspace", "space")
"""Keys that stay what they are."""
_KEY = re.compile(r"(?:(?:ctrl|alt|shift|super)\+)*(?:[a-z0-9]|f[1-9][0-9]?|[a-z_]{2,})")


def keymap(wanted: Mapping[str, str | Sequence[str]]) -> tuple[dict[str, str], list[str]]:
    """`(what each pressed key means, what is wrong)`.

    Args:
        wanted: keys by action, as the settings have them.
    """
    means: dict[str, str] = {}
    claimed: dict[str, str] = {}
    problems: list[str] = []
    own = {key: action for action, key in ACTIONS.items()}
    for action, keys in wanted.items():
        if action not in ACTIONS:
            problems.append(f"there is no action {action!r}; the actions are {', '.join(ACTIONS)}")
            continue
        for raw in (keys,) if isinstance(keys, str) else keys:
            key = raw.strip().lower().replace("-", "+")
            if key in FIXED or not _KEY.fullmatch(key) or len(key) == 1:
                problems.append(f"{action}: {raw!r} cannot be used; use a key with Ctrl or Alt, or F1 to F24")
            elif claimed.get(key, action) != action:
                problems.append(f"{raw!r} is wanted for {claimed[key]} and {action}; {claimed[key]} keeps it")
            else:
                claimed[key] = action
                means[key] = ACTIONS[action]
    for key, action in claimed.items():
        loser = own.get(key, action)
        if loser != action and loser not in claimed.values():
            problems.append(f"{key!r} means {action} now, and {loser} has no key left")
    return {key: meant for key, meant in means.items() if key != meant}, problems
