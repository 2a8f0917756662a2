"""`--model gguf:PATH`: a process beside ours that serves a model file, from its start to its end."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping

import msgspec

from wisp.messages.ids import Clock
from wisp.providers.gguf import CannotLoad, Ready, Wanted
from wisp.workspace.background import Backgrounds
from wisp.workspace.process import Ending, run
from wisp.workspace.spool import Spool
from wisp.workspace.stop import StopToken

_LOOK = 0.02
"""Seconds between two looks at whether it is loaded."""
_KEPT = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES")


class EmbeddedServer:
    """One loaded model; it ends with this process at the latest.

    Args:
        env: the environment; a short list of it reaches the server.
    """

    def __init__(self, env: Mapping[str, str], clock: Clock) -> None:
        self._env = {name: env[name] for name in _KEPT if name in env}
        self._clock = clock
        self._processes = Backgrounds()
        self.base_url = ""

    async def load(self, path: str, key: str, context_window: int = 0) -> None:
        """Load a GGUF file and serve it at `base_url`.  Cancelling it ends the loading.

        Args:
            key: what requests have to carry; random.
            context_window: tokens to make room for; 0 for what the model was trained with.

        Raises:
            CannotLoad: the extra is missing, the file is not a model, or the process ended.
        """
        noise = bytearray()

        def heard(data: bytes) -> None:
            noise.extend(data)
            del noise[:-4096]

        def start(stop: StopToken, output: Callable[[bytes], object], stdin: int) -> Ending:
            folder = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                return run(
                    [sys.executable, "-I", "-m", "wisp.providers.gguf"],
                    cwd=folder,
                    env=self._env,
                    timeout=float("inf"),
                    stop=stop,
                    now=self._clock.monotonic,
                    output=output,
                    errors=heard,
                    stdin=stdin,
                )
            finally:
                os.close(folder)

        said = b""
        one = self._processes.start("model", Spool(None, ""), start, boxed=False)
        try:
            one.write(msgspec.json.encode(Wanted(path, key, context_window)) + b"\n")
            while not said.endswith(b"\n") and (one.running or one.unread):
                await asyncio.sleep(_LOOK)
                said += one.read(0.0, StopToken()).data
            if not said.endswith(b"\n"):
                words = noise.decode("utf-8", "replace").strip().splitlines() or ["it said nothing"]
                raise CannotLoad(f"the process that loads {path} ended: {words[-1]}")
            ready = msgspec.json.decode(said, type=Ready)
            if ready.error:
                raise CannotLoad(ready.error)
            self.base_url = ready.base_url
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the process, whatever it is doing; a second call does nothing."""
        self._processes.close()
