"""Each hostile command line, run for real: by its effect on the disk, in every configuration, for root and user.

A case counts for containment when its effect is really outside once a person allowed it where no box is.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile.site import CONFIGS, Consent, Site, each_user

pytestmark = pytest.mark.slow

CASES = [json.loads(line) for line in Path(__file__).with_name("commands.jsonl").read_text().splitlines()]
REPOSITORY = "git init -q . && echo a>f && git add f && git commit -qm 1"
NONE = frozenset({"H202", "H207", "H208", "H210"})
"""No effect anywhere, also in plain bash: what misleads is what a person reads.  They are refused."""
SHOWN = frozenset({"H213", "H214"})
"""The effect is what is printed: the content of a file that no argument names as one to be read."""
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
    return re.sub(r'pw""ned|(?:\.\./){0,2}pwned', lambda _: mark, text)


def driven(case: dict[str, str], make: Callable[[], Site]) -> bool:
    """Drive one case everywhere; whether its effect could be seen at all."""

    def ready(mark: str) -> tuple[Site, Path]:
        site = make()
        path = site.out / "pwned" if mark == "out" else site.work / "pwned"
        site.prepare(filled(case.get("setup", "true"), str(path) if mark == "out" else "pwned"))
        return site, path

    if case["id"] in SHOWN:
        return printed(case, make)
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
    return seen["none"] or plainly(*ready("out"), case["command"])


def plainly(site: Site, path: Path, command: str) -> bool:
    """Whether bash alone gives the case its effect: what Wisp refuses, or its environment takes away."""
    if "\0" not in command:
        subprocess.run(
            ["/bin/bash", "-c", filled(command, str(path))],
            cwd=site.work,
            env=site.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    return path.exists()


def printed(case: dict[str, str], make: Callable[[], Site]) -> bool:
    """Drive a case whose effect is its output: nobody's answer shows it, a person's yes does."""
    for config in CONFIGS:
        site = make()
        site.prepare(case["setup"])
        for mode in ("read-only", "plan", "ask", *(() if config == "bubblewrap" else ("auto",))):
            outcome = site.bash(config, mode, case["command"])  # type: ignore[arg-type]
            assert outcome.code == "denied" and "pwned" not in outcome.text, (config, mode)
        person = Consent()
        assert "pwned" in site.bash(config, "ask", case["command"], person=person).text and person.asked
    return True


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_hostile_command_has_no_effect_unasked_and_none_outside_the_box(case: dict[str, str]) -> None:
    known = case["id"] in NONE or not all(
        shutil.which(word) for word in NEEDED if word in case["command"].split()
    )

    def work(make: Callable[[], Site]) -> None:
        assert driven(case, make) or known, "without a box it has no effect: the case shows nothing"

    each_user(work)
