"""Checkpoint 9: the same repair through one host, seen as text, JSON lines, RPC and a tiny screen."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from .checkpoint_02 import PROMPT, check_ending
from .core import ScriptMismatch
from .disposable import in_disposable_project
from .host import Command, Event, Host, fold_view
from .person import Control
from .pipes import RemoteHost, read_stdin, serve
from .renderings import as_json, as_screen, as_text, from_json
from .responses import ResponsesProvider
from .scripted import REPAIR
from .steering import stoppable_tools
from .stream_replay import ReplayTransport, replay_script
from .workbench import PROJECT, SOURCE_NAME, TOOLS, print_ending

CHECKOUT = Path(__file__).resolve().parents[2]
SERVE = (sys.executable, "-m", "examples.crafting_agents.checkpoint_09", "--serve")


def make_host(root: Path) -> Host:
    """The engine, with chapter 4's streamed script in place of a model."""

    def provider(control: Control) -> ResponsesProvider:
        transport = ReplayTransport(replay_script(REPAIR))

        def hear(piece: str) -> None:
            control.hear(piece)
            host.emit("text", piece=piece)

        return ResponsesProvider(transport, "replay", quiet, on_text=hear)

    host = Host(provider, TOOLS, stoppable_tools(root, quiet))
    return host


def quiet(line: str) -> None:
    """Say nothing: the events do."""


# region: front end
async def drive(host: Host | RemoteHost) -> list[Event]:
    """A whole front end: say something, agree to everything, and read until the run ends.

    Whether the engine is in this process or in another cannot be seen from here.
    """
    seen: list[Event] = []
    host.do(Command("say", {"text": PROMPT}))
    async for event in host.follow():
        seen.append(event)
        if event.kind == "asked":
            host.do(Command("answer", {"call": event.body["call"], "allow": True}))
        if event.kind == "ended":
            break
    return seen


async def in_process(root: Path) -> list[Event]:
    """The front end and the engine in one process."""
    return await drive(make_host(root))


async def over_pipes(root: Path, show: Callable[[str], None]) -> list[Event]:
    """The same front end, with the engine in a process of its own."""
    host = await RemoteHost.start([*SERVE, str(root)], str(CHECKOUT), show)
    try:
        return await drive(host)
    finally:
        await host.close()


# endregion: front end


# region: compare
def without_times(events: Sequence[Event]) -> list[Event]:
    """Events as they can be compared: how long the tests took is different in every run."""
    return [from_json(re.sub(r"in \d+\.\d+s", "in 0s", as_json(event))) for event in events]


def from_tomorrow(events: Sequence[Event]) -> list[Event]:
    """What a newer engine would send: every event has one more field, and there is one more kind."""
    lines = [{**asdict(event), "cost": 1, "body": {**event.body, "new": None}} for event in events]
    if lines:
        lines.insert(1, {**lines[0], "kind": "weather", "body": {"sky": "clear"}})
    return [from_json(json.dumps(line)) for line in lines]


def compare(events: Sequence[Event], remote: Sequence[Event]) -> None:
    """Raise ScriptMismatch unless all ways of looking at the run show the same run."""
    view = fold_view(events)
    if without_times(remote) != without_times(events):
        raise ScriptMismatch("the events over pipes differ from those in process")
    if any(fold_view(events[cut:], fold_view(events[:cut])) != view for cut in range(len(events))):
        raise ScriptMismatch("a snapshot and the events behind it give another view")
    if fold_view(from_tomorrow(events)) != view:
        raise ScriptMismatch("a client of today cannot read the engine of tomorrow")
    print(f"events: {len(events)}; in process, over pipes, by snapshot and from tomorrow: one view")


# endregion: compare


def work(root: Path, show: str) -> int:
    """Run the repair in process and over pipes, and render it in the ways that were asked for."""
    events = asyncio.run(in_process(root))
    check_ending(root, fixed=True)
    if show in ("text", "all"):
        print("\n".join(line for event in events if (line := as_text(event))))
    if show in ("json", "all"):
        print("\n".join(as_json(event) for event in events))
    if show in ("screen", "all"):
        asking = next(event.seq for event in events if event.kind == "asked")
        print(f"{as_screen(fold_view(events[:asking]))}\n{as_screen(fold_view(events))}")
    (root / SOURCE_NAME).write_text(PROJECT[SOURCE_NAME], encoding="utf-8")
    remote = asyncio.run(over_pipes(root, print if show in ("rpc", "all") else quiet))
    compare(events, remote)
    check_ending(root, fixed=True)
    print_ending(root, str(events[-1].body["ending"]))
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Read the flag and run in a folder of our own, or be the engine of somebody else's run."""
    parser = argparse.ArgumentParser(prog="checkpoint_09", description=__doc__)
    parser.add_argument("--show", choices=("text", "json", "rpc", "screen", "all"), default="all")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.serve:
        return asyncio.run(serve_on_stdio(Path(options.serve))) or 0
    return in_disposable_project(PROJECT, lambda root: work(root, options.show))


async def serve_on_stdio(root: Path) -> None:
    """The engine's side of the pipe."""
    await serve(make_host(root), read_stdin(), lambda line: print(line, flush=True))


if __name__ == "__main__":
    sys.exit(main())
