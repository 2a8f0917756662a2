"""The model server of `wisp.testing` in a thread of its own, for tests that start the real program."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from wisp.testing.model_server import ModelServer
from wisp.testing.requests import Request
from wisp.testing.steps import Step

Script = Iterable[dict[str, Any] | Step] | Callable[[Request], Step]


class ServerThread:
    """A context manager; `requests` and `problems` are the server's own lists."""

    def __init__(self, script: Script, *, lenient: bool = False, compaction: bool = False) -> None:
        self._script = script if callable(script) else _steps(script)
        self._lenient = lenient
        self._compaction = compaction
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> ServerThread:
        self._thread.start()
        self._server = ModelServer(self._script, lenient=self._lenient, compaction=self._compaction)
        self._call(self._server.start())
        return self

    def __exit__(self, *exc: object) -> None:
        self._call(self._server.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def _call(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    @property
    def url(self) -> str:
        """The address without a path."""
        return self._server.url

    def base_url(self, api: str) -> str:
        """What settings name as `base_url` for a dialect."""
        return self._server.base_url(api)

    @property
    def requests(self) -> list[Request]:
        """Every model request so far."""
        return self._server.requests

    @property
    def compacted(self) -> list[Request]:
        """Every request for a compaction so far."""
        return self._server.compacted

    @property
    def problems(self) -> list[str]:
        """What a strict service would have refused."""
        return self._server.problems


def _steps(script: Iterable[dict[str, Any] | Step]) -> list[Step]:
    return [step if isinstance(step, Step) else msgspec.convert(step, Step) for step in script]
