"""One call may edit several files: all of them, or none."""

from __future__ import annotations

import os

from tools.conftest import Bench

from wisp.workspace.stop import StopToken


def _change(path: str, old: str, new: str) -> dict[str, str]:
    return {"path": path, "old_text": old, "new_text": new}


def _files(bench: Bench) -> dict[str, bytes]:
    return {str(p.relative_to(bench.folder)): p.read_bytes() for p in bench.folder.rglob("*") if p.is_file()}


def _start(bench: Bench) -> None:
    (bench.folder / "a.py").write_bytes(b"def old():\r\n    pass\r\n")
    (bench.folder / "sub").mkdir()
    (bench.folder / "sub" / "b.py").write_text("from a import old\nold()\n")


def test_a_name_is_changed_in_two_files_in_one_call_with_one_diff_and_every_effect_declared(
    bench: Bench,
) -> None:
    """An edit without a path of its own is of the call's file; spellings of one path are one file."""
    _start(bench)
    edits = [
        {"old_text": "old", "new_text": "new"},
        _change("sub/b.py", "import old", "import new"),
        _change("./sub/b.py", "old()", "new()"),
    ]
    prepared = bench.prepare("edit", path="a.py", edits=edits)
    assert [os.path.relpath(effect.target, bench.workspace.cwd) for effect in prepared.effects] == [
        "a.py",
        "sub/b.py",
    ]
    assert prepared.summary == "edit 2 files (+3 -3): a.py, sub/b.py"
    assert "-def old():" in prepared.preview and "+new()" in prepared.preview

    outcome = bench.run(prepared)

    assert not outcome.is_error, outcome.text
    assert _files(bench) == {
        "a.py": b"def new():\r\n    pass\r\n",
        "sub/b.py": b"from a import new\nnew()\n",
    }
    assert bench.edit("sub/b.py", "new()", "new(1)").is_error is False, "its own change is no stranger's"


def test_one_edit_that_cannot_be_made_leaves_all_files_alone(bench: Bench) -> None:
    """At preparation: not found, not there, outside; at the run: changed meanwhile, cancelled."""
    _start(bench)
    before = _files(bench)
    good = _change("a.py", "old", "new")
    for bad, code in (
        (_change("sub/b.py", "missing", "x"), "not_found"),
        (_change("sub/none.py", "x", "y"), "not_found"),
        (_change("../x", "x", "y"), "outside"),
        (_change("sub/b.py", "old", "x"), "not_unique"),
    ):
        assert bench.call("edit", path="a.py", edits=[good, bad]).code == code
    prepared = bench.prepare("edit", path="a.py", edits=[good, _change("sub/b.py", "old()", "new()")])
    stop = StopToken()
    stop.stop("the person said stop")
    assert bench.run(prepared, stop).code == "cancelled"
    assert _files(bench) == before

    (bench.folder / "sub" / "b.py").write_text("theirs\n")
    assert bench.run(prepared).code == "stale_input"
    assert _files(bench) == before | {"sub/b.py": b"theirs\n"}
