"""The permission modes a person chooses from, and what each says of an effect before any rule."""

from __future__ import annotations

from typing import Literal

import msgspec

from wisp.messages.tool import Effect

Mode = Literal["read-only", "plan", "ask", "auto", "full"]
MODES: tuple[Mode, ...] = ("read-only", "plan", "ask", "auto", "full")

Verdict = Literal["allow", "ask", "deny"]


class Decision(msgspec.Struct, frozen=True):
    """What is to happen with an effect, and why, in words a person and a model can read."""

    verdict: Verdict
    reason: str
    fixed: bool = False
    """An `ask` that no standing rule may answer: a person decides each time."""


def judge(effect: Effect, mode: Mode, *, sandboxed: bool) -> Decision:
    """What `mode` says of `effect`.

    Args:
        sandboxed: commands are meant to run in an operating-system box.  A command counts as boxed only
            when its own effect says so.
    """
    if effect.kind == "read":
        if mode == "full" or (effect.inside and not effect.protected):
            return Decision("allow", "reading inside the workspace is always allowed")
        if effect.protected:
            return Decision("ask", f"{effect.target} is protected: {effect.protected}")
        return Decision("ask", f"{effect.target} is outside the workspace")
    if mode == "full":
        return Decision("allow", "full mode asks nothing")
    if mode in ("read-only", "plan"):
        return Decision("deny", f"{mode} mode allows no effects")
    if effect.protected:
        return Decision("ask", f"{effect.target} is protected: {effect.protected}", fixed=True)
    if mode == "auto":
        boxed = effect.boxed if effect.kind == "execute" else sandboxed and effect.kind == "write"
        if boxed and effect.inside:
            return Decision("allow", "auto mode runs effects inside the sandbox")
        if effect.kind == "execute" or not sandboxed:
            why = f": {effect.unboxed}" if effect.unboxed else ""
            return Decision("ask", f"auto mode asks here because no sandbox is working{why}")
    return Decision("ask", f"{mode} mode asks before it {_VERBS[effect.kind]}")


_VERBS = {
    "write": "writes",
    "execute": "runs a command",
    "network": "opens the network",
    "ask": "does this",
    "read": "reads",
}
