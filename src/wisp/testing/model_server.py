"""A real HTTP model server on loopback, scripted: Chat, Responses, Messages and Gemini, streaming.

In a test:      `async with ModelServer([Step(text="hi")]) as server: ... server.url`
As a program:   `python -m wisp.testing.model_server --script FILE --port 0` prints `{"port": N}`.

The script is a list of steps, one a request, or a callback from the parsed request to a step.  Requests are
recorded and checked; what a strict service would refuse is answered with 400 unless `lenient`.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from wisp.testing import compacting
from wisp.testing.frames import MODEL, error_body, error_frame, frames, said_items
from wisp.testing.requests import DIALECTS, Request, continued, problems_of
from wisp.testing.steps import Fault, Step, steps_from

Script = Iterable[Step] | Callable[[Request], Step]

GONE = "Previous response with id is not found."
_PAGE = b"<html><head><title>502</title></head><body><h1>502 Bad Gateway</h1></body></html>"


class ModelServer:
    """The server; an async context manager.

    Args:
        script: steps in order, or a callback that chooses one.
        lenient: serve also what a strict service would refuse.
        compaction: offer `/responses/compact`, which takes no step of the script.
    """

    def __init__(self, script: Script = (), *, lenient: bool = False, compaction: bool = False) -> None:
        self._steps = None if callable(script) else list(script)
        self._choose = script if callable(script) else None
        self._lenient = lenient
        self._compaction = compaction
        self.compacted: list[Request] = []
        """Every request for a compaction, in order of arrival."""
        self._place = 0
        self._met = 0
        self._stopping = False
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self.stored: dict[str, list[Any]] = {}
        """Conversations kept for `previous_response_id`, by the response that ended them."""
        self.requests: list[Request] = []
        """Every model request, in order of arrival."""
        self.problems: list[str] = []
        """What a strict service would have refused, with the request's number."""
        self.connections = 0
        self.closed_early = 0
        """Streams whose client went away before their end."""
        self.port = 0

    @property
    def url(self) -> str:
        """The address without a path; what Anthropic's SDK takes."""
        return f"http://127.0.0.1:{self.port}"

    def base_url(self, api: str) -> str:
        """What the vendor's own SDK takes as its base URL."""
        return self.url if api in ("anthropic-messages", "gemini") else f"{self.url}/v1"

    async def __aenter__(self) -> ModelServer:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    async def start(self, port: int = 0) -> None:
        """Listen on loopback."""
        self._stopping = False
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port, limit=1 << 20)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Close everything, streams in progress too."""
        assert self._server is not None
        self._stopping = True
        self._server.close()
        for writer in tuple(self._writers):
            writer.transport.abort()
        serving = tuple(self._serving)
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        if (task := asyncio.current_task()) is not None:
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)
        try:
            while await self._one(reader, writer):
                pass
        except asyncio.CancelledError:
            if not self._stopping:
                raise  # asyncio would print the cancellation of a connection that `stop` ends
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
            pass  # the client went away or does not speak HTTP; its own test says whether that is right
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ", 2)
        pairs = (line.partition(":") for line in lines[1:] if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        body = await _body(reader, headers)
        path = target.partition("?")[0]
        dialect = next((name for tail, name in DIALECTS.items() if path.endswith(tail)), "")
        if method == "POST" and dialect:
            return await self._model(dialect, path, headers, body, writer)
        if method == "POST" and path.endswith(compacting.PATH) and self._compaction:
            request, status, answer = compacting.answer(len(self.compacted) + 1, path, headers, body)
            self.compacted.append(request)
            self.problems += [f"compaction {request.number}: {problem}" for problem in request.problems]
            return await _answer(writer, status, answer)
        if method == "GET" and path.endswith("/models"):
            models = [{"id": MODEL, "object": "model", "created": 0, "owned_by": "wisp"}]
            return await _answer(writer, 200, msgspec.json.encode({"object": "list", "data": models}))
        return await _answer(writer, 404, error_body("chat", 404, message=f"no such path: {path}"))

    async def _model(
        self, dialect: str, path: str, headers: dict[str, str], body: bytes, writer: asyncio.StreamWriter
    ) -> bool:
        try:
            parsed = msgspec.json.decode(body, type=dict[str, Any])
            whole = continued(parsed, self.stored) if dialect == "responses" else parsed
            if whole is None:
                return await _answer(writer, 400, error_body(dialect, 400, "", GONE))
            problems = problems_of(dialect, whole)
        except (msgspec.DecodeError, LookupError, TypeError, AttributeError) as exc:
            parsed, problems = {}, [f"the request is not what it should be: {exc}"]
        request = Request(len(self.requests) + 1, dialect, path, headers, body, parsed, problems)
        self.requests.append(request)
        step = self._step(request)
        if step is not None and step.after and step.after not in request.last_result:
            problems.append(f"the last tool result lacks {step.after!r}: {request.last_result[:200]!r}")
        if step is None:
            problems.append("past the end of the script")
        self.problems += [f"request {request.number}: {problem}" for problem in problems]
        if step is None or (problems and not self._lenient):
            return await _answer(writer, 400, error_body(dialect, 400, message="; ".join(problems)))
        fault = self._fault(step)
        if fault is not None and (fault.status or fault.html or fault.hang_up or fault.stall_head):
            return await self._refuse(dialect, fault, writer)
        return await self._stream(dialect, step, fault, request, writer)

    def _step(self, request: Request) -> Step | None:
        if self._choose is not None:
            return self._choose(request)
        assert self._steps is not None
        return self._steps[self._place] if self._place < len(self._steps) else None

    def _fault(self, step: Step) -> Fault | None:
        """The step's fault while it lasts; afterwards the step is served and the script goes on."""
        if step.fault is not None and self._met < step.fault.times:
            self._met += 1
            return step.fault
        self._met = 0
        self._place += 1
        return None

    async def _refuse(self, dialect: str, fault: Fault, writer: asyncio.StreamWriter) -> bool:
        if fault.hang_up:
            return False
        if fault.stall_head:
            await asyncio.sleep(3600)
        if fault.html:
            return await _answer(writer, 200, fault.body.encode() or _PAGE, {"content-type": "text/html"})
        body = fault.body.encode() or error_body(dialect, fault.status)
        return await _answer(writer, fault.status, body, fault.headers)

    async def _stream(
        self, dialect: str, step: Step, fault: Fault | None, request: Request, writer: asyncio.StreamWriter
    ) -> bool:
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n"
            b"transfer-encoding: chunked\r\nx-request-id: req_%d\r\n\r\n" % request.number
        )
        limit, ending = _limit(fault)
        sent = 0
        for place, frame in enumerate(_faulty(dialect, step, fault, request.number)):
            if limit is not None and sent + len(frame) > limit:
                frame = frame[: limit - sent]
            sent += len(frame)
            if frame:
                writer.write(b"%x\r\n%s\r\n" % (len(frame), frame))
            if limit is not None and sent >= limit:
                await writer.drain()
                return await self._break_off(ending, writer)
            if step.pause or place % 64 == 63:
                await self._drain(writer)
            if step.pause:
                await asyncio.sleep(step.pause)
        if request.json.get("store"):
            before = continued(request.json, self.stored) or {}
            kept = [*before.get("input", []), *said_items(step, request.number)]
            self.stored[f"resp_{request.number}"] = kept
        writer.write(b"0\r\n\r\n")
        await self._drain(writer)
        return request.headers.get("connection", "").lower() != "close"

    async def _drain(self, writer: asyncio.StreamWriter) -> None:
        try:
            await writer.drain()
            if writer.transport.is_closing():
                raise ConnectionResetError
        except OSError:
            self.closed_early += 1
            raise

    async def _break_off(self, ending: str, writer: asyncio.StreamWriter) -> bool:
        if ending == "cut":
            writer.write(b"0\r\n\r\n")
        elif ending == "stall":
            await asyncio.sleep(3600)
        elif ending == "reset":
            _set_reset(writer)
            await asyncio.sleep(0.01)
            writer.transport.abort()
        return False


