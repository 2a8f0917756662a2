"""A server's prompts: texts that a person starts by name, filled in by the server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from wisp.mcp.content import resource_text
from wisp.mcp.definition import shown, words
from wisp.mcp.names import usual

MOST_PROMPTS = 128
MOST_TEXT = 200_000
"""Characters of a filled prompt."""


class Prompt(msgspec.Struct, frozen=True):
    """One prompt as its server describes it."""

    name: str
    description: str = ""
    arguments: tuple[str, ...] = ()
    required: tuple[str, ...] = ()

    @property
    def hint(self) -> str:
        """What may follow its name."""
        return " ".join(name if name in self.required else f"[{name}]" for name in self.arguments)


class BadArguments(ValueError):
    """What was typed does not fit; the message says how it would."""


def prompts(items: Iterable[Any], notes: list[str]) -> list[Prompt]:
    """The usable prompts among `items`, by name; `notes` gets a line for each that is not."""
    found: dict[str, Prompt] = {}
    for item in items:
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str) or not usual(name) or name in found or len(found) == MOST_PROMPTS:
            notes.append(f"the prompt {shown(name)} is left out")
            continue
        stated = item.get("arguments")
        arguments = [one for one in stated if isinstance(one, dict)] if isinstance(stated, list) else []
        named = [one for one in arguments if isinstance(one.get("name"), str) and usual(one["name"])]
        found[name] = Prompt(
            name,
            words(item.get("description") or item.get("title"), 300),
            tuple(one["name"] for one in named),
            tuple(one["name"] for one in named if one.get("required") is True),
        )
    return [found[name] for name in sorted(found)]


def filled(prompt: Prompt, typed: str) -> dict[str, str]:
    """The arguments in what was typed: `NAME=VALUE`, or values in order; the last takes the rest.

    Raises:
        BadArguments: one is missing, or there are more than the prompt takes.
    """
    import shlex

    try:
        parts = shlex.split(typed)
    except ValueError:
        parts = typed.split()
    found: dict[str, str] = {}
    bare = []
    for part in parts:
        name, sign, value = part.partition("=")
        if sign and name in prompt.arguments:
            found[name] = value
        else:
            bare.append(part)
    open_ = [name for name in prompt.arguments if name not in found]
    if bare and not open_:
        raise BadArguments(f"{prompt.name} takes {prompt.hint or 'no arguments'}")
    for place, part in enumerate(bare):
        name = open_[min(place, len(open_) - 1)]
        found[name] = f"{found[name]} {part}" if name in found else part
    missing = [name for name in prompt.required if name not in found]
    if missing:
        raise BadArguments(f"{prompt.name} needs {', '.join(missing)}: {prompt.hint}")
    return found


def text_of(result: Mapping[str, Any]) -> str:
    """The words of a filled prompt; what is not text is named."""
    parts = []
    messages = result.get("messages")
    for message in messages if isinstance(messages, list) else ():
        content = message.get("content") if isinstance(message, dict) else None
        for item in content if isinstance(content, list) else [content]:
            if isinstance(item, dict):
                parts.append(_part(item))
    return words("\n\n".join(part for part in parts if part), MOST_TEXT)


def _part(item: Mapping[str, Any]) -> str:
    if item.get("type") == "text":
        return str(item.get("text") or "")
    if item.get("type") == "resource" and isinstance(item.get("resource"), dict):
        return resource_text(item["resource"])
    return f"[{words(item.get('type'), 40) or 'a part'}, not shown]"
