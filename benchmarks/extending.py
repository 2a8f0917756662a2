"""What hooks and MCP servers cost a start: ten hooks and five servers, beside the same start without them.

    python benchmarks/extending.py [--rounds N]

Two figures, as medians of rounds that alternate: process start to first frame of the screen, and, headless, from
the moment the slowest server had told its tools to the moment the whole first request with them had arrived.
Nothing here is asserted; times move with the machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from run import WISP as HEADLESS
from run import Outcome, Server, environment
from screen import WISP, Terminal, program, row  # beside this file

from wisp.testing.requests import Request
from wisp.testing.steps import Step

HOOKS, SERVERS = 10, 5
SLOWEST = 0.4
"""Seconds that the slowest server takes before it says anything."""

SERVER = """\
import json, sys, time
wait, log = float(sys.argv[1]), sys.argv[2]
time.sleep(wait)
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if asked["method"] == "initialize":
        found = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
                 "serverInfo": {"name": "bench", "version": "1"}}
    elif asked["method"] == "tools/list":
        found = {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": found}), flush=True)
    if asked["method"] == "tools/list":
        open(log, "a").write(f"{time.monotonic()}\\n")
"""


class Bodies(Server):
    """A server that keeps what it was sent."""

    body = b""

    def _choose(self, request: Request) -> Step:
        self.body = request.body
        return super()._choose(request)


def tables(folder: Path) -> str:
    """Ten hooks and five servers; the last is the slowest."""
    (folder / "server.py").write_text(SERVER)
    rows = []
    for number in range(HOOKS):
        event = ("PreToolUse", "PostToolUse", "Stop", "UserPromptSubmit", "SessionEnd")[number % 5]
        rows += [
            f"[[hooks.{event}]]",
            f"[[hooks.{event}.hooks]]",
            f'type = "command"\ncommand = "true {number}"',
        ]
    for number in range(SERVERS):
        wait = SLOWEST * number / (SERVERS - 1)
        command = [sys.executable, "-S", str(folder / "server.py"), str(wait), str(folder / "told")]
        rows += [f"[mcp_servers.s{number}]", f"command = {json.dumps(command)}", 'sandbox = "off"']
    return "\n".join(rows) + "\n"


def first_frames(folder: Path, rounds: int) -> None:
    """Start to first frame, without and with them."""
    plain, full = (program(folder / name, "http://127.0.0.1:9") for name in ("plain", "full"))
    settings = full.home / "config" / "settings.toml"
    settings.write_text(settings.read_text() + tables(folder))
    found: dict[str, list[float]] = {"plain": [], "full": []}
    for _ in range(rounds + 1):
        for name, made in (("plain", plain), ("full", full)):
            terminal = Terminal(WISP, made.env | {"PYTHONDONTWRITEBYTECODE": ""}, made.project)
            found[name].append(terminal.until("tarting"))
            terminal.close()
    without, with_them = (statistics.median(times[1:]) for times in found.values())
    row("first frame without and with hooks and servers, ms", with_them, without)


def first_requests(folder: Path, rounds: int) -> None:
    """From the slowest server's tools to the whole request that has them."""
    late = []
    for _ in range(rounds + 1):
        with Bodies([Step(text="ok")]) as server:
            env = environment(folder, server.url)
            settings = folder / "home" / "config" / "settings.toml"
            hooks = tables(folder).replace("UserPromptSubmit", "Stop")
            settings.write_text(settings.read_text() + hooks)
            (folder / "told").unlink(missing_ok=True)
            Outcome([*HEADLESS, "-p", "hi"], folder, env)
            told = max(float(line) for line in (folder / "told").read_text().split())
            late.append(1000 * (server.arrived[0] - told))
            assert all(f"mcp__s{number}__t".encode() in server.body for number in range(SERVERS))
    print(f"first request after the slowest server, ms: {statistics.median(late[1:]):.1f}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        first_requests(Path(name), rounds)
        first_frames(Path(name), rounds)
    print(f"({time.monotonic() - began:.0f} s)")


if __name__ == "__main__":
    main()
