"""Checkpoint 3: the same repair, after the model was told about its tools and could look around."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from .checkpoint_02 import PROMPT, check_ending
from .context import (
    CANDIDATES,
    CONTEXT_PROJECT,
    CONTEXT_TOOLS,
    GUIDANCE,
    GUIDANCE_NAME,
    RequestInspector,
    assemble_instructions,
    discover,
)
from .core import ScriptedProvider, ToolCall, run_agent
from .disposable import in_disposable_project
from .scripted import DENIED, DISCOVERY, REPAIR
from .workbench import Handlers, dispatch, make_handlers, print_ending

LONG_GUIDANCE_REPEATS = 100


def context_handlers(root: Path) -> Handlers:
    """Chapter 2's tools, which may now read what discovery lists, and discovery itself."""
    return {**make_handlers(root, CANDIDATES), "discover": lambda: discover(root)}


def make_executor(root: Path, denied: Sequence[str]) -> Callable[[ToolCall], str]:
    """The host's refusals are code.  No instruction block, and no file behind one, takes part in them."""
    handlers = context_handlers(root)
    return lambda call: dispatch(call, CONTEXT_TOOLS, handlers, denied)


def work(root: Path, *, trusted: bool, denied: Sequence[str]) -> int:
    """Assemble the instructions, run the scripted repair, and check how the project ended."""
    instructions = assemble_instructions(root, CONTEXT_TOOLS, trusted=trusted)
    # Discovery ends with the test run that opens chapter 2's script.
    script = (*DISCOVERY, *(DENIED if denied else REPAIR)[1:])
    provider = RequestInspector(ScriptedProvider(script), instructions, CONTEXT_TOOLS)
    run = run_agent(PROMPT, provider, CONTEXT_TOOLS, make_executor(root, denied), instructions=instructions)
    result = asyncio.run(run)
    check_ending(root, fixed=not denied)
    print_ending(root, result.stop_reason)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Read the flags, which may be combined, and run in a folder of our own."""
    parser = argparse.ArgumentParser(prog="checkpoint_03", description=__doc__)
    parser.add_argument("--long-guidance", action="store_true", help="repeat AGENTS.md a hundred times")
    parser.add_argument("--untrusted", action="store_true", help="tell the model nothing the project says")
    parser.add_argument("--deny-edits", action="store_true", help="let the host refuse every edit")
    options = parser.parse_args(argv)
    guidance = GUIDANCE * (LONG_GUIDANCE_REPEATS if options.long_guidance else 1)
    denied = ("edit",) if options.deny_edits else ()
    return in_disposable_project(
        {**CONTEXT_PROJECT, GUIDANCE_NAME: guidance},
        lambda root: work(root, trusted=not options.untrusted, denied=denied),
    )


if __name__ == "__main__":
    sys.exit(main())
