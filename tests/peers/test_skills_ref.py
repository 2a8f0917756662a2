"""The reference library's own tests of its validator, each input also given to ours."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from peers.sdists import unpacked
from skills_ref.validator import validate as reference

from wisp.host.skills import validate as ours

pytestmark = pytest.mark.peer


def _their_tests() -> ModuleType:
    file = unpacked("skills-ref") / "tests" / "test_validator.py"
    spec = importlib.util.spec_from_file_location("their_tests", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_both_agree_on_every_input_of_the_reference_librarys_own_tests(tmp_path: Path) -> None:
    """Their tests run with a validator that asks both and hands them their own answer."""
    module = _their_tests()
    compared = []

    def both(folder: Path) -> list[str]:
        theirs: list[str] = reference(folder)
        assert bool(ours(str(folder))) == bool(theirs), (folder, theirs, ours(str(folder)))
        compared.append(folder)
        return theirs

    vars(module)["validate"] = both
    tests = [value for name, value in vars(module).items() if name.startswith("test_")]
    for number, test in enumerate(tests):
        folder = tmp_path / str(number)
        folder.mkdir()
        test(folder)

    assert len(compared) == len(tests) >= 19
