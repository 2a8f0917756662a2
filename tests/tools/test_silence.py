"""A command that says nothing for too long is ended where a setting asks for it, and only there."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from tools.conftest import Bench

from wisp.workspace.silence import SilenceLimit
from wisp.workspace.stop import StopToken


def test_a_silent_command_is_a_timeout_that_names_the_limit_and_keeps_what_it_said(tmp_path: Path) -> None:
    """Long before its own timeout."""
    (tmp_path / "w").mkdir()
    bench = Bench(tmp_path / "w", tmp_path / "spool", silence_limit=1.0)
    began = time.monotonic()

    outcome = bench.call("bash", command="echo begun; sleep 30")

    assert time.monotonic() - began < 10
    assert (outcome.code, outcome.is_error) == ("timeout", True)
    assert outcome.text.startswith("begun\n")
    assert "no output for 1 seconds (silence_limit)" in outcome.text
    bench.workspace.close()


def test_a_command_that_speaks_now_and_then_runs_to_its_end(tmp_path: Path) -> None:
    """Every piece of output begins the wait anew; errors count as output."""
    (tmp_path / "w").mkdir()
    bench = Bench(tmp_path / "w", tmp_path / "spool", silence_limit=1.5)

    outcome = bench.call("bash", command="for n in 1 2 3 4 5; do sleep 0.5; echo $n >&2; done")

    assert (outcome.is_error, outcome.text) == (False, "1\n2\n3\n4\n5\nexit code: 0")
    bench.workspace.close()


def test_without_the_setting_silence_is_no_reason_and_a_cancel_is_a_cancel(bench: Bench) -> None:
    """The default."""
    assert bench.call("bash", command="sleep 1.5; echo end").text == "end\nexit code: 0"
    stop = StopToken()
    threading.Timer(0.3, stop.stop).start()
    assert bench.run(bench.prepare("bash", command="sleep 30"), stop).code == "cancelled"


def test_the_limit_is_counted_from_the_last_word() -> None:
    """By the given clock: 9 of 10 seconds are fine, twice; then 10 are too many, once and for all."""
    time_now = [0.0]
    limit = SilenceLimit(StopToken(), 10.0, lambda: time_now[0])
    for now in (9.0, 18.0):
        time_now[0] = now
        assert not limit.stopped
        limit.heard()
    time_now[0] = 28.0
    assert limit.stopped and limit.exceeded
    limit.heard()
    assert limit.stopped
