"""What waits for a person: whether a call may run, and questions in words.  Answered through commands."""

from __future__ import annotations

import asyncio

from wisp.harness.events import QuestionAsked, ToolApprovalRequested
from wisp.harness.ports import ApprovalAnswer
from wisp.host.client import CommandRefused
from wisp.host.commands import Answer, Approve
from wisp.messages.codec import NotAnObject, strict_object


class PendingApprovals:
    """Questions that wait for an answer through a command; the harness's `Approver`."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[ToolApprovalRequested, asyncio.Future[ApprovalAnswer]]] = {}

    async def ask(self, request: ToolApprovalRequested) -> ApprovalAnswer:
        """Wait for `answer` with this request's call id."""
        future: asyncio.Future[ApprovalAnswer] = asyncio.get_running_loop().create_future()
        self._waiting[request.call_id] = (request, future)
        try:
            return await future
        finally:
            del self._waiting[request.call_id]

    def answer(self, command: Approve) -> None:
        """Settle a question, once.

        Raises:
            CommandRefused: no question with that call id waits; or it goes on waiting, because the answer is
                to another operation, or has a scope, parts or arguments that this one cannot have.
        """
        request, future = self._waiting.get(command.call_id, (None, None))
        if request is None or future is None or future.done():
            raise CommandRefused(f"no approval of call {command.call_id!r} is waiting")
        if command.digest != request.digest:
            raise CommandRefused(f"that digest is not the one of what waits for call {command.call_id!r}")
        if command.approved and command.scope == "session" and not request.session_rule:
            raise CommandRefused("this can be allowed for this once only; nothing covers it for the session")
        if command.parts is not None and not (command.parts and {*command.parts} <= {*range(request.parts)}):
            raise CommandRefused(f"choose among the {request.parts} hunks that can be allowed alone, from 0")
        if command.arguments:
            try:
                strict_object(command.arguments)
            except NotAnObject as exc:
                raise CommandRefused(f"the arguments are no JSON object: {exc}") from None
        answer = ApprovalAnswer(
            command.digest, command.approved, command.scope, command.reason, command.parts, command.arguments
        )
        future.set_result(answer)


class PendingQuestions:
    """The harness's `Questioner` for front ends."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[QuestionAsked, asyncio.Future[str]]] = {}

    async def ask(self, question: QuestionAsked) -> str:
        """Wait for `answer` with this question's id."""
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting[question.question_id] = (question, future)
        try:
            return await future
        finally:
            del self._waiting[question.question_id]

    def answer(self, command: Answer) -> None:
        """Settle a question, once.

        Raises:
            CommandRefused: no such question waits, or the answer is none of its options.
        """
        question, future = self._waiting.get(command.question_id, (None, None))
        if question is None or future is None or future.done():
            raise CommandRefused(f"no question {command.question_id!r} is waiting")
        if question.options and question.about != "model" and command.text not in question.options:
            raise CommandRefused(f"answer with one of: {', '.join(question.options)}")
        future.set_result(command.text)
