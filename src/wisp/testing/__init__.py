"""For tests of what is built with wisp: models that are written down, in the process or as a real server.

`ScriptedProvider` plays answers to an agent of this process.  `ModelServer` is an HTTP server on loopback
that speaks the services' own formats, for whatever is started as a program.  Imported by nothing in the
product; names resolve on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wisp.providers.scripted import ScriptedProvider, ScriptMismatch, ScriptStep, call, raw_call
    from wisp.testing.model_server import ModelServer
    from wisp.testing.requests import Request
    from wisp.testing.steps import Call, Fault, Step

_HOMES = {
    "Call": "wisp.testing.steps",
    "Fault": "wisp.testing.steps",
    "ModelServer": "wisp.testing.model_server",
    "Request": "wisp.testing.requests",
    "ScriptMismatch": "wisp.providers.scripted",
    "ScriptStep": "wisp.providers.scripted",
    "ScriptedProvider": "wisp.providers.scripted",
    "Step": "wisp.testing.steps",
    "call": "wisp.providers.scripted",
    "raw_call": "wisp.providers.scripted",
}

__all__ = [
    "Call",
    "Fault",
    "ModelServer",
    "Request",
    "ScriptMismatch",
    "ScriptStep",
    "ScriptedProvider",
    "Step",
    "call",
    "raw_call",
]

if not TYPE_CHECKING:  # else every name, also a misspelt one, would be there for type checkers

    def __getattr__(name: str) -> Any:
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module 'wisp.testing' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(home), name)

    def __dir__() -> list[str]:
        return __all__
