"""What the user chose, where each choice came from, and what was wrong with it.

    built-in < user file < project file (trusted folders only) < environment WISP_* < options

A layer is a plain mapping; merging is per key.  A bad value costs that key alone, is named with its
file and line, and is never a reason to widen what is allowed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from wisp.host.misspelt import Wrong, is_limit, like_a_limit, lost_hooks, unknown
from wisp.host.screensettings import ScreenSettings
from wisp.host.tables import ExtensionSettings, HookGroup, McpServerSettings
from wisp.policy.modes import Mode

OutputFormat = Literal["text", "json", "stream-json"]
SandboxMode = Literal["auto", "required", "off"]


Count = Annotated[int, msgspec.Meta(gt=0)]
Amount = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
"""Bounded, so that neither `nan` nor `inf` passes: a limit that compares with nothing is no limit."""


_MOST_SLIPS = 20
"""Settings of one table that are none and are each told; a person's file has fewer."""
MOST_BYTES = 1 << 20
"""Longest settings file; half a file would be half its deny rules."""


class ModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[providers.NAME.models.ID]` table."""

    context_window: Count | None = None
    max_output: Count | None = None
    input_price: Amount | None = None
    output_price: Amount | None = None
    cache_read_price: Amount | None = None
    cache_write_price: Amount | None = None
    images: bool | None = None
    reasoning: bool | None = None
    efforts: tuple[str, ...] = ()
    compat: dict[str, Any] = {}


class OAuthSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[providers.NAME.oauth]` table: how `wisp login NAME` gets an access token."""

    client_id: str = ""
    authorization_url: str = ""
    token_url: str = ""
    device_url: str = ""
    revocation_url: str = ""
    """Where `wisp logout NAME` says that the tokens are no longer wanted (RFC 7009)."""
    issuer: str = ""
    """Where the addresses above are published (RFC 8414), for those that are not given."""
    scopes: tuple[str, ...] = ()
    redirect_port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 0
    """The port of the callback on 127.0.0.1, where the service knows only one; 0 takes any."""


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
    oauth: OAuthSettings | None = None
    ca_bundle: str = ""
    """A file of certificate authorities to trust for this provider, instead of the system's."""
    client_cert: str = ""
    """A certificate to show, and `client_key` its key where the file does not hold both."""
    client_key: str = ""
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
    network: str = "none"
    """What commands in the sandbox may reach: `none`, `on`, or hosts separated by commas."""
    tools: tuple[str, ...] | None = None
    max_turns: Count | None = None
    max_cost: Amount | None = None
    max_tokens: Count | None = None
    max_time: Amount | None = None
    max_repeats: Count | None = 10
    """Turns in a row that make the same calls and get the same results, after which the run ends or asks."""
    session_max_turns: Count | None = None
    """As `max_turns`, of a whole session, resumed or not; so the next three."""
    session_max_cost: Amount | None = None
    session_max_tokens: Count | None = None
    session_max_time: Amount | None = None
    """Seconds of work of a session in this process."""
    day_max_turns: Count | None = None
    """As `max_turns`, of everything a user does in a day (UTC); so the next three."""
    day_max_cost: Amount | None = None
    day_max_tokens: Count | None = None
    day_max_time: Amount | None = None
    silence_limit: Amount | None = None
    """Seconds without output after which a command is ended."""
    login_path: bool | None = None
    """Commands and tool servers find what your login shell would find; unless set, where an editor started
    wisp and no shell did."""
    memory_limit: Count | None = None
    """Most memory (address space), in MiB, of each process of a command; none unless set."""
    max_retries: Annotated[int, msgspec.Meta(ge=0, le=100)] = 3
    session_dir: str = ""
    session_days: Count | None = None
    """Days after which a session without a name, not used meanwhile, goes to the trash; never unless set."""
    add_dir: tuple[str, ...] = ()
    system_prompt: str = ""
    append_system_prompt: str = ""
    attribution: str = "Assisted-by: Wisp"
    """The line that /commit puts at the end of a message; empty for none."""
    encoding: str = ""
    """How files that are not UTF-8 are written; empty tries Windows-1252, then Latin-1."""
    shell: str = "/bin/bash"
    environment: tuple[str, ...] = ()
    """Names of environment variables that commands get besides those on Wisp's list."""
    permissions: Permissions = Permissions()
    providers: dict[str, ProviderSettings] = {}
    hooks: dict[str, tuple[HookGroup, ...]] = {}
    """Commands that are run at events, by event."""
    extensions: dict[str, ExtensionSettings] = {}
    """Python code that adds tools, commands, providers and more, by name."""
    mcp_servers: dict[str, McpServerSettings] = {}
    """Programs and services with tools of their own, by name."""
    screen: ScreenSettings = ScreenSettings()
    """How the screen looks and behaves."""


