"""What a person approved is what runs, once, and nothing that a model or a project says makes it more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hostile.site import CONFIGS, Config, Consent, Site, each_user

from wisp.harness.ports import ApprovalAnswer


class Once(Consent):
    """Says yes with a scope, and may do something before the answer arrives."""

    def __init__(self, scope: str = "once", meanwhile: Callable[[], object] = lambda: None) -> None:
        super().__init__()
        self._scope, self._meanwhile = scope, meanwhile

    async def ask(self, request: Any) -> ApprovalAnswer:
        self.asked.append(request)
        self._meanwhile()
        await asyncio.sleep(0)
        return ApprovalAnswer(request.digest, True, self._scope)  # type: ignore[arg-type]


@pytest.mark.parametrize("config", CONFIGS)
def test_a_script_that_changed_since_its_command_was_allowed_for_the_session_is_asked_about(
    config: Config,
) -> None:
    cases = {
        "npm test": ("package.json", '{{"scripts": {{"test": "echo {}"}}}}'),
        "make": ("Makefile", "all:\n\techo {}\n"),
        "./run.sh": ("run.sh", "#!/bin/sh\necho {}\n"),
    }

    def work(make: Callable[[], Site]) -> None:
        for command, (name, text) in cases.items():
            site = make()
            file = site.work / name
            file.write_text(text.format("one"))
            file.chmod(0o755)
            person = Once("session")
            call = ("bash", {"command": command})
            swap = ("bash", {"command": f"sed -i s/one/two/ {name}"})
            found = site.call(config, "ask", call, call, swap, call, call, person=person)
            assert [one.text.count("echo two") or one.text.count("two\n") for one in found][:2] == [0, 0]
            asked = [request.summary for request in person.asked]
            assert asked == [f"$ {command}", f"$ {swap[1]['command']}", f"$ {command}"], asked
            assert name in person.asked[2].reason, "and it is said which file changed"

    each_user(work)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("runner run t.py", "t.py"),
        ("runner run -m pack.mod", "pack/mod.py"),
        ("runner run -m pack", "pack/__main__.py"),
        ("runner --config=x.cfg build", "x.cfg"),
        ("runner --config=./x.cfg build", "x.cfg"),
    ],
)
def test_a_script_is_known_by_lying_there_whatever_program_runs_it(command: str, name: str) -> None:
    def work(make: Callable[[], Site]) -> None:
        site = make()
        file = site.work / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("one\n")
        person = Once("session")
        call, swap = ("bash", {"command": command}), ("bash", {"command": f"sed -i s/one/two/ {name}"})
        site.call(CONFIGS[-1], "ask", call, call, swap, call, person=person)
        assert [request.summary for request in person.asked] == [
            f"$ {command}",
            f"$ {swap[1]['command']}",
            f"$ {command}",
        ]
        assert name in person.asked[2].reason

    each_user(work)


@pytest.mark.parametrize("config", CONFIGS)
def test_a_file_that_changes_while_its_diff_is_shown_is_not_overwritten(config: Config) -> None:
    def work(make: Callable[[], Site]) -> None:
        site = make()
        file = site.work / "f"
        file.write_text("one\n")
        person = Once(meanwhile=lambda: file.write_text("theirs\none\n"))
        edit = {"path": "f", "edits": [{"old_text": "one", "new_text": "two"}]}
        found = site.call(config, "ask", ("read", {"path": "f"}), ("edit", edit), person=person)
        assert found[1].is_error and file.read_text() == "theirs\none\n"

    each_user(work)


@pytest.mark.parametrize("config", CONFIGS)
def test_shells_interpreters_and_wrappers_are_never_allowed_for_a_session(config: Config) -> None:
    def work(make: Callable[[], Site]) -> None:
        site = make()
        for command in (
            "bash -c ls", "sh -c 'touch a'", "env touch a", "python3 -c pass", "xargs touch", "sudo ls", "git -c a=b st",
            "echo a > f", "true && touch a", "/usr/bin/env touch a", "perl -e 1", "node -e 0", "time touch a", "X=1 make",
        ):  # fmt: skip
            person = Once("session")
            call = ("bash", {"command": command})
            site.call(config, "ask", call, call, person=person)
            rules = [request.session_rule for request in person.asked]
            assert len(rules) == 2, (command, rules)  # asked again: nothing was kept
        shown = Once()
        site.call(config, "ask", ("bash", {"command": "echo " + "a" * 60_000 + "; touch tail"}), person=shown)
        assert shown.asked[0].preview.endswith("; touch tail")

    each_user(work)


@pytest.mark.parametrize("config", CONFIGS)
def test_every_part_of_a_call_is_in_what_was_approved(config: Config) -> None:
    def work(make: Callable[[], Site]) -> None:
        site = make()
        digests = set()
        for arguments in (
            {"command": "touch a"}, {"command": "touch a", "timeout": 5}, {"command": "touch a", "background": True},
            {"command": "touch  a"}, {"command": "touch b"},
        ):  # fmt: skip
            person = Once()
            site.call(config, "ask", ("bash", arguments), person=person)
            digests.add(person.asked[0].digest)
        assert len(digests) == 5

    each_user(work)


def test_whether_it_is_boxed_is_in_what_was_approved() -> None:
    def work(make: Callable[[], Site]) -> None:
        site = make()
        digests = set()
        for config in CONFIGS:
            person = Once()
            site.call(config, "ask", ("bash", {"command": "touch a"}), person=person)
            digests.add(person.asked[0].digest)
        assert len(digests) == 3

    each_user(work)
