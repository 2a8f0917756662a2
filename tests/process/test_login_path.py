"""A process that no shell started finds what the person's login shell would find."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from process.editor import Editor
from process.program import Program
from process.server import ServerThread

from wisp.host.loginpath import with_login_path

PROFILES = {
    "bash": (".bash_profile", 'echo welcome; export PATH="$HOME/mine/bin:$PATH:relative"\n'),
    "zsh": (".zprofile", "print welcome; path=($HOME/mine/bin $path relative)\n"),
    "fish": (".config/fish/config.fish", "echo welcome; set -gx PATH $HOME/mine/bin $PATH\n"),
}


def _home(tmp_path: Path, shell: str) -> tuple[Path, str]:
    found = shutil.which(shell)
    assert found, f"{shell} is missing; CI installs it"
    home = tmp_path / "home"
    name, words = PROFILES[shell]
    (home / name).parent.mkdir(parents=True, exist_ok=True)
    (home / name).write_text(words)
    return home, found


@pytest.mark.parametrize("shell", PROFILES)
def test_what_the_start_up_files_add_comes_last_and_what_is_not_absolute_not_at_all(
    tmp_path: Path, shell: str
) -> None:
    home, found = _home(tmp_path, shell)
    env = with_login_path(
        {"SHELL": found, "HOME": str(home), "PATH": "/usr/bin:/bin", "KEY": "k"}, time.monotonic
    )
    first, second, *rest = env["PATH"].split(":")
    assert [first, second] == ["/usr/bin", "/bin"]
    assert str(home / "mine/bin") in rest
    assert all(entry.startswith("/") for entry in rest)
    assert env["KEY"] == "k"


def test_the_shell_sees_no_key_and_takes_no_orders_from_the_environment(tmp_path: Path) -> None:
    home, found = _home(tmp_path, "bash")
    (home / ".bash_profile").write_text('env > "$HOME/seen"\n')
    orders = tmp_path / "orders"
    orders.write_text(f"touch {tmp_path / 'pwned'}\n")
    env = {"SHELL": found, "HOME": str(home), "PATH": "/usr/bin:/bin", "OPENAI_API_KEY": "sk-secret"}
    with_login_path(env | {"BASH_ENV": str(orders), "ENV": str(orders)}, time.monotonic)
    seen = (home / "seen").read_text()
    assert "sk-secret" not in seen
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    "profile",
    ["sleep 600\n", "exit 3\n", "yes\n", "exec cat /dev/zero\n", "printf 'wisp-login-path<'\n"],
)
def test_start_up_files_that_hang_fail_or_flood_change_nothing(tmp_path: Path, profile: str) -> None:
    home, found = _home(tmp_path, "bash")
    (home / ".bash_profile").write_text(profile)
    env = {"SHELL": found, "HOME": str(home), "PATH": "/usr/bin:/bin"}
    began = time.monotonic()
    assert str(home) not in with_login_path(env, time.monotonic)["PATH"]
    assert time.monotonic() - began < 60


@pytest.mark.process
@pytest.mark.parametrize(("level", "finds"), [({}, True), ({"SHLVL": "1"}, False)])
def test_an_editor_that_no_shell_started_gets_the_tools_of_the_person(
    tmp_path: Path, level: dict[str, str], finds: bool
) -> None:
    """What a version manager puts on the PATH; where a shell started the editor, its PATH is left as it is."""
    script = [
        {"calls": [{"name": "bash", "arguments": {"command": "mytool"}}]},
        {"text": "Done."},
    ]
    with ServerThread(script) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        home, found = _home(tmp_path, "bash")
        tool = home / "mine/bin/mytool"
        tool.parent.mkdir(parents=True)
        tool.write_text("#!/bin/sh\necho it is mine\n")
        tool.chmod(0o755)
        program.env |= {"SHELL": found, "PATH": "/usr/bin:/bin", **level}
        editor = Editor(program)
        editor.ask("initialize", protocolVersion=1)
        editor.say(editor.open(tmp_path / "work"), "use my tool")
        editor.leave()
        last = server.requests[-1].json["messages"][-1]
    assert ("it is mine" in str(last)) is finds
