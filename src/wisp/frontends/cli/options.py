"""The options of a run as a table: what the parser offers, what help says, which are settings.

One row an option, so that help, completion and the settings file cannot disagree.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple


def natural(text: str) -> int:
    """A whole number from 0."""
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def positive(text: str) -> int:
    """A whole number from 1."""
    value = natural(text)
    if value < 1:
        raise argparse.ArgumentTypeError("it must be at least 1")
    return value


def amount(text: str) -> float:
    """A positive, finite number."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < 1e12:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return value


class Option(NamedTuple):
    """One option of a run."""

    name: str
    group: str
    help: str
    metavar: str = ""
    """Empty for a switch without a value."""
    setting: bool = True
    """Whether it is a setting of the same name (with `_`)."""
    repeat: bool = False
    choices: tuple[str, ...] = ()
    read: Callable[[str], Any] = str

    @property
    def key(self) -> str:
        """Its name as an attribute and in the settings file."""
        return self.name.replace("-", "_")


OPTIONS: tuple[Option, ...] = (
    Option("provider", "model", "which service", "NAME"),
    Option("model", "model", "which model, also as PROVIDER/ID", "ID"),
    Option("effort", "model", "how hard to think, where the model knows levels", "LEVEL"),
    Option("base-url", "model", "an OpenAI-compatible server, as http://127.0.0.1:8080/v1", "URL"),
    Option("max-retries", "model", "attempts after the first; default 3", "N", read=natural),
    Option(
        "permission-mode",
        "permissions",
        "default: ask",
        "MODE",
        choices=("read-only", "plan", "ask", "auto", "full"),
    ),
    Option("allow", "permissions", "as 'bash(pytest **)'; repeatable", "RULE", setting=False, repeat=True),
    Option("deny", "permissions", "wins over every allow; repeatable", "RULE", setting=False, repeat=True),
    Option("yes", "permissions", "--permission-mode auto, where a sandbox works", setting=False),
    Option("sandbox", "permissions", "default: auto", "WHEN", choices=("auto", "required", "off")),
    Option(
        "network", "permissions", "of the sandbox: none (default), on, or hosts separated by commas", "WHAT"
    ),
    Option("tools", "permissions", "offer only these, separated by commas", "LIST", setting=False),
    Option("no-tools", "permissions", "offer none", setting=False),
    Option("max-turns", "limits of the run", "requests to the model", "N", read=positive),
    Option("max-cost", "limits of the run", "US dollars at list price", "USD", read=amount),
    Option("max-tokens", "limits of the run", "tokens of all requests together", "N", read=positive),
    Option("max-time", "limits of the run", "seconds, then exit 124", "SECONDS", read=amount),
    Option("continue", "session", "go on with this folder's newest session", setting=False),
    Option("resume", "session", "go on with a session, by the beginning of its id", "ID", setting=False),
    Option("fork", "session", "go on from an entry in a new session", "ID[@ENTRY]", setting=False),
    Option("no-session", "session", "keep nothing", setting=False),
    Option("session-dir", "session", "where sessions are kept", "DIR"),
    Option("cwd", "workspace", "the folder to work in", "DIR", setting=False),
    Option("add-dir", "workspace", "one more folder; repeatable", "DIR", repeat=True),
    Option("worktree", "workspace", "work in a git worktree and on a branch of its own", setting=False),
    Option("trust", "workspace", "trust the folder's files for this run", setting=False),
    Option("no-project", "workspace", "read no project files", setting=False),
    Option(
        "output-format",
        "output and instructions",
        "default: text",
        "FORMAT",
        choices=("text", "json", "stream-json"),
    ),
    Option(
        "input-format",
        "output and instructions",
        "with -p: prompts and commands on standard input, one JSON object a line",
        "FORMAT",
        setting=False,
        choices=("text", "stream-json"),
    ),
    Option(
        "output-schema",
        "output and instructions",
        "the answer must fit this JSON Schema",
        "FILE",
        setting=False,
    ),
    Option("system-prompt", "output and instructions", "instead of the built-in one", "FILE"),
    Option("append-system-prompt", "output and instructions", "the last word", "TEXT"),
    Option("print-instructions", "output and instructions", "show them and exit", setting=False),
    Option("record", "output and instructions", "keep the provider's bytes", "FILE", setting=False),
    Option("replay", "output and instructions", "play them back, no network", "FILE", setting=False),
    Option(
        "attach",
        "output and instructions",
        "a text or picture with the prompt; repeatable",
        "FILE",
        setting=False,
        repeat=True,
    ),
    Option("inline", "output and instructions", "the screen below the shell's prompt", setting=False),
    Option(
        "profile",
        "output and instructions",
        "write where the time went, for Python's pstats",
        "FILE",
        setting=False,
    ),
    Option("strict-config", "output and instructions", "a faulty settings file: exit 3", setting=False),
)

NAMES = frozenset({"-h", "--help", "--version", *("--" + option.name for option in OPTIONS)})


def add_to(parser: argparse.ArgumentParser) -> None:
    """Offer every option on `parser`."""
    groups: dict[str, Any] = {}
    for option in OPTIONS:
        group = groups.get(option.group)
        if group is None:
            group = groups[option.group] = parser.add_argument_group(option.group)
        flag = "--" + option.name
        if not option.metavar:
            group.add_argument(flag, dest=option.key, action="store_true", help=option.help)
        elif option.choices:
            text = f"{', '.join(option.choices)}; {option.help}"
            group.add_argument(
                flag, dest=option.key, choices=option.choices, metavar=option.metavar, help=text
            )
        else:
            action = "append" if option.repeat else "store"
            group.add_argument(
                flag,
                dest=option.key,
                action=action,
                metavar=option.metavar,
                type=option.read,
                help=option.help,
            )
