"""What the user chose, where each choice came from, and what was wrong with it.

    built-in < user file < project file (trusted folders only) < environment WISP_* < options

A layer is a plain mapping; merging is per key.  A bad value costs that key alone, is named with its
file and line, and is never a reason to widen what is allowed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from wisp.policy.modes import Mode

OutputFormat = Literal["text", "json", "stream-json"]
SandboxMode = Literal["auto", "required", "off"]


class ModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[providers.NAME.models.ID]` table."""

    context_window: int | None = None
    max_output: int | None = None
    input_price: float | None = None
    output_price: float | None = None
    cache_read_price: float | None = None
    cache_write_price: float | None = None
    images: bool | None = None
    reasoning: bool | None = None
    efforts: tuple[str, ...] = ()
    compat: dict[str, Any] = {}


class ProviderSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[providers.NAME]` table."""

    api: Literal["openai-responses", "openai-chat", "anthropic-messages", "gemini"] | None = None
    base_url: str = ""
    api_key_env: str = ""
    api_key_command: tuple[str, ...] = ()
    headers: dict[str, str] = {}
    store: bool = False
    """Whether the service may store what is said, so that it need not be sent again (Responses only)."""
    compat: dict[str, Any] = {}
    models: dict[str, ModelSettings] = {}


class Permissions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[permissions]` table."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class Settings(msgspec.Struct, frozen=True):
    """Every setting, merged.  Names are those of the options, with `_`."""

    model: str = ""
    provider: str = ""
    fallback_models: tuple[str, ...] = ()
    """`PROVIDER/MODEL` of those that answer when the first cannot, in order."""
    effort: str = ""
    base_url: str = ""
    output_format: OutputFormat = "text"
    permission_mode: Mode = "ask"
    sandbox: SandboxMode = "auto"
    tools: tuple[str, ...] | None = None
    max_turns: int | None = None
    max_cost: float | None = None
    max_tokens: int | None = None
    max_time: float | None = None
    max_retries: int = 3
    session_dir: str = ""
    add_dir: tuple[str, ...] = ()
    system_prompt: str = ""
    append_system_prompt: str = ""
    encoding: str = ""
    """How to read files that are not UTF-8; empty refuses them."""
    shell: str = "/bin/bash"
    permissions: Permissions = Permissions()
    providers: dict[str, ProviderSettings] = {}


class Problem(msgspec.Struct, frozen=True):
    """One thing wrong with a settings source."""

    source: str
    """A path, `WISP_...` or an option."""
    line: int
    """From 1; 0 where there is none."""
    message: str

    def __str__(self) -> str:
        where = f"{self.source}, line {self.line}" if self.line else self.source
        return f"{where}: {self.message}"


class Layer(msgspec.Struct, frozen=True):
    """One source of settings, parsed."""

    source: str
    values: dict[str, Any]
    text: str = ""
    """For finding lines."""


class Resolved(msgspec.Struct, frozen=True):
    """Settings with their origins and problems."""

    settings: Settings
    origins: dict[str, str]
    """Key to source; what is not here is built in."""
    problems: tuple[Problem, ...]


def read_file(path: str) -> tuple[Layer, tuple[Problem, ...]]:
    """The layer in the TOML file at `path`; empty, without a problem, when there is no file."""
    try:
        with open(path, "rb") as file:
            data = file.read(1 << 20)
    except FileNotFoundError:
        return Layer(path, {}), ()
    except OSError as exc:
        return Layer(path, {}), (Problem(path, 0, f"cannot be read: {exc.strerror}"),)
    import tomllib

    try:
        text = data.decode("utf-8-sig")
        return Layer(path, tomllib.loads(text), text), ()
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        return Layer(path, {}), (Problem(path, line, "it is not UTF-8"),)
    except tomllib.TOMLDecodeError as exc:
        found = re.search(r"\(at line (\d+), column (\d+)\)", str(exc))
        line = int(found[1]) if found else data.count(b"\n") + 1
        column = f" (column {found[2]})" if found else ""
        reason = re.sub(r" \(at .*", "", str(exc))
        return Layer(path, {}), (Problem(path, line, f"not valid TOML: {reason}{column}"),)


def environment_layers(env: Mapping[str, str]) -> list[Layer]:
    """The `WISP_*` variables that name a setting of one value, one layer each."""
    layers = []
    for name in Settings.__struct_fields__:
        value = env.get(f"WISP_{name.upper()}")
        if value is None or name in ("permissions", "providers"):
            continue
        parsed: Any = (
            tuple(filter(None, value.split(",")))
            if name in ("tools", "add_dir", "fallback_models")
            else value
        )
        layers.append(Layer(f"WISP_{name.upper()}", {name: parsed}))
    return layers


def merge(layers: list[Layer], problems: tuple[Problem, ...] = ()) -> Resolved:
    """Merge `layers`, later over earlier; `permissions` add up, `providers` merge by name."""
    found: dict[str, Any] = {}
    origins: dict[str, str] = {}
    wrong = list(problems)
    for layer in layers:
        for key, value in layer.values.items():
            try:
                converted = _convert(key, value)
            except (msgspec.ValidationError, KeyError) as exc:
                wrong.append(Problem(layer.source, _line_of(layer.text, key), _explain(key, exc)))
                continue
            found[key] = _combine(key, found.get(key), converted)
            origins[key] = layer.source
    return Resolved(Settings(**found), origins, tuple(wrong))


_TYPES = {field.name: field.type for field in msgspec.structs.fields(Settings)}
_ELSEWHERE = ("mcp_servers", "hooks")
"""Tables that other programs' users know; read by parts of wisp that are not built yet."""


def _convert(key: str, value: Any) -> Any:
    if key not in _TYPES:
        raise KeyError(key)
    lax = isinstance(value, str) and key != "model"
    return msgspec.convert(value, _TYPES[key], strict=not lax)


def _combine(key: str, old: Any, new: Any) -> Any:
    if old is None:
        return new
    if key == "permissions":
        return Permissions((*old.allow, *new.allow), (*old.deny, *new.deny))
    if key == "providers":
        return {**old, **new}
    return new


def _explain(key: str, exc: Exception) -> str:
    if isinstance(exc, KeyError):
        if key in _ELSEWHERE:
            return f"{key} is not supported yet and is ignored"
        return f"there is no setting {key!r}; it is ignored"
    return f"{key}: {exc}; the setting is ignored"


def _line_of(text: str, key: str) -> int:
    found = re.search(rf"(?m)^[ \t]*\[*{re.escape(key)}\b", text)
    return text.count("\n", 0, found.start()) + 1 if found else 0


def absolute(path: str, base: str) -> str:
    """`path` made absolute from `base`, with `~` for the user's home."""
    return os.path.normpath(os.path.join(base, os.path.expanduser(path)))
