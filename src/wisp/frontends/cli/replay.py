"""`wisp sessions replay`: what was asked and decided in a session, again, beside what came of it then."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from wisp.frontends.cli.exitcodes import FAILED, OK
from wisp.frontends.cli.invocation import Invocation
from wisp.frontends.cli.print import write_json
from wisp.frontends.cli.streams import complain, hand_over, say
from wisp.frontends.cli.terminal import is_terminal
from wisp.host.showing import named, one_line, safe

if TYPE_CHECKING:
    from wisp.host.replaying import Answered, Compared, Rebuilt
    from wisp.messages.message import AssistantMessage


class Replays(Protocol):
    """What `host.small.HostLibrary` offers for this command."""

    def rebuilt(self, prefix: str, entry: str = "") -> Iterable[Rebuilt]: ...
    def ask_other(self, one: Rebuilt) -> Answered: ...
    def compared(self, prefix: str, file: str) -> Iterable[Compared]: ...


def replay(prefix: str, invocation: Invocation, library: Replays) -> int:
    """Do the command; 1 when something is not what it was."""
    given = invocation.given
    if given["policy"]:
        return _policies(library.compared(prefix, given["policy"]), as_json=invocation.json)
    made = library.rebuilt(prefix, given["at"] or "")
    if given["model"]:
        return _other(list(made), library, as_json=invocation.json)
    if given["at"] and not invocation.json:
        return _bytes(list(made)[-1])
    return _requests(made, as_json=invocation.json)


def _requests(made: Iterable[Rebuilt], *, as_json: bool) -> int:
    """A line a request, and how many were the same."""
    same = other = unknown = 0
    for one in made:
        same += one.same is True
        other += one.same is False
        unknown += one.same is None
        if as_json:
            write_json(_row(one))
            continue
        frame, asked = one.asked.frame, one.asked
        whom = f"{frame.provider}/{frame.model.id}" if frame is not None else "?"
        verdict = "the same as was sent" if one.same else one.why
        head = f"{asked.number} {named(asked.result_id)}  {named(whom)}"
        say(safe(f"{head}  {len(one.body):,} bytes: {verdict}"))
        if asked.answer is not None:
            say(safe(f"    {one_line(_said(asked.answer), 160)}"))
    if not as_json:
        say(safe(f"{same + other + unknown} requests: {same} the same, {other} different, {unknown} unknown"))
    return FAILED if other else OK


def _row(one: Rebuilt) -> dict[str, Any]:
    asked, frame = one.asked, one.asked.frame
    return {
        "request": asked.number,
        "turn": asked.turn,
        "after": asked.after,
        "answer": asked.result_id,
        "provider": frame.provider if frame is not None else None,
        "model": frame.model.id if frame is not None else None,
        "messages": len(asked.messages),
        "bytes": len(one.body),
        "sha256": one.sha256 or None,
        "same": one.same,
        "why": one.why,
    }


def _bytes(one: Rebuilt) -> int:
    """The request itself, byte for byte; on a terminal nothing of it can act."""
    if not one.body:
        complain(safe(f"wisp: request {one.asked.number} cannot be made again: {one.why}"))
        return FAILED
    if is_terminal(sys.stdout):
        say(safe(one.body.decode("utf-8", "replace")))
    else:
        hand_over(one.body)
    if not one.same:
        complain(safe(f"wisp: {one.why}"))
    return FAILED if one.same is False else OK


def _other(made: list[Rebuilt], library: Replays, *, as_json: bool) -> int:
    """The last of these requests asked of another model, and the two answers side by side."""
    if not made:
        complain(safe("wisp: no request was made in this session"))
        return FAILED
    found = library.ask_other(made[-1])
    then, now = _lines(found.rebuilt.asked.answer), _lines(found.answer)
    if as_json:
        usage = found.answer.usage
        write_json(
            {
                **_row(found.rebuilt),
                "other": {"provider": found.provider, "model": found.model, "stop": found.answer.stop},
                "then": then,
                "now": now,
                "input_tokens": usage.prompt_tokens if usage is not None else None,
                "output_tokens": usage.output_tokens if usage is not None else None,
                "differs": then != now,
            }
        )
        return OK
    if then == now:
        say(safe(f"{found.provider}/{found.model} says the same:"))
        say(safe("\n".join(now)))
        return OK
    frame = found.rebuilt.asked.frame
    before = f"{frame.provider}/{frame.model.id}" if frame is not None else "then"
    for line in difflib.unified_diff(
        then, now, before, f"{found.provider}/{found.model}", n=max(len(then), len(now)), lineterm=""
    ):
        say(safe(line))
    return OK


def _lines(answer: AssistantMessage | None) -> list[str]:
    """An answer as lines: its words, then each call with what it asks for."""
    if answer is None:
        return []
    calls = [f"call {call.name} {call.arguments}" for call in answer.calls]
    return [*answer.text.splitlines(), *calls]


def _said(answer: AssistantMessage) -> str:
    return " ".join(_lines(answer)) or f"({answer.stop})"


def _policies(rows: Iterable[Compared], *, as_json: bool) -> int:
    """A line a call that another policy decides differently, and how many there are."""
    count = differing = unknown = 0
    for row in rows:
        count += 1
        decision = row.decision
        unknown += decision is None
        differs = decision is not None and decision.verdict != row.before
        differing += differs
        if as_json:
            write_json(
                {
                    "call_id": row.call.call_id,
                    "tool": row.call.tool,
                    "summary": row.call.summary,
                    "ran": row.call.ran,
                    "then": row.before,
                    "now": decision.verdict if decision is not None else None,
                    "reason": decision.reason if decision is not None else "",
                    "differs": differs,
                }
            )
        elif differs and decision is not None:
            say(safe(f"{row.before} -> {decision.verdict}: {one_line(row.call.summary, 160)}"))
            say(safe(f"    {one_line(decision.reason, 160)}"))
    if not as_json:
        tail = f"; of {unknown} the session does not say what they would have done" if unknown else ""
        say(safe(f"{count} calls, {differing} decided differently{tail}"))
    return FAILED if differing else OK
