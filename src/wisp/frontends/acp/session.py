"""One session of a client: its conversation, the prompt in progress, and what a person sets."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress

from wisp.frontends.acp.asking import Asking
from wisp.frontends.acp.calls import in_fence
from wisp.frontends.acp.options import (
    ELSEWHERE,
    NO_EFFORT,
    available,
    built_in,
    config_options,
    modes,
)
from wisp.frontends.acp.store import Stored, row_of
from wisp.frontends.acp.types import (
    CommandsUpdate,
    ConfigOption,
    InfoUpdate,
    Modes,
    ModeUpdate,
    OptionsUpdate,
    PromptResult,
    StopReason,
    UsedTokens,
)
from wisp.frontends.acp.updates import Teller
from wisp.frontends.wire.peer import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, Peer, RpcError
from wisp.host.client import CommandRefused, ConversationClient
from wisp.host.commands import Cancel, Configure, Prompt, ShowContext
from wisp.host.events import AgentCompleted, AgentStarted, ContextEstimated, TurnCompleted
from wisp.host.showing import safe
from wisp.host.slash import SlashCommand
from wisp.host.view import View, reduce
from wisp.messages.usage import Usage

AUTH_REQUIRED = -32000


class Session:
    """A conversation and its client.

    Args:
        conversation: closed with the session.
        peer: where the client is.
        stored: what is known of models and stored sessions.
    """

    def __init__(self, conversation: ConversationClient, peer: Peer, stored: Stored) -> None:
        snapshot = conversation.snapshot()
        self.id = snapshot.session_id
        self.cwd = snapshot.cwd
        self.conversation = conversation
        self.peer = peer
        self.teller = Teller(peer, self.id, self.cwd)
        self._stored = stored
        self._asking = Asking(conversation, peer, self.id, cancel=self.cancel, name_of=self.teller.name_of)
        self._view = View()
        self._done: asyncio.Future[AgentCompleted | None] | None = None
        self._last: AgentCompleted | None = None
        self._finish = ""
        self._cancelled = False
        self._changing = asyncio.Lock()
        """Held while the conversation behind it may be exchanged."""
        self._notes: list[str] = list(snapshot.notes)
        self._told_mode = snapshot.permission_mode
        self._told_options: tuple[ConfigOption, ...] = ()
        self._told_commands: tuple[SlashCommand, ...] = ()
        self._titled = False
        self._watching = asyncio.ensure_future(self._watch())

    @property
    def busy(self) -> bool:
        """Whether a prompt is being answered."""
        return self._done is not None

    # -- what a client is told without asking ---------------------------------------------------------------

    def introduce(self) -> None:
        """Tell what a client should know of a session that it has just opened."""
        self._tell_commands()
        for note in self._notes:
            self.teller.note(note)
        self._notes = []

    def _tell_commands(self) -> None:
        commands = tuple(self.conversation.commands())
        if commands != self._told_commands:
            self._told_commands = commands
            self.teller.send(CommandsUpdate(available_commands=available(commands)))

    async def _tell_changes(self) -> None:
        """Tell what is otherwise than the client was told last."""
        mode, told = self.conversation.snapshot().permission_mode, self._told_options
        if mode != self._told_mode:
            self._told_mode = mode
            self.teller.send(ModeUpdate(current_mode_id=mode))
        options = await self.config_options()
        if options != told:
            self.teller.send(OptionsUpdate(config_options=options))
        self._tell_commands()

    async def _tell_title(self) -> None:
        """Tell under which title the session is kept, once it has one."""
        info = await self._stored.find(self.id)
        if info is not None:
            row = row_of(info)
            self._titled = row.title is not None
            self.teller.send(InfoUpdate(title=row.title, updated_at=row.updated_at))

    # -- what a person sets -------------------------------------------------------------------------------

    def modes(self) -> Modes:
        """The permission modes."""
        return modes(self.conversation.snapshot())

    async def config_options(self) -> tuple[ConfigOption, ...]:
        """What can be set, and to what; counts as told."""
        models = await self._stored.models(self.cwd)
        self._told_options = config_options(self.conversation.snapshot(), models)
        return self._told_options

    async def set_mode(self, mode: str) -> None:
        """Change how calls are judged; between runs, plan mode also changes what the model is told."""
        async with self._changing:
            planning = self.conversation.snapshot().permission_mode == "plan"
            if not self.busy and (mode == "plan") != planning:
                with suppress(CommandRefused):  # it is not kept: the rules change all the same
                    await self.conversation.slash("/plan" if mode == "plan" else "/plan off")
            try:
                await self.conversation.send(Configure(permission_mode=mode))
            except CommandRefused as exc:
                raise RpcError(INVALID_PARAMS, str(exc)) from None
            await self._tell_changes()

    async def set_option(self, name: str, value: str) -> None:
        """Set one of `config_options`.

        Raises:
            RpcError: there is no such option or value, or it cannot be set now.
        """
        option = next((one for one in await self.config_options() if one.id == name), None)
        if option is None:
            raise RpcError(INVALID_PARAMS, f"there is no option {name[:100]!r}")
        if value not in {one.value for one in option.options}:
            raise RpcError(INVALID_PARAMS, f"{value[:100]!r} is no value of {name}")
        if name == "mode":
            await self.set_mode(value)
            return
        change = Configure(model=value) if name == "model" else Configure(effort=value)
        if change.effort == NO_EFFORT:
            change = Configure(effort="")
        async with self._changing:
            if self.busy:
                raise RpcError(INVALID_REQUEST, f"{name} cannot be set while a prompt is being answered")
            try:
                await self.conversation.send(change)
            except CommandRefused as exc:
                raise RpcError(INVALID_REQUEST, str(exc)) from None
            await self._tell_changes()

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
        work = asyncio.ensure_future(self._answer(prompt))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:  # never in the middle: a conversation that is exchanged must arrive
            await self.cancel()
            await asyncio.gather(work, return_exceptions=True)
            raise

    async def _answer(self, prompt: Prompt) -> PromptResult:
        try:
            async with self._changing:
                started = await self._start(prompt)
            last = await self._ended() if started else None
            if started and not self._titled:
                await self._tell_title()
        finally:
            self._done = self._last = None
        return self._result(last, started=started)

    async def _start(self, prompt: Prompt) -> bool:
        """Whether a run began."""
        line = prompt.text.strip()
        command = built_in(line, self.conversation.commands())
        if command is not None and command.name in ELSEWHERE:
            self.teller.say(f"/{command.name} is not for here: {ELSEWHERE[command.name]}.")
            return False
        if command is None:
            try:
                await self.conversation.send(prompt)
            except CommandRefused as exc:
                raise RpcError(INVALID_REQUEST, str(exc)) from None
            return True
        try:
            reply = await self.conversation.slash(line)
        except CommandRefused as exc:
            self.teller.say(str(exc))
            return False
        if reply.text:
            self.teller.say(in_fence(safe(reply.text)))
        await self._tell_changes()
        if command.name == "name":
            await self._tell_title()
        return reply.started

    async def _ended(self) -> AgentCompleted | None:
        """How the run ended; one that was cancelled before it began ends at once."""
        assert self._done is not None
        if self._cancelled:
            await self._stop()
        return await self._done

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
        await self.cancel()
        async with self._changing:
            await self.conversation.close()
        await asyncio.wait([self._watching])

    # -- what happens -------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        async with aclosing(self.conversation.events()) as events:
            async for envelope in events:
                reduce(self._view, envelope)
                event = envelope.event
                self.teller.event(event)
                self._asking.watch(event)
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
        self.teller.spent(self._view.run.cost_usd)
        if last.stop_reason == "budget":
            self.teller.say(f"\n[stopped: {last.error or last.failure_kind}]")
        try:
            await self.conversation.send(ShowContext())
        except CommandRefused:
            self._settle()

    def _settle(self) -> None:
        self._asking.close()
        if self._done is not None and not self._done.done():
            self._done.set_result(self._last)


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
