"""`wisp login`, `wisp logout`, `wisp auth status`: a person and their keys.

A key comes from a hidden prompt or from standard input, never from the command line (which other
programs can read), and is never shown.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol

from wisp.frontends.cli.exitcodes import FAILED, OK, USAGE
from wisp.frontends.cli.invocation import Invocation, Parser, UsageError
from wisp.frontends.cli.print import write_json
from wisp.frontends.cli.streams import complain, hidden, say
from wisp.frontends.cli.terminal import is_terminal
from wisp.host.client import OpenFailed
from wisp.host.showing import named, safe


class Logins(Protocol):
    """What `host.small.HostLibrary` offers for these commands."""

    def providers(self) -> list[str]: ...
    def offers_login(self, provider: str) -> bool: ...
    def store_key(self, provider: str, key: str, *, in_keyring: bool) -> str: ...
    def login(self, provider: str, show: Callable[[str], None], *, device: bool) -> str: ...
    def logout(self, provider: str) -> str: ...
    def auth_status(self) -> list[dict[str, Any]]: ...


def parse_login(argv: list[str]) -> Invocation:
    """Read what follows `wisp login`.

    Raises:
        UsageError: it makes no sense; the message never repeats what may be a key.
    """
    parser = Parser(
        prog="wisp login",
        usage="wisp login [PROVIDER] [--key] [--device] [--keyring]",
        description="Keeps a provider's key. It is asked for, unseen, or read from standard input; it is "
        "never an argument.",
        allow_abbrev=False,
    )
    parser.add_argument("words", nargs="*", metavar="PROVIDER")
    parser.add_argument("--key", action="store_true", help="a key, where the provider also offers a login")
    parser.add_argument("--device", action="store_true", help="agree on another device, with a code")
    parser.add_argument("--keyring", action="store_true", help="into the system's keyring (extra 'keyring')")
    try:
        found = parser.parse_args(argv)
    except UsageError:
        found = None
    if found is None or len(found.words) > 1:  # without the parser's words: they repeat what may be a key
        raise UsageError("login takes one provider and no key; the key is asked for; see 'wisp login --help'")
    return Invocation(
        "login", words=found.words, with_key=found.key, device=found.device, keyring=found.keyring
    )


def run_login(invocation: Invocation, library: Logins) -> int:
    """Do the command; returns the exit code."""
    try:
        return _COMMANDS[invocation.command](invocation, library)
    except OpenFailed as exc:
        return _say(str(exc), exc.exit_code)
    except OSError as exc:
        return _say(str(exc), FAILED)


def _say(text: str, code: int) -> int:
    complain(safe(f"wisp: {text}"))
    return code


def _show(text: str) -> None:
    complain(safe(text), flush=True)


def _login(invocation: Invocation, library: Logins) -> int:
    provider = invocation.words[0] if invocation.words else _ask_provider(library)
    if not provider:
        return _say(f"say where to: wisp login {'|'.join(library.providers())}", USAGE)
    if invocation.device or (library.offers_login(provider) and not invocation.with_key):
        say(safe(library.login(provider, _show, device=invocation.device)))
        return OK
    key = _read_key(provider)
    say(safe(library.store_key(provider, key, in_keyring=invocation.keyring)))
    return OK


def _ask_provider(library: Logins) -> str:
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        return ""
    complain(safe(f"providers: {', '.join(library.providers())}"))
    complain(safe("log in to: "), end="", flush=True)
    return sys.stdin.readline().strip()


def _read_key(provider: str) -> str:
    """From a hidden prompt at a terminal, else all of standard input."""
    if is_terminal(sys.stdin):
        try:
            return hidden(safe(f"key of {named(provider)} (not shown): "))
        except EOFError:
            return ""
    from wisp.frontends.cli.streams import NoInput, piped_text

    try:
        return piped_text(needed=True)
    except NoInput:
        raise OpenFailed("standard input is closed; pipe the key into it", USAGE) from None


def _logout(invocation: Invocation, library: Logins) -> int:
    say(safe(library.logout(invocation.words[0] if invocation.words else "")))
    return OK


def _auth(invocation: Invocation, library: Logins) -> int:
    if invocation.words not in ([], ["status"]):
        return _say("use 'wisp auth status'", USAGE)
    rows = library.auth_status()
    if invocation.json:
        write_json({"providers": rows})
        return OK
    for row in rows:
        text = f"{row['provider']}: {row['source'] or 'nothing'}"
        if row["kind"] == "token":
            text += f", a token{' until ' + row['expires'] if row['expires'] else ''}"
        if row["hidden"]:
            text += f" (stored but not used: {row['hidden']})"
        say(safe(text))
    if not rows:
        say(safe("no credentials; set a key in the environment, or run 'wisp login'"))
    return OK


_COMMANDS = {"login": _login, "logout": _logout, "auth": _auth}
