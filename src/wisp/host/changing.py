"""Changing one setting in the user's settings file; comments, order and everything else stay as they are."""

from __future__ import annotations

import os
import tomllib
from typing import Any

from wisp.host.client import OpenFailed
from wisp.host.settings import Settings, merge, parse
from wisp.session.whole import replace_private


def set_setting(path: str, key: str, value: str | None) -> str:
    """Set `key`, dotted for one in a table, or with None take it out; what it is then, as TOML.

    A value that is no TOML is a text, so that `openai/gpt-5` needs no quotes.

    Raises:
        OpenFailed: there is no such setting, the value is none for it, or the file is broken already.
        OSError: the file cannot be read or written; it is as it was.
    """
    import tomlkit
    from tomlkit.exceptions import ParseError

    target = os.path.realpath(path)
    try:
        with open(target, "rb") as file:
            data, mode = file.read(), os.fstat(file.fileno()).st_mode & 0o7777
    except FileNotFoundError:
        data, mode = b"", 0o600
    _, broken = parse(path, data)
    if broken:
        raise OpenFailed(f"{broken[0]}; mend that first", 3)
    names = _names(key)
    last = OpenFailed("", 2)
    for meaning in _meanings(value):
        try:
            document = tomlkit.parse(data.decode("utf-8-sig"))
            _put(document, names, meaning)
            new = tomlkit.dumps(document).encode()
        except (ParseError, TypeError, ValueError) as exc:
            raise OpenFailed(f"{key} cannot be set: {exc}", 2) from None
        layer, problems = parse(path, new)
        wrong = [p for p in merge([layer], problems).problems if p.key.split(".")[: len(names)] == names]
        if not wrong:
            replace_private(target, new, mode=mode)
            return "not set" if value is None else tomlkit.item(meaning).as_string()
        last = OpenFailed(
            wrong[0].message.replace("; the setting is ignored", "").replace("; it is ignored", ""), 2
        )
    raise last


def settings_schema() -> dict[str, Any]:
    """JSON Schema 2020-12 of the settings file."""
    import msgspec

    schema = msgspec.json.schema(Settings)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "wisp settings.toml"
    return schema


def _names(key: str) -> list[str]:
    try:
        table: Any = tomllib.loads(f"{key} = 0")
    except (tomllib.TOMLDecodeError, RecursionError):
        raise OpenFailed(f"{key!r} is no name of a setting; see 'wisp config show'", 2) from None
    names = []
    while isinstance(table, dict):
        [(name, table)] = table.items()
        names.append(name)
    return names


def _meanings(value: str | None) -> list[Any]:
    """What a value may mean: as TOML, and as text."""
    if value is None:
        return [None]
    try:
        found = tomllib.loads(f"value = {value}")
    except (tomllib.TOMLDecodeError, RecursionError):
        return [value]
    return [found["value"], value] if len(found) == 1 else [value]


def _put(document: Any, names: list[str], meaning: Any) -> None:
    import tomlkit

    table = document
    for name in names[:-1]:
        if name not in table:
            if meaning is None:
                raise ValueError("it is not set")
            table[name] = tomlkit.table(is_super_table=True) if table is document else tomlkit.table()
        table = table[name]
    if meaning is not None:
        table[names[-1]] = meaning
    elif names[-1] in table:
        del table[names[-1]]
    else:
        raise ValueError("it is not set")
