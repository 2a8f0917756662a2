"""A command takes no more memory than a setting allows; without the setting it is not limited."""

from __future__ import annotations

from pathlib import Path

from tools.conftest import Bench

HOG = "/usr/bin/python3 -c 'x = bytearray(600 << 20); print(len(x))'"


def test_a_process_that_wants_more_fails_and_cannot_raise_the_limit(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    bench = Bench(tmp_path / "w", tmp_path / "spool", memory_limit=400)
    for command in (HOG, f"ulimit -v unlimited; {HOG}", f"bash -c {HOG!r}"):
        outcome = bench.call("bash", command=command)
        assert outcome.code == "exit_status" and str(600 << 20) not in outcome.text, outcome.text
    assert bench.call("bash", command="echo $0 $#; exit 3").text == "/bin/bash 0\nexit code: 3"
    bench.workspace.close()


def test_without_the_setting_there_is_none(bench: Bench) -> None:
    assert str(600 << 20) in bench.call("bash", command=HOG).text