class Problem(msgspec.Struct, frozen=True):
    """One thing wrong with a settings source."""

    source: str
    """A path, `WISP_...` or an option."""
    line: int
    """From 1; 0 where there is none."""
    message: str
    key: str = ""
    """The setting concerned; empty for the whole source."""
    limit: bool = False
    """Whether something that bounds a run is lost by it: such a run is not begun."""

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
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return Layer(path, {}), ()
    except OSError as exc:
        return Layer(path, {}), (Problem(path, 0, f"cannot be read: {exc.strerror}"),)
    if len(data) > MOST_BYTES:
        return Layer(path, {}), (Problem(path, 0, f"it is longer than {MOST_BYTES} bytes and is not read"),)
    return parse(path, data)


def parse(path: str, data: bytes) -> tuple[Layer, tuple[Problem, ...]]:
    """The layer in `data`, which came from `path`; a text that is not TOML is named with its line."""
    import tomllib

    try:
        text = data.decode("utf-8-sig")
        return Layer(path, tomllib.loads(text), text), ()
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        return Layer(path, {}), (Problem(path, line, "it is not UTF-8"),)
    except RecursionError:
        return Layer(path, {}), (Problem(path, 0, "it is nested too deeply to be read"),)
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
        if not value or name in ("permissions", "providers", "hooks", "extensions", "mcp_servers", "screen"):
            continue
        parsed: Any = (
            tuple(filter(None, value.split(",")))
            if name in ("tools", "add_dir", "fallback_models")
            else value
        )
        layers.append(Layer(f"WISP_{name.upper()}", {name: parsed}))
    slips = [
        name for name in env if name.startswith("WISP_") and env[name] and like_a_limit(name[5:].lower())
    ]
    return layers + [Layer(name, {name[5:].lower(): env[name]}) for name in slips]


def merge(layers: list[Layer], problems: tuple[Problem, ...] = ()) -> Resolved:
    """Merge `layers`, later over earlier; `permissions` add up, `providers` merge by name."""
    found: dict[str, Any] = {}
    origins: dict[str, str] = {}
    wrong = list(problems)
    for layer in layers:
        taken, bad = _lenient(Settings, layer.values, ())
        wrong += [
            Problem(layer.source, _line_of(layer.text, one.where), one.what, ".".join(one.where), one.limit)
            for one in bad
        ]
        for key, value in taken.items():
            found[key] = _combine(key, found.get(key), value)
            origins[key] = layer.source
            if key in ("mcp_servers", "extensions"):
                origins |= {f"{key}.{name}": layer.source for name in value}
    return Resolved(Settings(**found), origins, tuple(wrong))


Where = tuple[str, ...]


def _lenient(
    kind: type[msgspec.Struct], table: Mapping[str, Any], where: Where
) -> tuple[dict[str, Any], list[Wrong]]:
    """The good values of `table` by the fields of `kind`, and what is wrong with the others."""
    types = {field.name: field.type for field in msgspec.structs.fields(kind)}
    good: dict[str, Any] = {}
    bad: list[Wrong] = []
    slips = 0
    for key, value in table.items():
        here = (*where, key)
        if key not in types:
            slips += 1
            slip = unknown(here, value, _NAMES, compare=slips <= _MOST_SLIPS)
            if slips <= _MOST_SLIPS or slip.limit:
                bad.append(slip)
            continue
        try:
            good[key], inner = _value(types[key], key, value, here)
            bad += inner
        except msgspec.ValidationError as exc:
            what = f"{'.'.join(here)}: {exc}; the setting is ignored"
            bad.append(Wrong(here, what, is_limit(here)))
    if slips > _MOST_SLIPS:
        name = ".".join(where) or "the file"
        bad.append(
            Wrong((*where, key), f"in all {slips} settings in {name} are none; they are ignored", False)
        )
    return good, bad


