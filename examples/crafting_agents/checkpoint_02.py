"""Checkpoint 2: the loop of chapter 1 repairs a real file, with the project's test as the judge."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from .core import ScriptedProvider, ScriptMismatch, ToolCall, run_agent
from .disposable import in_disposable_project
from .scripted import DENIED, REPAIR
from .workbench import (
    PROJECT,
    SOURCE_NAME,
    TOOLS,
    dispatch,
    make_handlers,
    print_ending,
)

PROMPT = "add(2, 3) returns -1 instead of 5. Fix it and show that the test passes."


def work(root: Path, denied: Sequence[str]) -> int:
    """Run the scripted repair in this project and check how the project ended."""
    handlers = make_handlers(root)

    def execute(call: ToolCall) -> str:
        return dispatch(call, TOOLS, handlers, denied)

    provider = ScriptedProvider(DENIED if denied else REPAIR)
    result = asyncio.run(run_agent(PROMPT, provider, TOOLS, execute))
    check_ending(root, fixed=not denied)
    print_ending(root, result.stop_reason)
    return 0


def check_ending(root: Path, *, fixed: bool) -> None:
    """Fail the checkpoint when the file is not as promised, whatever the conversation said."""
    source = PROJECT[SOURCE_NAME]
    expected = source.replace("a - b", "a + b") if fixed else source
    if (root / SOURCE_NAME).read_text(encoding="utf-8") != expected:
        raise ScriptMismatch(f"{SOURCE_NAME} did not end as the checkpoint promises")


def main(argv: Sequence[str] | None = None) -> int:
    """Read the flags and run in a folder of our own."""
    parser = argparse.ArgumentParser(prog="checkpoint_02", description=__doc__)
    parser.add_argument("--deny-edits", action="store_true", help="let the host refuse every edit")
    options = parser.parse_args(argv)
    denied = ("edit",) if options.deny_edits else ()
    return in_disposable_project(PROJECT, lambda root: work(root, denied))


if __name__ == "__main__":
    sys.exit(main())
