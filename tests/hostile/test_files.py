"""Each hostile path, layout and edit through the real tools: nothing is read or written where it must not be.

The tools of files ask nothing of the sandbox; they are driven in all three configurations all the same.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hostile.site import CONFIGS, Config, Consent, Site, each_user

SECRET = "the canary sings"


def laid_out(site: Site) -> Site:
    """Files inside, a secret outside, and every kind of way between."""
    (site.out / "secret").write_text(SECRET)
    (site.top / "work-evil").mkdir()
    (site.top / "work-evil" / "secret").write_text(SECRET)
    work = site.work
    (work / "real.txt").write_text("inside\n")
    links = {
        "d": "../out",
        "in": "real.txt",
        "a": "b",
        "b": "a",
        "z": "/dev/zero",
        "m": "/proc/self/root",
        "up": "..",
        "leaf": "../out/secret",
        "far": str(site.out),
        "ghost": "../out/new-ghost",
    }
    for name, target in links.items():
        (work / name).symlink_to(target)
    os.mkfifo(work / "p")
    (work / "shut").mkdir()
    return site


OUTSIDE = [
    "../out/secret", "../work-evil/secret", "d/secret", "far/secret", "leaf", "up/out/secret", "./d/../d/secret",
    "{top}/work-evil/secret", "{top}/out/secret", "{top}/work/../out/secret", "{top}/work/d/secret",
    "m{top}/out/secret", "/proc/self/root{top}/out/secret", "/proc/self/cwd/../out/secret", "real.txt/../../out/secret",
]  # fmt: skip
NEITHER = [
    "p", "z", "a", "b", "/dev/fd/0", "/dev/fd/3", "/dev/stdin", "/proc/self/fd/3", "/proc/self/environ", "/proc/self/mem",
    "a\0.txt", "real.txt\0", "a/" * 3000, "x" * 5000, "shut", ".", "/", "\ud800",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS)
def test_nothing_outside_is_read_unasked(config: Config) -> None:
    def work(make: Callable[[], Site]) -> None:
        site = laid_out(make())
        for mode in ("ask", "auto", "read-only", "plan"):
            for path in (*OUTSIDE, *NEITHER):
                named = path.replace("{top}", str(site.top))
                for tool, more in (
                    ("read", {}),
                    ("grep", {"pattern": "canary"}),
                    ("ls", {}),
                    ("find", {"pattern": "*"}),
                ):
                    if tool != "read" and path in ("shut", ".", "p", "z"):
                        continue
                    outcome = site.call(config, mode, (tool, {"path": named, **more}))[0]  # type: ignore[arg-type]
                    assert SECRET not in outcome.text, (tool, named)
                    assert outcome.is_error or path in OUTSIDE, (tool, named, outcome.text)
        assert site.call(config, "read-only", ("read", {"path": "in"}))[0].text.startswith("inside")

    each_user(work)


@pytest.mark.parametrize("config", CONFIGS)
def test_nothing_outside_or_through_a_link_is_written_unasked_and_through_a_link_never(
    config: Config,
) -> None:
    def work(make: Callable[[], Site]) -> None:
        site = laid_out(make())
        before = _tree(site.top, besides=site.work)
        paths = ["../out/new", "d/new.txt", "far/new", "up/new", "{top}/out/new", "../work-evil/new", "leaf", "in", "a", "b/x",
                 "ghost", "m{top}/out/new", "p", "z", "a/x", "real.txt/x"]  # fmt: skip
        for mode in ("ask", "auto"):
            for path in paths:
                named = path.replace("{top}", str(site.top))
                for call in (
                    ("write", {"path": named, "content": "pwned"}),
                    ("edit", {"path": named, "edits": [{"old_text": "canary", "new_text": "pwned"}]}),
                ):
                    assert site.call(config, mode, call)[0].is_error, named  # type: ignore[arg-type]
        through = ["d/new.txt", "far/new", "leaf", "a", "b/x", "ghost", "p", "z"]
        for path in through:
            call = ("write", {"path": path, "content": "pwned"})
            site.call(config, "ask", call, person=Consent())
        assert _tree(site.top, besides=site.work) == before

    each_user(work)


def _tree(top: Path, besides: Path | None = None) -> dict[str, str]:
    found = {}
    for folder, inner, files in os.walk(top):
        inner[:] = [name for name in inner if Path(folder, name) != besides]
        for name in files:
            path = Path(folder, name)
            found[str(path.relative_to(top))] = path.read_bytes().hex() if path.is_file() else ""
    return found


RUN_LATER = [
    ".GIT/config", ".gi\u200ct/config", ".g\u200cit/config", ".git /config", ".git./config", ".git::$DATA/config", ".git ",
     ".git.", "GIT~1/config", ".Vscode/settings.json", ".vscode/settings.json", "sub/.VSCODE/tasks.json", ".ENVRC",
     "conftest.py", "sitecustomize.py", ".envrc", ".npmrc", "Makefile", ".pre-commit-config.yaml", ".mcp.json",
     ".wisp/settings.toml", "deep/.husky/pre-commit", ".config/wisp/settings.toml", "home/.Config/Wisp/commands/x.md",
     ".local/state/wisp/trust.json", ".config/git/config", ".config/fish/config.fish", ".config/systemd/user/x.service",
     ".agents/skills/x/SKILL.md", ".config/autostart/x.desktop", ".local/bin/ls", ".vimrc", ".config/nvim/init.lua", ".cargo/config.toml", ".tmux.conf",
]  # fmt: skip


@pytest.mark.parametrize("config", CONFIGS)
def test_names_that_run_later_are_a_persons_own_decision_in_any_spelling(config: Config) -> None:
    def work(make: Callable[[], Site]) -> None:
        site = make()
        calls = [("write", {"path": path, "content": "pwned"}) for path in RUN_LATER]
        for mode in ("ask", "auto"):
            found = site.call(config, mode, *calls)  # type: ignore[arg-type]
            assert [one.is_error for one in found] == [True] * len(calls)
        assert os.listdir(site.work) == []

    each_user(work)


PRIVATE = [
    ".config/wisp/settings.toml", ".local/state/wisp/mcp-logins.json", ".local/state/wisp/sessions/a.jsonl",
    ".config/gh/hosts.yml", ".docker/config.json", ".cargo/credentials.toml", ".bash_history", ".config/rclone/rclone.conf",
]  # fmt: skip


@pytest.mark.parametrize("config", CONFIGS)
def test_where_the_workspace_is_a_home_its_secrets_are_not_read_unasked(config: Config) -> None:
    """But for the outputs of commands, which a model is told to read, and which lie among them."""

    def work(make: Callable[[], Site]) -> None:
        site = make()
        output = ".local/state/wisp/output/s/1.txt"
        for path in (*PRIVATE, output):
            (site.work / path).parent.mkdir(parents=True, exist_ok=True)
            (site.work / path).write_text(SECRET)
        for path in PRIVATE:
            for call in (("read", {"path": path}), ("bash", {"command": f"cat {path}"})):
                assert SECRET not in site.call(config, "ask", call)[0].text, (call, path)  # type: ignore[arg-type]
        assert SECRET in site.call(config, "ask", ("read", {"path": output}))[0].text

    each_user(work)


@pytest.mark.parametrize("config", CONFIGS)
def test_the_working_folder_is_never_the_models_choice(config: Config) -> None:
    def work(make: Callable[[], Site]) -> None:
        site = make()
        person = Consent()
        for extra in (
            {"cwd": "/"},
            {"root": "/"},
            {"directory": str(site.out)},
            {"risk": "safe", "approved": True},
        ):
            site.call(config, "ask", ("write", {"path": "x", "content": "1", **extra}), person=person)
            site.bash(config, "ask", "touch y", person=person)
            call: dict[str, Any] = {"command": "pwd > where; touch z", **extra}
            site.call(config, "ask", ("bash", call))
            assert not (site.work / "z").exists(), "what a model says of its own call approves nothing"
            site.call(config, "ask", ("bash", call), person=person)
        assert os.listdir(site.out) == [] and not os.path.exists("/x")
        where = site.work / "where"
        assert not where.exists() or where.read_text().strip() == str(site.work)

    each_user(work)


@pytest.mark.parametrize("config", CONFIGS)
def test_an_edit_that_fits_twice_or_a_file_that_moved_on_changes_nothing(config: Config) -> None:
    def work(make: Callable[[], Site]) -> None:
        site = make()
        twice = site.work / "twice"
        twice.write_text("one\ntwo\none\n")
        edit = {"path": "twice", "edits": [{"old_text": "one", "new_text": "pwned"}]}
        assert site.call(config, "full", ("edit", edit))[0].code == "not_unique"
        assert twice.read_text() == "one\ntwo\none\n"
        script, private = site.work / "run.sh", site.work / "private"
        script.write_text("#!/bin/sh\n")
        script.chmod(0o755)
        private.write_text("mine\n")
        private.chmod(0o600)
        for name in ("run.sh", "private"):
            calls = [("read", {"path": name}), ("write", {"path": name, "content": "new\n"})]
            assert not site.call(config, "full", *calls)[1].is_error
        assert (script.stat().st_mode & 0o7777, private.stat().st_mode & 0o7777) == (0o755, 0o600)
        assert script.read_text() == private.read_text() == "new\n"

    each_user(work)


@pytest.mark.parametrize("config", CONFIGS)
def test_walks_end_where_links_go_round_and_no_configuration_of_the_project_is_obeyed(config: Config) -> None:
    def work(make: Callable[[], Site]) -> None:
        site = make()
        (site.work / "a").mkdir()
        (site.work / "a" / "loop").symlink_to("..")
        (site.work / "a" / "f").write_text("needle\n")
        (site.work / "p.sh").write_text(f"#!/bin/sh\ntouch {site.out}/pwned\n")
        (site.work / "p.sh").chmod(0o755)
        (site.work / ".ripgreprc").write_text("--pre=./p.sh\n")
        site.environment["RIPGREP_CONFIG_PATH"] = str(site.work / ".ripgreprc")
        found = site.call(config, "ask", ("grep", {"pattern": "needle"}), ("find", {"pattern": "*f"}))
        assert [one.text.count("a/f") for one in found] == [1, 1]
        site.bash(config, "ask", "rg needle", person=Consent())
        assert os.listdir(site.out) == []

    each_user(work)


PLANTED = [
    "mkdir .wisp; echo 'model = \"pwned\"' > .wisp/settings.toml",
    "mkdir -p .vscode && echo '{}' > .vscode/tasks.json; echo x > .mcp.json; echo x > .envrc",
    "mv .git .g; mkdir .git; cp -r .g/. .git; echo '[pwned]' >> .git/config",
    "echo '[pwned]' >> .git/config; echo x > .git/hooks/pre-commit; rm -rf .git/hooks; ln -s /tmp .git/info",
    "git config core.fsmonitor pwned",
]


@pytest.mark.parametrize("command", PLANTED)
def test_what_would_run_later_cannot_be_planted_from_the_box(command: str) -> None:
    def work(make: Callable[[], Site]) -> None:
        site = make()
        site.prepare("git init -q . && echo a>f && git add f && git commit -qm 1")
        before = _tree(site.work)
        for config in CONFIGS:
            outcome = site.bash(config, "auto", command)
            assert config == "bubblewrap" or outcome.code == "denied"
            assert _tree(site.work) == before

    each_user(work)


def test_an_archive_unpacked_in_the_box_leaves_nothing_outside() -> None:
    def work(make: Callable[[], Site]) -> None:
        site = make()
        script = (
            "import io, sys, tarfile; t = tarfile.open('t.tar', 'w')\n"
            "for name in ('../x', sys.argv[1] + '/x', 'l/x'):\n"
            "    if name == 'l/x':\n"
            "        i = tarfile.TarInfo('l'); i.type, i.linkname = tarfile.SYMTYPE, sys.argv[1]; t.addfile(i)\n"
            "    i = tarfile.TarInfo(name); i.size = 1; t.addfile(i, io.BytesIO(b'x'))\n"
        )
        (site.work / "make.py").write_text(script)
        site.prepare(f"/usr/bin/python3 make.py {site.out}")
        for config in CONFIGS:
            person = Consent() if config != "none" else None
            site.bash(config, "auto", "tar xPf t.tar; python3 -c \"import tarfile; tarfile.open('t.tar').extractall()\"",
                      person=person)  # fmt: skip
            assert os.listdir(site.out) == [] and not (site.top / "x").exists()
        site.prepare("tar xPf t.tar || true")
        assert os.listdir(site.out) == ["x"], "the same archive does get out without a box"

    each_user(work)


def test_no_place_in_the_shared_temporary_folder_can_be_prepared_by_others() -> None:
    def work(make: Callable[[], Site]) -> None:
        for config in CONFIGS[1:]:  # there a command sees the real one, while the agent has its files open
            common = Path(tempfile.gettempdir())
            told = []
            for _ in range(2):
                site = make()
                assert (
                    site.bash(
                        config, "auto", f"find {common} -maxdepth 1 -printf '%f\\0' > seen", person=Consent()
                    ).code
                    == ""
                )
                told.append(set((site.work / "seen").read_text().split("\0")))
            ours = [names - {"", common.name, *os.listdir(common)} for names in told]
            assert not ours[0] & ours[1], "nothing has a name that can be known before"
        names = []
        for _ in range(2):
            site = make()
            said = site.bash(
                "bubblewrap", "auto", "grep -o '/[^ ]*wisp-box-[^/ ]*' /proc/self/mountinfo | sort -u"
            ).text
            found = [word for word in said.split() if "wisp-box-" in word]
            assert found, said
            names += found
            assert not any(os.path.lexists(name) for name in found), "and it is gone afterwards"
        assert len(set(names)) == len(names), "its name cannot be known before"

    each_user(work)