def _limit(fault: Fault | None) -> tuple[int | None, str]:
    if fault is None:
        return None, ""
    for name, limit in (
        ("cut", fault.cut_after),
        ("reset", fault.reset_after),
        ("stall", fault.stall_after),
    ):
        if limit >= 0:
            return limit, name
    return None, ""


def _faulty(dialect: str, step: Step, fault: Fault | None, number: int) -> Iterable[bytes]:
    """The step's frames with what a fault puts between them."""
    for place, frame in enumerate(frames(dialect, step, number)):
        yield frame
        if fault is not None and place == 0 and fault.insert:
            yield fault.insert.encode("utf-8", "surrogateescape")
        if fault is not None and place == 4 and fault.error_event:
            yield error_frame(dialect, fault.error_event)
            return


def _set_reset(writer: asyncio.StreamWriter) -> None:
    """Make the coming close a reset instead of an orderly end."""
    import socket
    import struct

    connection = writer.get_extra_info("socket")
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if "chunked" in headers.get("transfer-encoding", "").lower():
        pieces = []
        while size := int((await reader.readline()).split(b";")[0], 16):
            pieces.append(await reader.readexactly(size))
            await reader.readexactly(2)
        await reader.readline()
        return b"".join(pieces)
    return await reader.readexactly(int(headers.get("content-length") or 0))


async def _answer(
    writer: asyncio.StreamWriter, status: int, body: bytes, headers: dict[str, str] | None = None
) -> bool:
    named = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    writer.write(f"HTTP/1.1 {status} Scripted\r\n{lines}\r\n".encode() + body)
    await writer.drain()
    return True


async def _run(script: list[Step], port: int, lenient: bool) -> None:
    async with ModelServer(script, lenient=lenient) as server:
        if port:
            await server.stop()
            await server.start(port)
        sys.stdout.write(msgspec.json.encode({"port": server.port}).decode() + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main(arguments: list[str] | None = None) -> int:
    """Serve a script file until interrupted."""
    import argparse
    from pathlib import Path

    parser = argparse.ArgumentParser(prog="model_server", description="A scripted model server on loopback.")
    parser.add_argument("--script", required=True, help="JSON: a list of steps, see wisp.testing.steps")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--lenient", action="store_true", help="serve also what a strict service refuses")
    options = parser.parse_args(arguments)
    script = steps_from(Path(options.script).read_bytes())
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_run(script, options.port, options.lenient))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
