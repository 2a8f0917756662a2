"""What is about to happen, as records.  Pure."""

from __future__ import annotations

from wisp.loop.ports import CallIntent, RequestIntent
from wisp.session.records import CallIntentRecord, FrameRecord


def framed(intent: RequestIntent) -> FrameRecord:
    """All of a request but its history, from which `session.replay` makes the request again."""
    asked = intent.request
    return FrameRecord(
        intent.provider,
        intent.api,
        asked.model,
        asked.system,
        asked.tools,
        asked.max_output,
        asked.effort,
        asked.session_id,
        asked.output_schema,
    )


def called(intent: CallIntent) -> CallIntentRecord:
    """A call that is about to run."""
    return CallIntentRecord(
        intent.turn, intent.call, intent.result_id, intent.replay, intent.effectful, intent.effects
    )
