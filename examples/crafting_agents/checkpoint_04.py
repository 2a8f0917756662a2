"""Checkpoint 4: the same repair through a streamed provider, authored failures, and an optional live run."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from .checkpoint_02 import PROMPT, check_ending
from .checkpoint_03 import make_executor
from .context import CONTEXT_PROJECT, CONTEXT_TOOLS, assemble_instructions
from .core import RunResult, ScriptMismatch, ToolCall, ToolSpec, run_agent
from .disposable import in_disposable_project
from .openai_transport import LiveUnavailable, OpenAITransport, connect
from .responses import ProviderFailure, ResponsesProvider, TransportError
from .scripted import DISCOVERY, REPAIR
from .stream_replay import Replay, ReplayTransport, failing_replays, replay_script
from .workbench import print_ending

SCRIPT = (*DISCOVERY, *REPAIR[1:])
FAILURES = {"disconnect": "disconnect", "malformed": "malformed", "output-limit": "output_limit"}
SCENARIOS = ("repair", "retry", *FAILURES)
DEFAULT_MODEL = "gpt-4.1-mini"
DIAGNOSE = "add(2, 3) returns -1 instead of 5. Find out why and say what should change. Change nothing."
EFFECTS = ("edit", "test")


def replays_for(scenario: str) -> list[Replay]:
    """The authored streams of a scenario."""
    if scenario in FAILURES:
        edit = next(
            step.message for step in REPAIR if any(call.name == "edit" for call in step.message.tool_calls)
        )
        return failing_replays(scenario, edit)
    refused = [Replay(refused=TransportError("the server is overloaded", 503))] if scenario == "retry" else []
    return [*refused, *replay_script(SCRIPT)]


def replay(root: Path, scenario: str) -> int:
    """Play a scenario.  A failure that ends as it should is a success of the demonstration."""
    executed: list[str] = []
    carry_out = make_executor(root, ())

    def execute(call: ToolCall) -> str:
        executed.append(call.name)
        return carry_out(call)

    provider = ResponsesProvider(ReplayTransport(replays_for(scenario)), "replay")
    instructions = assemble_instructions(root, CONTEXT_TOOLS, trusted=True)
    expected = FAILURES.get(scenario)
    try:
        result = asyncio.run(run_agent(PROMPT, provider, CONTEXT_TOOLS, execute, instructions=instructions))
        ended, reason = None, str(result.stop_reason)
    except ProviderFailure as failure:
        ended, reason = failure.kind, f"provider_failure ({failure})"
    calls = 0 if expected else len(SCRIPT) - 1
    if ended != expected or len(executed) != calls:
        raise ScriptMismatch(f"ended as {reason} after {len(executed)} tools")
    check_ending(root, fixed=expected is None)
    print(f"executed tools: {len(executed)}")
    print_ending(root, reason)
    return 0


async def converse(root: Path, transport: OpenAITransport, model: str, denied: Sequence[str]) -> RunResult:
    """Run the loop against the live model and close the connection in every case."""
    tools: list[ToolSpec] = [spec for spec in CONTEXT_TOOLS if spec.name not in denied]
    try:
        return await run_agent(
            DIAGNOSE if denied else PROMPT,
            ResponsesProvider(transport, model),
            tools,
            make_executor(root, denied),
            instructions=assemble_instructions(root, tools, trusted=True),
        )
    finally:
        await transport.aclose()


def live(root: Path, transport: OpenAITransport, model: str, *, allow_execution: bool) -> int:
    """Ask a real model.  What it says is not checked: a run that ends is not a task that is solved.

    Without permission the effects are hidden from the model and refused by the host as well.  Hiding alone
    would be a hint, not a gate.
    """
    try:
        result = asyncio.run(converse(root, transport, model, () if allow_execution else EFFECTS))
    except ProviderFailure as failure:
        print_ending(root, f"provider_failure ({failure})")
        return 1
    print_ending(root, result.stop_reason)
    return 0 if result.stop_reason == "model_finished" else 1


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the flags and refuse pairs that contradict each other."""
    parser = argparse.ArgumentParser(prog="checkpoint_04", description=__doc__)
    parser.add_argument(
        "--scenario", choices=SCENARIOS, help="which authored stream to play (default: repair)"
    )
    parser.add_argument(
        "--live", action="store_true", help="ask a real model; needs OPENAI_API_KEY and costs money"
    )
    parser.add_argument("--model", help=f"with --live: which model (default: {DEFAULT_MODEL})")
    parser.add_argument(
        "--allow-execution", action="store_true", help="with --live: let it edit and run tests"
    )
    options = parser.parse_args(argv)
    if options.live and options.scenario:
        parser.error("--scenario plays an authored stream and cannot be combined with --live")
    if not options.live and (options.model is not None or options.allow_execution):
        parser.error("--model and --allow-execution need --live")
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Choose between replay and live run, each in a folder of our own."""
    options = parse(argv)
    if not options.live:
        scenario = options.scenario or "repair"
        return in_disposable_project(CONTEXT_PROJECT, lambda root: replay(root, scenario))
    try:
        transport = connect()
    except LiveUnavailable as missing:
        print(missing, file=sys.stderr)
        return 2
    model = options.model or DEFAULT_MODEL
    return in_disposable_project(
        CONTEXT_PROJECT,
        lambda root: live(root, transport, model, allow_execution=options.allow_execution),
    )


if __name__ == "__main__":
    sys.exit(main())