def _value(kind: Any, key: str, value: Any, here: Where) -> tuple[Any, list[Wrong]]:
    """`value` as a `kind`; of tables and lists of rules the good parts."""
    bad: list[Wrong] = []
    if kind is Permissions and isinstance(value, dict):
        taken, bad = _lenient(Permissions, value, here)
        return Permissions(**taken), bad
    if kind is ScreenSettings and isinstance(value, dict):
        taken, bad = _lenient(ScreenSettings, value, here)
        return ScreenSettings(**taken), bad
    if here[:-1] == ("permissions",) and isinstance(value, str | list | tuple):
        rules = [value] if isinstance(value, str) else value
        for number, rule in enumerate(rules, 1):
            if not isinstance(rule, str):
                what = f"{'.'.join(here)}: entry {number} is not a text; it is ignored"
                bad.append(Wrong(here, what, is_limit(here)))
        return tuple(rule for rule in rules if isinstance(rule, str)), bad
    if here == ("hooks",) and isinstance(value, dict):
        taken = msgspec.convert(value, kind)
        return taken, list(lost_hooks(value))
    table = _TABLES.get(key) if isinstance(value, dict) else None
    if table is None or len(here) not in (1, 3):
        return msgspec.convert(value, kind, strict=not isinstance(value, str)), bad
    built = {}
    for name, inner in value.items():
        if not isinstance(inner, dict):
            what = f"{'.'.join((*here, name))} is not a table; it is ignored"
            bad.append(Wrong((*here, name), what, limit=False))
            continue
        taken, more = _lenient(table, inner, (*here, name))
        bad += more
        if not (
            more and table in (McpServerSettings, ExtensionSettings)
        ):  # half of it would be another server, or a wider one
            built[name] = table(**taken)
    return built, bad


_TABLES: dict[str, type[msgspec.Struct]] = {
    "providers": ProviderSettings,
    "models": ModelSettings,
    "mcp_servers": McpServerSettings,
    "extensions": ExtensionSettings,
}


def _combine(key: str, old: Any, new: Any) -> Any:
    if old is None:
        return new
    if key == "permissions":
        return Permissions((*old.allow, *new.allow), (*old.deny, *new.deny))
    if key in ("providers", "mcp_servers", "extensions"):
        return {**old, **new}
    if key == "hooks":
        return {event: (*old.get(event, ()), *new.get(event, ())) for event in {**old, **new}}
    return new


_NAMES: dict[Where, tuple[str, ...]] = {
    (): Settings.__struct_fields__,
    ("permissions",): Permissions.__struct_fields__,
    ("providers",): ProviderSettings.__struct_fields__,
    ("screen",): ScreenSettings.__struct_fields__,
}


def _line_of(text: str, where: Where) -> int:
    """The line of a key or table header, from 1; 0 where it cannot be found."""
    start = 0
    for depth in range(len(where) - 1, 0, -1):
        header = r"\s*\.\s*".join(rf"[\"']?{re.escape(part)}[\"']?" for part in where[:depth])
        if found := re.search(rf"(?m)^[ \t]*\[[ \t]*{header}[ \t]*\]", text):
            start = found.end()
            break
    last = re.escape(where[-1])
    found = re.compile(rf"(?m)^[ \t]*(?:\[+.*?)?[\"']?\b{last}\b").search(text, start)
    return text.count("\n", 0, found.start()) + 1 if found else 0


def absolute(path: str, base: str) -> str:
    """`path` made absolute from `base`, with `~` for the user's home."""
    return os.path.normpath(os.path.join(base, os.path.expanduser(path)))
