"""What the process's exit code and the result object say of a run: one table for both."""

from __future__ import annotations

import msgspec

from wisp.host.view import RunView

OK = 0
FAILED = 1
USAGE = 2
CONFIGURATION = 3
PROVIDER = 4
BUDGET = 5
REFUSED = 6
TIMEOUT = 124
INTERRUPTED = 130
TERMINATED = 143
BROKEN_PIPE = 141


class Verdict(msgspec.Struct, frozen=True):
    """How a run is reported."""

    subtype: str
    exit_code: int
    stop_reason: str

    @property
    def is_error(self) -> bool:
        """Everything but a normal end."""
        return self.exit_code != OK


_BUDGETS = {"cost": "error_max_cost", "tokens": "error_max_tokens"}


def verdict(run: RunView, *, headless: bool, signal_code: int = INTERRUPTED) -> Verdict:
    """Judge a finished run.  `signal_code` is the code of whatever cancelled it."""
    reason = run.stop_reason or "error"
    if reason == "model_finished":
        if headless and run.denials and not run.effects:
            return Verdict("refused", REFUSED, "refused")
        if run.answer_problem:
            return Verdict("error_schema", FAILED, reason)
        return Verdict("success", OK, reason)
    if reason == "turn_limit":
        return Verdict("error_max_turns", BUDGET, reason)
    if reason == "budget":
        if run.failure_kind == "time":
            return Verdict("error_max_time", TIMEOUT, reason)
        return Verdict(_BUDGETS.get(run.failure_kind, "error_max_tokens"), BUDGET, reason)
    if reason == "cancelled":
        if run.error == "max_time":
            return Verdict("error_max_time", TIMEOUT, "budget")
        return Verdict("cancelled", signal_code, reason)
    if reason == "provider_failure":
        if run.failure_kind == "auth":
            return Verdict("error_configuration", CONFIGURATION, reason)
        return Verdict("error_provider", PROVIDER, reason)
    if reason == "refused":
        return Verdict("refused", FAILED, reason)
    return Verdict("error_during_execution", FAILED, "error")
