"""A parsed command line as data, and the parser that every command reads its words with."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, NoReturn


class UsageError(Exception):
    """The command line makes no sense; the message says how to mend it."""


class Invocation(NamedTuple):
    """One parsed command line."""

    command: str = "run"
    """`run`, or one of `args.COMMANDS`."""
    settings: Mapping[str, Any] = {}
    """Settings given as options, by their names in the settings file."""
    prompt: str | None = None
    headless: bool = False
    form: str = ""
    """The output format that options or the environment ask for; empty where they say nothing."""
    dumb: bool = False
    """The terminal cannot move its cursor."""
    colour: bool = False
    """A terminal may be shown styles."""
    prompt_from_stdin: bool = False
    words: Sequence[str] = ()
    """What follows a command."""
    continue_: bool = False
    resume: str = ""
    fork: str = ""
    no_session: bool = False
    yes: bool = False
    strict_config: bool = False
    inline: bool = False
    profile: str = ""
    """File for a profile of the whole run."""
    print_instructions: bool = False
    trust: bool = False
    no_project: bool = False
    cwd: str = ""
    worktree: bool = False
    output_schema: str = ""
    attach: Sequence[str] = ()
    lines: bool = False
    """Prompts arrive on standard input, one JSON object a line."""
    record: str = ""
    replay: str = ""
    plain: bool = False
    json: bool = False
    deny_edits: bool = False
    one_turn: bool = False
    chat: bool = False
    all: bool = False
    device: bool = False
    keyring: bool = False
    with_key: bool = False
    refresh: bool = False
    source: str = ""
    given: Mapping[str, Any] = {}
    """What only the command itself knows the meaning of."""


class Parser(argparse.ArgumentParser):
    def __init__(
        self,
        *,
        formatter_class: Callable[..., argparse.HelpFormatter] = argparse.HelpFormatter,
        **options: Any,
    ) -> None:
        # argparse makes a formatter for every option it is told of, and each would load `shutil`, with three
        # compressors, to ask how wide a terminal is that nothing is shown on
        self._shown_by = formatter_class
        super().__init__(formatter_class=partial(formatter_class, width=80), **options)

    def format_help(self) -> str:
        self.formatter_class = self._shown_by
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}{self._meant(message)}; see '{self.prog} --help'")

    def _meant(self, message: str) -> str:
        """What a mistyped option or value was probably meant to be."""
        from wisp.host.showing import nearest

        _, unknown, words = message.partition("unrecognized arguments: ")
        if unknown:
            option = next((word.partition("=")[0] for word in words.split() if word.startswith("--")), "")
            return nearest(option, self._option_string_actions) if option else ""
        wrong = re.search(r"argument (\S+): invalid choice: '([^']*)'", message)
        if wrong is None:
            return ""
        action = self._option_string_actions.get(wrong[1].split("/")[0])
        return nearest(wrong[2], map(str, action.choices)) if action and action.choices else ""
