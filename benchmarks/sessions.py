"""Measure listing, opening and resuming sessions of growing size, beside a bare loop that reads the file.

    python benchmarks/sessions.py [--gigabyte]

Each figure is a process of its own, so that memory is that of one opening; the time is taken inside it,
without the interpreter's start.  Nothing here is asserted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from wisp.messages.content import Text, ToolCall
from wisp.messages.message import AssistantMessage, ToolResult, UserMessage
from wisp.messages.usage import Usage
from wisp.session.catalog import session_path
from wisp.session.codec import encode
from wisp.session.records import CompactionRecord, Known, MessageRecord, Record, SessionHeader

CHILD = """
import json, resource, sys, time
kind, base, path = sys.argv[1:]
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
if kind == "bare":
    began = time.perf_counter()
    count = 0
    with open(path, "rb") as file:
        for line in file:
            count += 1
elif kind == "list":
    from wisp.session.catalog import sessions
    began = time.perf_counter()
    count = len(sessions(base))
elif kind == "find, reading":
    from wisp.session.find import matches
    began = time.perf_counter()
    count = len(matches(path, "nobody said this"))
elif kind.startswith("find"):
    from wisp.host.store import SessionStore
    from wisp.messages.ids import SystemClock
    text = kind[5:] or "nobody said this"
    began = time.perf_counter()
    count = sum(len(shown.matches) for shown in SessionStore(base, SystemClock()).find(text))
elif kind == "screen":
    from wisp.session.open import seen
    began = time.perf_counter()
    count = len(seen(path).state.messages[-50:])
else:
    from wisp.messages.ids import SystemClock
    from wisp.session.journal import FileJournal
    from wisp.session.runner import CodingSession
    began = time.perf_counter()
    session = CodingSession(FileJournal(path), SystemClock(), cwd="/w", session_id="x")
    count = session.state.count
print(json.dumps({"ms": 1000 * (time.perf_counter() - began), "mib": peak(), "count": count}))
if kind == "resume":
    session.close()
"""


def make(path: Path, entries: int, size: int) -> None:
    """A session of so many messages of about so many bytes, compacted as a real one would be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    seq = 0
    with open(path, "wb") as file:

        def write(body: Known, record_id: str, parent: str) -> None:
            nonlocal seq
            seq += 1
            file.write(encode(Record(seq, record_id, parent, "2026-01-01T00:00:00.000Z", body)))

        write(SessionHeader("big", "/w"), "h", "")
        last = ""
        for turn in range(entries // 4):
            call = ToolCall(f"c{turn}", "read", json.dumps({"path": f"src/module_{turn % 300}.py"}))
            messages = (
                UserMessage((Text(f"please look at {turn}"),), f"{turn:022}user"),
                AssistantMessage(
                    (Text("I look."), call), f"{turn:022}call", "tool_calls", Usage(10, 5, 0, 0, 0)
                ),
                ToolResult(
                    call.id, "read", (Text("line of code\n" * (4 * size // 14)),), id=f"{turn:022}rslt"
                ),
                AssistantMessage((Text("It is fine."),), f"{turn:022}done", "stop", Usage(10, 5, 0, 0, 0)),
            )
            for message in messages:
                write(MessageRecord(message, 0.001), message.id, last)
                last = message.id
            if turn % 60 == 59:
                write(CompactionRecord("so far", messages[0].id, (), "threshold"), f"k{turn}", last)
    path.chmod(0o600)


def measure(kind: str, base: Path, path: Path) -> dict[str, float]:
    """One process that does one thing."""
    argv = [sys.executable, "-c", CHILD, kind, str(base), str(path)]
    found: dict[str, float] = json.loads(subprocess.run(argv, capture_output=True, check=True).stdout)
    return found


def main() -> None:
    """Make, measure, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabyte", action="store_true", help="a session of 1 GB and 200,000 messages too")
    given = parser.parse_args()
    cases = [("10,000 messages", 10_000, 5_000), ("1,000 messages", 1_000, 5_000)]
    if given.gigabyte:
        cases.insert(0, ("200,000 messages", 200_000, 5_000))
    print("| session | what | ms | MiB | bare loop, ms |\n|---|---|---:|---:|---:|")
    for name, entries, size in cases:
        with tempfile.TemporaryDirectory() as folder:
            base = Path(folder)
            path = Path(session_path(str(base), "/w", "big"))
            make(path, entries, size)
            title = f"{name}, {path.stat().st_size / 1e6:,.0f} MB"
            measure("bare", base, path)
            bare = measure("bare", base, path)["ms"]
            rows = [("list, first", "list"), ("list", "list"), ("resume, no index", "resume")]
            rows += [
                ("resume", "resume"),
                ("last screen", "screen"),
                ("find words that are not there, reading all", "find, reading"),
                ("the same, first search", "find"),
            ]
            for _ in range(entries // 60_000):
                rows.append(("the same, while the index grows", "find"))
            rows += [
                ("the same", "find"),
                ("find words said once", f"find look at {entries // 8}"),
                ("find words said everywhere", "find line of code"),
                ("find two letters that are not there", "find qz"),
            ]
            for what, kind in rows:
                found = measure(kind, base, path)
                print(
                    f"| {title} | {what} | {found['ms']:.1f} | {found['mib']:.0f} | {bare:.0f} |", flush=True
                )
    many()


def many(count: int = 3_000) -> None:
    """A folder of so many sessions: listed for the first time, and again."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        for number in range(count):
            make(Path(session_path(str(base), f"/w{number % 20}", f"s{number:05}")), 8, 500)
        path = Path(session_path(str(base), "/w0", "s00000"))
        for what in ("list, first", "list"):
            found = measure("list", base, path)
            print(f"| {count:,} sessions | {what} | {found['ms']:.1f} | {found['mib']:.0f} | |", flush=True)


if __name__ == "__main__":
    main()
