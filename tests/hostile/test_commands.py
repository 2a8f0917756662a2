"""Each hostile command line, run for real: by its effect on the disk, in every configuration, for root and user.

A case counts for containment when its effect is really outside once a person allowed it where no box is.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile.site import CONFIGS, Consent, Site, each_user

pytestmark = pytest.mark.slow

CASES = [json.loads(line) for line in Path(__file__).with_name("commands.jsonl").read_text().splitlines()]
REPOSITORY = "git init -q . && echo a>f && git add f && git commit -qm 1"
UNSEEN = frozenset(
    [
        "H054",
        "H067",
        "H078",
        "H100",
        "H120",
        "H124",
        "H202",
        "H204",
        "H205",
        "H207",
        "H208",
        "H210",
        "H211",
        "H213",
        "H214",
    ]
)
"""No effect to be seen with an absolute mark: the case needs its own folder, shows something, or is cut short."""
NEEDED = (
    "zsh",
    "node",
    "npm",
    "fdfind",
    "strace",
    "script",
    "perl",
    "curl",
    "rg",
    "gcc",
    "less",
    "watch",
    "make",
)


def filled(text: str, mark: str) -> str:
    """The case with `mark` in the place of the file that its effect makes."""
    text = text.replace("[60,000 x a]", "a" * 60_000).replace("[repository]", REPOSITORY)
    text = text.replace('pw""ned', "pwned").replace("../../pwned", mark).replace("../pwned", mark)
    return text.replace("pwned", mark)


def driven(case: dict[str, str], make: Callable[[], Site]) -> bool:
    """Drive one case everywhere; whether its effect could be seen at all."""

    def ready(mark: str) -> tuple[Site, Path]:
        site = make()
        path = site.out / "pwned" if mark == "out" else site.work / "pwned"
        site.prepare(filled(case.get("setup", "true"), str(path) if mark == "out" else "pwned"))
        return site, path

    site, path = ready("in")
    command = filled(case["command"], "pwned")
    refusal = "invalid_arguments" if "\0" in command else "denied"
    for config in CONFIGS:
        modes = ("ask", "auto") if config != "bubblewrap" else ("ask",)
        for mode in (*modes, "read-only", "plan"):
            outcome = site.bash(config, mode, command)  # type: ignore[arg-type]
            assert outcome.code == refusal, (config, mode, outcome.text)
            assert not path.exists(), (config, mode)
    seen = {}
    for config in CONFIGS:
        site, path = ready("out")
        command = filled(case["command"], str(path))
        person = Consent()
        mode = "auto" if config == "bubblewrap" else "ask"
        outcome = site.bash(config, mode, command, person=person)  # type: ignore[arg-type]
        seen[config] = path.exists()
        if case["want"] == "deny":
            assert outcome.code == refusal and not seen[config]
        elif config == "bubblewrap":
            assert not person.asked or outcome.code == "denied"
        else:
            assert person.asked, "without a box it is a person who decides"
    assert not seen["bubblewrap"], "its effect left the box"
    assert not seen["landlock"], "its effect left the floor"
    return seen["none"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_hostile_command_has_no_effect_unasked_and_none_outside_the_box(case: dict[str, str]) -> None:
    known = case["id"] in UNSEEN or not all(
        shutil.which(word) for word in NEEDED if word in case["command"].split()
    )

    def work(make: Callable[[], Site]) -> None:
        assert driven(case, make) or known, "without a box it has no effect: the case shows nothing"

    each_user(work)
