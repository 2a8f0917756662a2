"""A model file as a provider: llama.cpp's own HTTP server inside this process, on loopback alone.

Needs the extra `local` (xllamacpp) and is imported only for `--model gguf:PATH`.  The server takes a free
port and a key of its own, so that no other user of the machine can talk to it; it never reaches out.
Loading a file holds the whole process, Ctrl+C included, until it is loaded.
"""

from __future__ import annotations

import os
from typing import Any

PREFIX = "gguf:"


class CannotLoad(Exception):
    """The model cannot be used; the message says why and what to do."""


class EmbeddedServer:
    """One loaded model.

    Args:
        path: a GGUF file.
        key: what requests have to carry; random.
        context_window: tokens to make room for; 0 for what the model was trained with.

    Raises:
        CannotLoad: the extra is missing, or the file is not a model.
    """

    def __init__(self, path: str, key: str, context_window: int = 0) -> None:
        _check(path)
        try:
            import xllamacpp
        except ImportError:
            raise CannotLoad("a model file needs an extra: pip install 'wisp-agent[local]'") from None
        parameters = xllamacpp.CommonParams()
        parameters.model.path = path
        parameters.hostnames = ["127.0.0.1"]
        parameters.port = 0
        parameters.api_keys = [key]
        parameters.offline = True
        parameters.ui = False
        parameters.verbosity = -1
        parameters.n_ctx = context_window
        parameters.n_parallel = 1
        try:
            self._server: Any = xllamacpp.Server(parameters)
        except (RuntimeError, ValueError) as exc:
            raise CannotLoad(f"{path} cannot be loaded as a model: {exc}") from None
        self.base_url = f"{self._server.listening_address}/v1"

    def close(self) -> None:
        """Stop the server and free the model; a second call does nothing."""
        self._server = None


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
