"""Stands between a client and a server as a build of the future: more fields everywhere, events nobody knows.

python rpc_meddler.py ARGV...
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import Any

LATER = {"jsonrpc": "2.0", "method": "event", "params": {"type": "later.invented", "seq": 1, "session_id": "s", "at": "2030-01-01T00:00:00.000Z", "new": [1]}}  # fmt: skip
OTHER = {"jsonrpc": "2.0", "method": "notice.invented", "params": {"anything": None}}


def more(value: Any) -> Any:
    """`value` with a field that nobody knows in every object that is not free-form."""
    if isinstance(value, list):
        return [more(item) for item in value]
    if isinstance(value, dict):
        grown = {
            key: item if key in ("details", "structured", "arguments") else more(item)
            for key, item in value.items()
        }
        return {**grown, "x_later": {"since": 9}}
    return value


def main(argv: list[str]) -> int:
    """Pass every line on, with more in it."""
    child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None and child.stdout is not None

    def down(source: Any, target: Any) -> None:
        for line in source:
            frame = json.loads(line)
            frame["params"] = more(frame.get("params") or {})
            frame["x_later"] = True
            target.write(json.dumps(frame).encode() + b"\n")
            target.flush()
        target.close()

    threading.Thread(target=down, args=(sys.stdin.buffer, child.stdin), daemon=True).start()
    for line in child.stdout:
        frame = json.loads(line)
        for key in ("params", "result"):
            if key in frame:
                frame[key] = more(frame[key])
        frame["x_later"] = True
        for one in (frame, LATER, OTHER):
            sys.stdout.buffer.write(json.dumps(one).encode() + b"\n")
        sys.stdout.buffer.flush()
    return child.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
