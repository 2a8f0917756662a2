"""`wisp mcp`: the servers whose tools the model can be given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from wisp.frontends.cli.exitcodes import FAILED, OK
from wisp.frontends.cli.invocation import Invocation, Parser, UsageError
from wisp.frontends.cli.print import write_json
from wisp.frontends.cli.small import attempt
from wisp.frontends.cli.streams import complain, say
from wisp.host.showing import flat, named, one_line, safe

VERBS = {
    "list": "[--json]",
    "add": "NAME [--env KEY=VALUE] [--no-sandbox] [--timeout SECONDS] -- COMMAND [ARGUMENT ...]\n"
    "       wisp mcp add NAME URL [--header 'NAME: VALUE'] [--timeout SECONDS]",
    "remove": "NAME",
    "test": "NAME [--json]",
    "login": "NAME",
    "logout": "NAME",
    "serve": "[OPTIONS OF A RUN]",
}
_ONLY = {
    "env": ("add",),
    "header": ("add",),
    "no_sandbox": ("add",),
    "timeout": ("add",),
    "json": ("list", "test"),
}


class ServerLike(Protocol):
    """What `host.snapshot.McpServer` tells."""

    @property
    def status(self) -> str: ...
    @property
    def error(self) -> str: ...


class Library(Protocol):
    """What `host.small.HostLibrary` offers for these commands."""

    def mcp_servers(self) -> tuple[list[dict[str, Any]], list[str]]: ...
    def add_mcp_server(self, name: str, table: Mapping[str, Any]) -> str: ...
    def remove_mcp_server(self, name: str) -> str: ...
    def forget_mcp_login(self, name: str) -> str: ...
    def try_mcp_server(
        self, name: str, show: Callable[[str], None] | None = None
    ) -> tuple[ServerLike, list[tuple[str, str]], tuple[str, ...]]: ...


def parse_mcp(argv: list[str]) -> Invocation:
    """Read the words after `wisp mcp`.

    Raises:
        UsageError: they make no sense.
    """
    at = argv.index("--") if "--" in argv else len(argv)
    ours, command = argv[:at], argv[at + 1 :]
    parser = Parser(
        prog="wisp mcp",
        usage="\n       ".join(f"wisp mcp {verb} {rest}" for verb, rest in VERBS.items()),
        description="Programs and services that offer tools by the Model Context Protocol. What is added "
        "here stands in your settings file; a project's own list is .mcp.json.",
        allow_abbrev=False,
    )
    parser.add_argument("verb", choices=tuple(VERBS), metavar="VERB", help=", ".join(VERBS))
    parser.add_argument("words", nargs="*", metavar="NAME")
    parser.add_argument("--env", action="append", metavar="KEY=VALUE", help="a variable; repeatable")
    parser.add_argument("--header", action="append", metavar="'NAME: VALUE'", help="of requests; repeatable")
    parser.add_argument("--no-sandbox", action="store_true", help="start it outside of the sandbox")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="until it must be ready; default 30")
    parser.add_argument("--json", action="store_true", help="one object a line")
    found = parser.parse_args(ours)
    for name, verbs in _ONLY.items():
        if getattr(found, name) and found.verb not in verbs:
            raise UsageError(f"--{name.replace('_', '-')} belongs to {' and '.join(verbs)}")
    if found.verb == "serve":
        raise UsageError("'serve' comes first, then its options; see 'wisp mcp serve --help'")
    wanted = 0 if found.verb == "list" else 2 if found.verb == "add" and not command else 1
    if len(found.words) != wanted or (command and found.verb != "add"):
        raise UsageError(f"use: wisp mcp {found.verb} {VERBS[found.verb]}")
    given: dict[str, Any] = {"verb": found.verb, "name": found.words[0] if found.words else ""}
    if found.verb == "add":
        given["table"] = _table(found, command)
    return Invocation("mcp", json=found.json, given=given)


def _table(found: Any, command: list[str]) -> dict[str, Any]:
    if not command and not found.words[1].startswith(("http://", "https://")):
        raise UsageError(f"{found.words[1]!r} is no address; a command comes after '--'")
    if found.timeout is not None and not 0 < found.timeout <= 3600:
        raise UsageError("--timeout must be more than 0 and at most 3600 seconds")
    if (found.header and command) or (found.env and not command):
        raise UsageError("--env belongs to a command, --header to a URL")
    return {
        "command": command,
        "url": "" if command else found.words[1],
        "env": _pairs(found.env, "=", "--env KEY=VALUE"),
        "headers": _pairs(found.header, ":", "--header 'NAME: VALUE'"),
        "sandbox": "off" if found.no_sandbox else "",
        "timeout": found.timeout,
    }


def _pairs(texts: list[str] | None, sign: str, usage: str) -> dict[str, str]:
    pairs = {}
    for text in texts or ():
        name, found, value = text.partition(sign)
        if not found or not name.strip():
            raise UsageError(f"{text!r} is not of the form {usage}")
        pairs[name.strip()] = value.strip() if sign == ":" else value
    return pairs


def run_mcp(invocation: Invocation, library: Library) -> int:
    """Do the command; returns the exit code."""
    return attempt(lambda: _do(invocation, library))


def _do(invocation: Invocation, library: Library) -> int:
    verb, name = invocation.given["verb"], invocation.given["name"]
    if verb == "add":
        where = library.add_mcp_server(name, invocation.given["table"])
        say(safe(f"{named(name)} is in {where}; 'wisp mcp test {name}' tries it"))
        return OK
    if verb == "remove":
        say(safe(f"{named(name)} is no longer in {library.remove_mcp_server(name)}"))
        return OK
    if verb == "logout":
        say(safe(library.forget_mcp_login(name)))
        return OK
    return _list(invocation, library) if verb == "list" else _test(invocation, library, name)


def _list(invocation: Invocation, library: Library) -> int:
    rows, notes = library.mcp_servers()
    for note in notes:
        complain(flat(f"wisp: {note}"))
    for row in rows:
        if invocation.json:
            write_json(row)
        else:
            say(one_line(f"{row['name']:16} {row['state']}  {row['target']}  ({row['origin']})"))
    if not rows and not invocation.json:
        say(safe("no MCP servers are configured; 'wisp mcp add NAME -- COMMAND' adds one"))
    return OK


def _show(address: str) -> None:
    say(
        safe(f"Open this address in a browser on this machine, and agree there:\n\n  {named(address)}\n"),
        flush=True,
    )


def _test(invocation: Invocation, library: Library, name: str) -> int:
    show = _show if invocation.given["verb"] == "login" else None
    server, tools, notes = library.try_mcp_server(name, show)
    works = server.status != "failed"
    if invocation.json:
        shown = [{"name": tool, "description": said} for tool, said in tools]
        write_json({"name": name, "works": works, "error": server.error, "tools": shown, "notes": notes})
        return OK if works else FAILED
    for note in notes:
        complain(flat(f"wisp: {note}"))
    for tool, said in tools:
        say(one_line(f"{tool:40} {said}"))
    if works:
        say(safe(f"{named(name)} works: {len(tools)} tools"))
    return OK if works else FAILED
