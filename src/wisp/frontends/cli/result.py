"""The result object of a headless run: what `--output-format json` prints and `stream-json` ends with."""

from __future__ import annotations

from typing import Any

import msgspec

from wisp.frontends.cli.exitcodes import Verdict
from wisp.host.snapshot import Snapshot
from wisp.host.view import RunView


def result_object(
    snapshot: Snapshot | None, run: RunView, verdict: Verdict, model: str = ""
) -> dict[str, Any]:
    """The object of `docs/reference/result-object.md`; without a snapshot, of a run that never began."""
    usage = run.usage
    error = "the time of --max-time is used up" if verdict.subtype == "error_max_time" else run.error
    if verdict.subtype == "error_schema":
        error = f"the answer does not fit the schema: {run.answer_problem}"
    planning = snapshot is not None and snapshot.permission_mode == "plan"
    return {
        "type": "result",
        "subtype": verdict.subtype,
        "is_error": verdict.is_error,
        "result": run.answer,
        "structured": run.structured,
        "error": error or run.cut or None,
        "stop_reason": verdict.stop_reason,
        "finish_reason": run.finish_reason or None,
        "session_id": snapshot.session_id if snapshot else None,
        "num_turns": run.turns,
        "duration_ms": int(1000 * max(0.0, run.ended_at - run.started_at)),
        "provider_ms": int(1000 * run.provider_seconds),
        "usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_read_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
            "reasoning_tokens": usage.reasoning_tokens,
        },
        "total_cost_usd": run.cost_usd,
        "permission_denials": [msgspec.to_builtins(denial) for denial in run.denials],
        "model": snapshot.model if snapshot else model,
        "exit_code": verdict.exit_code,
        **({"plan_file": run.plan_file} if planning else {}),
    }
