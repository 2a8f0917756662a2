"""An editor for tests: speaks JSON-RPC with the real `wisp acp`, line by line, and knows no types of ours."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections.abc import Callable
from typing import Any

from process.program import Program

Message = dict[str, Any]


class Editor:
    """One agent process.  `seen` is everything it said, in order.

    Args:
        answer: the outcome of a permission request, or None to leave it open.
    """

    def __init__(
        self, program: Program, *args: str, answer: Callable[[Message], Any] | None = None, **more: Any
    ) -> None:
        self.answer = answer or (lambda _: {"outcome": {"outcome": "selected", "optionId": "once"}})
        self.process = program.start("acp", *args, stdin=subprocess.PIPE, **more)
        self.seen: list[Message] = []
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._last = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def write(self, message: Message | str) -> None:
        """Send one line."""
        assert self.process.stdin is not None
        self.process.stdin.write(message if isinstance(message, str) else json.dumps(message) + "\n")
        self.process.stdin.flush()

    def send(self, method: str, **params: Any) -> int:
        """Send a request; its id."""
        self._last += 1
        self.write({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        return self._last

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.write({"jsonrpc": "2.0", "method": method, "params": params})

    def next(self, seconds: float = 110) -> Message:
        """The next message; permissions are answered on the way."""
        line = self._lines.get(timeout=seconds)
        assert line is not None, "the agent ended"
        message: Message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        self.seen.append(message)
        if message.get("method") == "session/request_permission":
            outcome = self.answer(message)
            if outcome is not None:
                self.write({"jsonrpc": "2.0", "id": message["id"], "result": outcome})
        return message

    def until(self, wanted: Callable[[Message], bool]) -> Message:
        """The next message for which `wanted` holds."""
        while not wanted(message := self.next()):
            pass
        return message

    def reply(self, number: Any) -> Message:
        """The response to the request with that id."""
        return self.until(lambda message: "method" not in message and message.get("id") == number)

    def ask(self, method: str, **params: Any) -> Any:
        """A request's result."""
        message = self.reply(self.send(method, **params))
        assert "error" not in message, message
        return message["result"]

    def fault(self, method: str, **params: Any) -> tuple[int, str]:
        """`(code, message)` of the error that a request is answered with."""
        message = self.reply(self.send(method, **params))
        assert "error" in message, message
        return message["error"]["code"], message["error"]["message"]

    def open(self, cwd: object) -> str:
        """A new session in `cwd`; its id."""
        found: str = self.ask("session/new", cwd=str(cwd), mcpServers=[])["sessionId"]
        return found

    def say(self, session: str, text: str) -> Any:
        """The result of a prompt of one text."""
        return self.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])

    def updates(self, session: str = "") -> list[Message]:
        """Every update so far, of one session or of all."""
        found = [message["params"] for message in self.seen if message.get("method") == "session/update"]
        return [params["update"] for params in found if session in ("", params["sessionId"])]

    def text(self, kind: str = "agent_message_chunk", session: str = "") -> str:
        """What chunks of one kind say together."""
        return "".join(u["content"]["text"] for u in self.updates(session) if u["sessionUpdate"] == kind)

    def leave(self) -> tuple[int, str]:
        """Close its input; `(exit code, what it said on standard error)`."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.ended()

    def ended(self) -> tuple[int, str]:
        """Take what is left to its end."""
        while (line := self._lines.get(timeout=60)) is not None:
            self.seen.append(json.loads(line))
        self._reader.join()
        errors: str = self.process.stderr.read() if self.process.stderr is not None else ""
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        return self.process.wait(timeout=60), errors
