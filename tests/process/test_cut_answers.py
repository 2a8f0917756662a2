"""An answer that ended at the model's output limit is told in every form: it is shown, and said not to be whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from process.program import Program
from process.server import ServerThread

pytestmark = pytest.mark.process

CUT = "the answer reached the model's output limit and is not whole"


@pytest.mark.parametrize(("stop", "cut"), [("length", True), ("stop", False)])
@pytest.mark.parametrize("form", ["text", "json", "stream-json", "chat"])
def test_an_answer_that_is_not_whole_is_shown_and_said_not_to_be(
    tmp_path: Path, form: str, stop: str, cut: bool
) -> None:
    with ServerThread([{"text": "half of it", "stop": stop}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        if form == "chat":
            done = program.run("chat", "--plain", stdin="go\n")
            assert (CUT in done.stdout) is cut
        else:
            done = program.run("-p", "go", "--output-format", form)
    assert done.returncode == 0
    assert "half of it" in done.stdout
    if form == "text":
        assert (CUT in done.stderr) is cut
    elif form != "chat":
        result = json.loads(done.stdout.splitlines()[-1])
        assert (result["subtype"], result["finish_reason"]) == ("success", stop)
        assert result["error"] == (CUT if cut else None)
