"""Record the screen repairing a bug, from the product itself, as an asciicast (version 2).

    python scripts/cast.py docs/assets/repair.cast

A scripted model, the real tools, the real screen. Play it with `asciinema play`.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import select
import struct
import sys
import tempfile
import termios
import threading
import time
from pathlib import Path

from wisp.testing.model_server import ModelServer
from wisp.testing.steps import Call, Step

WIDTH, HEIGHT = 100, 30
TEST = "python3 -m unittest -q"
EDIT = {"path": "calculator.py", "edits": [{"old_text": "return a - b", "new_text": "return a + b"}]}
ANSWER = """\
## What was wrong

`add` subtracted. It adds now:

```python
def add(a, b):
    return a + b
```

| test | before | after |
|---|---|---|
| `test_add` | fails | passes |
"""
STEPS = [
    Step(text="I run the tests first.", calls=(Call("bash", {"command": TEST}),), pause=0.03),
    Step(text="One fails; I look at the code.", calls=(Call("read", {"path": "calculator.py"}),), pause=0.03),
    Step(text="The sign is wrong.", calls=(Call("edit", EDIT),), pause=0.03),
    Step(text="Now the tests again.", calls=(Call("bash", {"command": TEST}),), pause=0.03),
    Step(text=ANSWER, pause=0.03),
]
SETTINGS = """\
model = "demo/scripted"
[providers.demo]
api = "openai-chat"
base_url = "{url}"
[providers.demo.models.scripted]
context_window = 200000
max_output = 8000
input_price = 1.0
output_price = 5.0
[permissions]
allow = ["bash({test})"]
"""


class Recording:
    """What a program writes, with the seconds since its start."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._began = time.monotonic()
        self._fresh = b""
        self.events: list[tuple[float, str]] = []

    def wait(self, mark: str = "", seconds: float = 60) -> None:
        """Until `mark` is written, or without one for so many seconds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self._descriptor], [], [], 0.05)[0]:
                data = os.read(self._descriptor, 65536)
                self._fresh += data
                self.events.append((time.monotonic() - self._began, data.decode("utf-8", "replace")))
            if mark and mark.encode() in self._fresh:
                self._fresh = b""
                return
        assert not mark, f"{mark!r} was never shown"

    def type(self, text: str, pause: float = 0.06) -> None:
        """Press keys as a person does."""
        for char in text:
            os.write(self._descriptor, char.encode())
            self.wait(seconds=pause)


def record(folder: Path, url: str) -> list[tuple[float, str]]:
    """Open the screen, have the bug repaired, leave."""
    home, project = folder / "home", folder / "calculator"
    (home / "config").mkdir(parents=True)
    project.mkdir()
    (home / "config" / "settings.toml").write_text(SETTINGS.format(url=url, test=TEST))
    (project / "calculator.py").write_text("def add(a, b):\n    return a - b\n")
    (project / "test_calculator.py").write_text(
        "import unittest\nfrom calculator import add\n\n\nclass T(unittest.TestCase):\n"
        "    def test_add(self):\n        self.assertEqual(5, add(2, 3))\n"
    )
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "WISP_HOME": str(home), "LANG": "C.UTF-8"}
    pid, descriptor = pty.fork()
    if pid == 0:
        os.chdir(project)
        colours = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        os.execvpe(sys.executable, [sys.executable, "-m", "wisp"], {**env, **colours})
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
    screen = Recording(descriptor)
    screen.wait("all keys")
    screen.wait(seconds=1)
    screen.type("add(2, 3) gives -1. Find the bug, fix it, run the tests.")
    screen.type("\r", 0.2)
    screen.wait("allow once")
    screen.wait(seconds=2.5)
    screen.type("y")
    screen.wait("before")
    screen.wait(seconds=3)
    os.close(descriptor)
    os.waitpid(pid, 0)
    return screen.events


def main() -> None:
    """Write the recording."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    server = ModelServer(lambda request: STEPS[min(len(request.results), len(STEPS) - 1)], lenient=True)
    asyncio.run_coroutine_threadsafe(server.start(), loop).result()
    with tempfile.TemporaryDirectory() as place:
        events = record(Path(place), server.base_url("openai-chat"))
        events = [(at, data.replace(place, "~")) for at, data in events]
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    header = {"version": 2, "width": WIDTH, "height": HEIGHT, "title": "wisp repairs a bug"}
    rows = [json.dumps(header), *(json.dumps([round(at, 3), "o", data]) for at, data in events)]
    target.write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
