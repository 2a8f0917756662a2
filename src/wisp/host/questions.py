"""Questions that wait for a person's words, answered through a command."""

from __future__ import annotations

import asyncio

from wisp.harness.events import QuestionAsked
from wisp.host.client import CommandRefused
from wisp.host.commands import Answer


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
        if question.about != "model" and command.text not in question.options:
            raise CommandRefused(f"answer with one of: {', '.join(question.options)}")
        future.set_result(command.text)
