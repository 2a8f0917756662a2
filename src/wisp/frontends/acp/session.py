"""One session of a client: its conversation, the prompt in progress, and what waits for the person."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress

import msgspec

from wisp.frontends.acp.calls import diffs, fenced, kind_of
from wisp.frontends.acp.rpc import INTERNAL_ERROR, INVALID_REQUEST, Gone, Peer, RpcError
from wisp.frontends.acp.types import (
    CallFields,
    PermissionAnswer,
    PermissionChoice,
    PermissionRequest,
    PromptResult,
    Shown,
    StopReason,
    TextContent,
    UsedTokens,
)
from wisp.frontends.acp.updates import Teller
from wisp.host.client import CommandRefused, ConversationClient
from wisp.host.commands import Approve, Cancel, Prompt, ShowContext
from wisp.host.events import (
    AgentCompleted,
    AgentStarted,
    ContextEstimated,
    Event,
    ToolApprovalRequested,
    ToolApprovalResolved,
    TurnCompleted,
)
from wisp.host.view import View, reduce
from wisp.messages.usage import Usage

AUTH_REQUIRED = -32000


class Session:
    """A conversation and its client.

    Args:
        session_id: as the client knows it.
        conversation: closed with the session.
        peer: where the client is.
    """

    def __init__(self, session_id: str, conversation: ConversationClient, peer: Peer) -> None:
        self.id = session_id
        self.conversation = conversation
        self.cwd = conversation.snapshot().cwd
        self.teller = Teller(peer, session_id, self.cwd)
        self._peer = peer
        self._view = View()
        self._done: asyncio.Future[AgentCompleted | None] | None = None
        self._last: AgentCompleted | None = None
        self._finish = ""
        self._cancelled = False
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._watching = asyncio.ensure_future(self._watch())

    @property
    def busy(self) -> bool:
        """Whether a prompt is being answered."""
        return self._done is not None

    # -- a prompt -----------------------------------------------------------------------------------------

    async def prompt(self, prompt: Prompt) -> PromptResult:
        """Answer a prompt, or do the command it is.

        Raises:
            RpcError: another one is being answered, or the run failed.
        """
        if self._done is not None:
            raise RpcError(INVALID_REQUEST, "a prompt of this session is being answered; cancel it first")
        self._done = asyncio.get_running_loop().create_future()
        self._cancelled = False
        try:
            started = await self._start(prompt)
            last = await self._ended() if started else None
        finally:
            self._done = self._last = None
        return self._result(last, started=started)

    async def _start(self, prompt: Prompt) -> bool:
        """Whether a run began."""
        try:
            await self.conversation.send(prompt)
        except CommandRefused as exc:
            raise RpcError(INVALID_REQUEST, str(exc)) from None
        return True

    async def _ended(self) -> AgentCompleted | None:
        """How the run ended; a request that is cancelled cancels the run and waits for its end."""
        assert self._done is not None
        if self._cancelled:
            await self._stop()
        try:
            return await asyncio.shield(self._done)
        except asyncio.CancelledError:
            await self.cancel()
            await self._done
            raise

    def _result(self, last: AgentCompleted | None, *, started: bool) -> PromptResult:
        used = _used(self._view.run.usage) if started else None
        if self._cancelled or (last is None and started):
            return PromptResult(stop_reason="cancelled", usage=used)
        if last is None:
            return PromptResult(stop_reason="end_turn")
        if last.stop_reason in ("provider_failure", "error"):
            code = AUTH_REQUIRED if last.failure_kind == "auth" else INTERNAL_ERROR
            raise RpcError(code, last.error or last.stop_reason, {"kind": last.failure_kind})
        return PromptResult(stop_reason=_stop_reason(last, self._finish), usage=used)

    async def cancel(self) -> None:
        """Stop the prompt in progress; nothing where there is none."""
        if self._done is not None:
            self._cancelled = True
            await self._stop()

    async def _stop(self) -> None:
        with suppress(CommandRefused):
            await self.conversation.send(Cancel())

    async def close(self) -> None:
        """Stop what runs and let the conversation go."""
        if self._done is not None:
            self._cancelled = True
        await self.conversation.close()
        await asyncio.wait([self._watching])

    # -- what happens -------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        async with aclosing(self.conversation.events()) as events:
            async for envelope in events:
                reduce(self._view, envelope)
                event = envelope.event
                self.teller.event(event)
                self._approvals(event)
                if isinstance(event, AgentStarted):
                    self._finish = ""
                elif isinstance(event, TurnCompleted):
                    self._finish = event.finish_reason
                elif isinstance(event, AgentCompleted):
                    await self._over(event)
                elif isinstance(event, ContextEstimated) and self._last is not None:
                    self._settle()
        self._settle()

    async def _over(self, last: AgentCompleted) -> None:
        """The run is over; the prompt is answered when the client knows what the context holds now."""
        self._last = last
        if last.stop_reason == "budget":
            self.teller.say(f"\n[stopped: {last.error or last.failure_kind}]")
        try:
            await self.conversation.send(ShowContext())
        except CommandRefused:
            self._settle()

    def _settle(self) -> None:
        for task in self._asking.values():
            task.cancel()
        if self._done is not None and not self._done.done():
            self._done.set_result(self._last)

    # -- permissions --------------------------------------------------------------------------------------

    def _approvals(self, event: Event) -> None:
        if isinstance(event, ToolApprovalRequested):
            self._asking[event.call_id] = asyncio.ensure_future(self._ask(event))
        elif isinstance(event, ToolApprovalResolved):
            task = self._asking.pop(event.call_id, None)
            if task is not None:
                task.cancel()

    async def _ask(self, event: ToolApprovalRequested) -> None:
        """Have the person decide; whatever is no clear yes is a no."""
        approve = Approve(event.call_id, event.digest, False, reason="the client gave no answer")
        try:
            text = await self._peer.ask("session/request_permission", self._question(event))
            outcome = msgspec.json.decode(text, type=PermissionAnswer).outcome
            if outcome.outcome == "cancelled":
                await self.cancel()
                return
            always = outcome.option_id == "always" and bool(event.session_rule)
            yes = always or outcome.option_id == "once"
            approve = Approve(event.call_id, event.digest, yes, "session" if always else "once")
        except (RpcError, msgspec.MsgspecError, Gone, RecursionError):
            pass
        with suppress(CommandRefused):  # settled meanwhile
            await self.conversation.send(approve)

    def _question(self, event: ToolApprovalRequested) -> PermissionRequest:
        options = [PermissionChoice(option_id="once", name="Allow once", kind="allow_once")]
        if event.session_rule:
            rule = f"Allow {event.session_rule} for this session"
            options.append(PermissionChoice(option_id="always", name=rule, kind="allow_always"))
        options.append(PermissionChoice(option_id="no", name="Reject", kind="reject_once"))
        call = CallFields(
            tool_call_id=event.call_id,
            title=event.summary,
            kind=kind_of(event.name),
            status="pending",
            content=(
                *(diffs(event.preview, self.cwd) or (fenced(event.preview),)),
                Shown(content=TextContent(text=event.reason)),
            ),
        )
        return PermissionRequest(session_id=self.id, tool_call=call, options=tuple(options))


def _stop_reason(last: AgentCompleted, finish: str) -> StopReason:
    if last.stop_reason == "cancelled":
        return "cancelled"
    if last.stop_reason == "refused" or finish in ("refusal", "content_filter"):
        return "refusal"
    if last.stop_reason == "budget":
        return "max_tokens" if last.failure_kind == "tokens" else "max_turn_requests"
    if last.stop_reason == "turn_limit":
        return "max_turn_requests"
    return "max_tokens" if finish == "length" else "end_turn"


def _used(usage: Usage) -> UsedTokens | None:
    """The run's tokens; None where they are not known."""
    prompt, answer = usage.prompt_tokens, usage.output_tokens
    if prompt is None or answer is None:
        return None
    return UsedTokens(
        total_tokens=prompt + answer,
        input_tokens=usage.input_tokens or 0,
        output_tokens=answer,
        thought_tokens=usage.reasoning_tokens,
        cached_read_tokens=usage.cache_read_tokens,
        cached_write_tokens=usage.cache_write_tokens,
    )
