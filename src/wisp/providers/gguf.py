"""A model file as a server: llama.cpp's own, on loopback alone, in a process of its own.

Needs the extra `local` (xllamacpp).  Native code that loads a file, or ends, holds its whole process and
cannot be interrupted; so it never runs in ours.  Started as `python -m wisp.providers.gguf` by
`host.embedded`, which talks to it in lines of JSON: one `Wanted` in, one `Ready` out; the end of its input is
the end of the process.  The server takes a free port and a key of its own, so that no other user of the
machine can talk to it; it never reaches out.
"""

from __future__ import annotations

import os
from typing import Any

import msgspec

PREFIX = "gguf:"


class Wanted(msgspec.Struct, frozen=True):
    """What is to be served."""

    path: str
    """A GGUF file."""
    key: str
    """What requests have to carry; random."""
    context_window: int = 0
    """Tokens to make room for; 0 for what the model was trained with."""


class Ready(msgspec.Struct, frozen=True):
    """What came of it."""

    base_url: str = ""
    error: str = ""
    """Why the model cannot be used, and what to do; empty when it can."""


class CannotLoad(Exception):
    """The model cannot be used; the message says why and what to do."""


def _load(wanted: Wanted) -> tuple[Any, str]:
    """The running server and its address.

    Raises:
        CannotLoad: the extra is missing, or the file is not a model.
    """
    _check(wanted.path)
    try:
        import xllamacpp
    except ImportError:
        raise CannotLoad("a model file needs an extra: pip install 'wisp-agent[local]'") from None
    parameters = xllamacpp.CommonParams()
    parameters.model.path = wanted.path
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [wanted.key]
    parameters.offline = True
    parameters.ui = False
    parameters.verbosity = -1
    parameters.n_ctx = wanted.context_window
    parameters.n_parallel = 1
    try:
        server = xllamacpp.Server(parameters)
    except (RuntimeError, ValueError) as exc:
        raise CannotLoad(f"{wanted.path} cannot be loaded as a model: {exc}") from None
    return server, f"{server.listening_address}/v1"


def _check(path: str) -> None:
    """Say what is wrong with a file before llama.cpp does, in its own words and at length.

    Raises:
        CannotLoad: it is not there or not a model file.
    """
    try:
        with open(path, "rb") as file:
            start = file.read(4)
    except OSError as exc:
        raise CannotLoad(f"{path}: {os.strerror(exc.errno or 0)}") from None
    if start != b"GGUF":
        raise CannotLoad(f"{path} is not a GGUF model file")


def serve(reading: int, writing: int) -> None:
    """Serve what the first line asks for until the input ends.  Never returns; nothing is waited for."""
    with os.fdopen(reading, "rb", closefd=False) as lines:
        wanted = msgspec.json.decode(lines.readline(), type=Wanted)
        server: Any = None
        try:
            server, address = _load(wanted)
            ready = Ready(address)
        except CannotLoad as exc:
            ready = Ready(error=str(exc))
        os.write(writing, msgspec.json.encode(ready) + b"\n")
        if server is not None:
            lines.read()
    os._exit(0)


if __name__ == "__main__":
    # What native code prints goes to standard error; the answer has the old standard output to itself.
    answers = os.dup(1)
    os.dup2(2, 1)
    serve(0, answers)
