"""What waits for the person in the editor: permissions, and questions in words where the client can put them.

Whatever comes back that is no clear yes is a no.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import msgspec

from wisp.frontends.acp.calls import diffs, fenced, kind_of
from wisp.frontends.acp.types import (
    CallFields,
    ElicitationAnswer,
    InCall,
    PermissionAnswer,
    PermissionChoice,
    PermissionRequest,
    ShownText,
)
from wisp.frontends.wire.peer import Gone, Peer, RpcError
from wisp.host.client import CommandRefused, HostClient
from wisp.host.commands import Answer, Approve
from wisp.host.events import (
    Event,
    QuestionAnswered,
    QuestionAsked,
    ToolApprovalRequested,
    ToolApprovalResolved,
)
from wisp.host.showing import named, safe, shown

DECLINED = "The user declined to answer."
_NO_ANSWER = (RpcError, msgspec.MsgspecError, Gone, RecursionError)


class Asking:
    """The questions of one session.

    Args:
        host: is given the answers.
        cancel: stops the run: the person wants no more of it.
        name_of: under which id the client knows a call.
    """

    def __init__(
        self,
        host: HostClient,
        peer: Peer,
        session_id: str,
        *,
        cancel: Callable[[], Awaitable[None]],
        name_of: Callable[[str], str],
    ) -> None:
        self._host, self._peer, self._cancel = host, peer, cancel
        self._session_id, self._name_of = session_id, name_of
        self._cwd = host.snapshot().cwd
        self._open: dict[str, asyncio.Task[None]] = {}

    def watch(self, event: Event) -> None:
        """Take one event: ask when something is requested, stop waiting when it was settled elsewhere."""
        if isinstance(event, ToolApprovalRequested):
            self._open[event.call_id] = asyncio.ensure_future(self._ask(event))
        elif isinstance(event, QuestionAsked):
            self._open[event.question_id] = asyncio.ensure_future(self._put(event))
        elif isinstance(event, ToolApprovalResolved | QuestionAnswered):
            name = event.call_id if isinstance(event, ToolApprovalResolved) else event.question_id
            task = self._open.pop(name, None)
            if task is not None:
                task.cancel()

    def close(self) -> None:
        """Wait for nothing more."""
        while self._open:
            self._open.popitem()[1].cancel()

    # -- permissions --------------------------------------------------------------------------------------

    async def _ask(self, event: ToolApprovalRequested) -> None:
        approve = Approve(event.call_id, event.digest, False, reason="the client gave no answer")
        try:
            text = await self._peer.ask("session/request_permission", self._request(event))
            outcome = msgspec.json.decode(text, type=PermissionAnswer).outcome
            if outcome.outcome == "cancelled":
                await self._cancel()
                return
            always = outcome.option_id == "always" and bool(event.session_rule)
            yes = always or outcome.option_id == "once"
            why = "" if yes or outcome.option_id == "no" else "the client chose what was not offered"
            approve = Approve(event.call_id, event.digest, yes, "session" if always else "once", why)
        except _NO_ANSWER:
            pass
        with suppress(CommandRefused):  # settled meanwhile
            await self._host.send(approve)

    def _request(self, event: ToolApprovalRequested) -> PermissionRequest:
        options = [PermissionChoice(option_id="once", name=safe("Allow once"), kind="allow_once")]
        if event.session_rule:
            rule = safe(f"Allow {named(event.session_rule)} for this session")
            options.append(PermissionChoice(option_id="always", name=rule, kind="allow_always"))
        options.append(PermissionChoice(option_id="no", name=safe("Reject"), kind="reject_once"))
        call = CallFields(
            tool_call_id=self._name_of(event.call_id),
            title=named(event.summary),
            kind=kind_of(event.name),
            status="pending",
            content=(
                *(diffs(event.preview, self._cwd) or (fenced(shown(event.preview)),)),
                InCall(content=ShownText(text=named(event.reason))),
            ),
        )
        return PermissionRequest(session_id=self._session_id, tool_call=call, options=tuple(options))

    # -- questions ----------------------------------------------------------------------------------------

    async def _put(self, event: QuestionAsked) -> None:
        """Put a question as a form of one field; who declines is told to the model, or stops the run."""
        field: dict[str, Any] = {"type": "string", "title": "Answer"}
        options = {named(option): option for option in event.options}
        if options:
            field["enum"] = list(options)
        form = {
            "sessionId": self._session_id,
            "mode": "form",
            "message": shown(event.text),
            "requestedSchema": {"type": "object", "properties": {"answer": field}, "required": ["answer"]},
        }
        said: Any = None
        try:
            text = await self._peer.ask("elicitation/create", form)
            answer = msgspec.json.decode(text, type=ElicitationAnswer)
            if answer.action == "cancel":
                await self._cancel()
                return
            said = (answer.content or {}).get("answer") if answer.action == "accept" else None
        except _NO_ANSWER:
            pass
        if isinstance(said, str):
            said = options.get(named(said), said)
        if event.about == "model":
            said = said if isinstance(said, str) else DECLINED
        elif event.options and said not in event.options:
            said = event.options[-1]  # the one that goes no further
        elif not isinstance(said, str):
            said = ""
        with suppress(CommandRefused):  # settled meanwhile
            await self._host.send(Answer(event.question_id, said))
