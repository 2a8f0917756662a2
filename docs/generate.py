"""Writes the reference pages from the running code, in place; `--check` fails when one is stale.

python docs/generate.py [--check]
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import typing
from pathlib import Path
from typing import Any

import msgspec
from manpage import manual

import wisp.host.events as wire_events
from wisp.frontends.cli.args import COMMANDS, help_text, parse
from wisp.frontends.rpc import methods as rpc
from wisp.host import changing
from wisp.host.settings import Settings
from wisp.loop.events import Event
from wisp.messages.ids import FixedClock
from wisp.tools.builtin import default_tools
from wisp.workspace.root import Workspace

HERE = Path(__file__).resolve().parent / "reference"
NOTE = "<!-- Written by docs/generate.py from the code; do not edit. -->\n\n"


def cli() -> str:
    """Every help text."""
    os.environ["COLUMNS"] = "100"
    parts = [NOTE, "# Command line\n", _fenced(help_text())]
    for command in COMMANDS:
        parts += [f"\n## wisp {command}\n", _fenced(_help_of(command))]
    return "\n".join(parts)


def _help_of(command: str) -> str:
    import contextlib
    import io

    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        parse([command, "--help"])
    return out.getvalue()


def _fenced(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"


def settings_schema() -> str:
    """JSON Schema of the settings file."""
    return json.dumps(changing.settings_schema(), indent=1, sort_keys=True) + "\n"


def settings() -> str:
    """Every setting with its type and default."""
    rows = ["| setting | type | default |", "|---|---|---|"]
    for field in msgspec.structs.fields(Settings):
        default = field.default if field.default is not msgspec.NODEFAULT else "(empty)"
        shown = "" if default in ("", None) else f"`{_plain(default)}`"
        rows.append(f"| `{field.name}` | {_type(field.type)} | {shown} |")
    intro = (
        "# Settings\n\n"
        "TOML in `$XDG_CONFIG_HOME/wisp/settings.toml`. Later wins: built-in, this file, `WISP_*` in the\n"
        "environment, options. `WISP_HOME` moves everything wisp writes under one folder. Tables `providers`\n"
        "and `permissions` are described in the README; `settings.schema.json` beside this page is the whole\n"
        "shape. `wisp config show` says where each value comes from, `wisp config set KEY VALUE` changes one and\n"
        "leaves the rest of the file as it is, comments included.\n"
    )
    return NOTE + intro + "\n" + "\n".join(rows) + "\n"


def _plain(value: Any) -> str:
    return json.dumps(msgspec.to_builtins(value))


def _type(kind: Any) -> str:
    if typing.get_origin(kind) is typing.Literal:
        return " or ".join(f"`{value}`" for value in typing.get_args(kind))
    text = str(kind) if typing.get_origin(kind) or not inspect.isclass(kind) else kind.__name__
    return text.replace("wisp.host.settings.", "").replace("typing.", "").replace("|", "or")


def events() -> str:
    """Every event type on the wire with its fields."""
    parts = [
        NOTE,
        "# Events\n",
        "Each line of `--output-format stream-json`, and each event of the library, is one of these. On the wire "
        "every event has `type`, `session_id`, `seq` (from 1, without gaps) and `at` (RFC 3339). Fields that are "
        "not listed may appear in later versions and should be ignored; so should unknown types.\n",
        _fenced(inspect.getdoc(inspect.getmodule(Event)) or ""),
    ]
    kinds = sorted(wire_events.EVENTS, key=lambda kind: kind.__name__)
    for kind in kinds:
        parts.append(f"\n## `{kind.__struct_config__.tag}`\n\n{inspect.getdoc(kind)} (`{kind.__name__}`)\n")
        for field in msgspec.structs.fields(kind):
            parts.append(f"- `{field.name}`: {_type(field.type)}")
    return "\n".join(parts).rstrip() + "\n"


def tools() -> str:
    """What the model is told of the default tools."""
    workspace = Workspace(os.getcwd())
    found = default_tools(workspace, environment={"PATH": ""}, clock=FixedClock(), spool_folder=None)
    parts = [NOTE, "# Tools the model sees\n"]
    for tool in found:
        spec = tool.spec
        parts += [f"## {spec.name}\n", spec.description + "\n"]
        parts.append("```json\n" + json.dumps(spec.parameters, indent=1) + "\n```\n")
    workspace.close()
    return "\n".join(parts).rstrip() + "\n"


def rpc_schema() -> str:
    """JSON Schema of every message of `wisp rpc`."""
    return json.dumps(rpc.schema(), indent=1, sort_keys=True) + "\n"


def rpc_methods() -> str:
    """Every method of `wisp rpc` with what it takes and answers."""
    parts = [
        NOTE,
        "# Methods of `wisp rpc`\n",
        "How a connection goes is told in the [guide](../guide/rpc.md); `rpc.schema.json` beside this page is the "
        "whole shape. Fields with a default may be left out.\n",
    ]
    for name in rpc.names():
        kind, result = rpc.params_of(name), rpc.result_of(name)
        parts.append(f"\n## `{name}`\n\n{inspect.getdoc(kind)}\n")
        parts += [_field(field) for field in msgspec.structs.fields(kind)]
        parts.append(f"- answers {_type(result)}")
    return "\n".join(parts).rstrip() + "\n"


def library() -> str:
    """Every public name of the library with its signature and what it is."""
    import wisp.testing

    parts = [
        NOTE + "# Public names of the library",
        "",
        "How they are used together is in [the guide](../guide/sdk.md). Events are in [events.md](events.md).",
    ]
    for module in (wisp, wisp.testing):
        parts += ["", f"## {module.__name__}", ""]
        for name in module.__all__:
            parts += _public(name, getattr(module, name))
    return "\n".join(parts) + "\n"


def _public(name: str, thing: Any) -> list[str]:
    if isinstance(thing, type) and issubclass(thing, Event) and thing is not Event:
        return [f"- `{name}`: the event `{thing.__struct_config__.tag}`"]
    if isinstance(thing, str):
        return [f"- `{name}`: the version, for instance `0.1.0`"]
    said = inspect.getdoc(thing) if inspect.isclass(thing) or inspect.isfunction(thing) else None
    lines = [f"- `{name}`: {_first(said) if said else 'any of the types it names'}"]
    if not inspect.isclass(thing):
        return lines
    for method, function in vars(thing).items():
        plain = function.fget if isinstance(function, property) else function
        if not method.startswith("_") and inspect.isfunction(plain) and plain.__doc__:
            call = "" if isinstance(function, property) else "()"
            lines.append(f"  - `{method}{call}`: {_first(plain.__doc__)}")
    return lines


def _first(said: str) -> str:
    """Its first paragraph in one line."""
    return " ".join(inspect.cleandoc(said).split("\n\n")[0].split())


def _field(field: Any) -> str:
    if field.default is msgspec.NODEFAULT:
        return f"- `{field.name}`: {_type(field.type)}"
    return f"- `{field.name}`: {_type(field.type)}, by default `{_plain(field.default)}`"


PAGES = {
    "library.md": library,
    "wisp.1": manual,
    "rpc.md": rpc_methods,
    "rpc.schema.json": rpc_schema,
    "cli.md": cli,
    "settings.md": settings,
    "settings.schema.json": settings_schema,
    "events.md": events,
    "tools.md": tools,
}


def main() -> int:
    """Write the pages, or with `--check` say which are stale."""
    stale = []
    for name, make in PAGES.items():
        path, text = HERE / name, make()
        if path.exists() and path.read_text("utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv:
            HERE.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
    if "--check" in sys.argv and stale:
        print(f"stale: {', '.join(stale)}; run make docs", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
