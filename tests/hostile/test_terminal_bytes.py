"""Bytes that drive a terminal, from a model, a command or a file's name, reach no terminal in any form of output.

The list is that of the threat model; each is wrapped in two letters that must come through.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from process.program import Program
from process.server import ServerThread

pytestmark = pytest.mark.process

BYTES = {
    "H460": "\x1b]52;c;cHduZWQ=\x07",
    "H461": "\x1b]52;c;cHduZWQ=\x1b\\",
    "H462": "\x9d52;c;cHduZWQ=\x9c",
    "H464": "\x1b]0;title\x07\x1b]2;title\x1b\\",
    "H465": "\x1b]8;;http://evil.test\x07https://good.test\x1b]8;;\x07",
    "H466": "\x1b[2J\x1b[H\x1b[3J",
    "H467": "\x1b[?1049h\x1b[?25l\x1b[?2004l\x1b[?1003h",
    "H468": "\x1b[6n\x1b[c\x1b]10;?\x07\x1bP$qm\x1b\\\x1b[>q\x1b[21t\x05",
    "H469": "\x1bc\x1b[!p",
    "H470": "\x1b[3;1H\x1b[s\x1b[u\x1b7\x1b8\x1b[5A",
    "H471": "\x0e\x1b(0lqqk",
    "H472": "\x1bPtmux;\x1b\x1b]52;c;eA==\x07\x1b\\",
    "H473": "\x1bP+q544e\x1b\\\x1b_Ga=T;AAAA\x1b\\\x1b^x\x1b\\\x1bXx\x1b\\",
    "H474": "\x1b]1337;File=name=eA==;inline=1:AAAA\x07",
    "H475": "\x1b]9;x\x07\x1b]777;notify;a;b\x07\x07",
    "H476": "\x1b]4;1;rgb:00/00/00\x07\x1b]50;x\x07\x1b]104\x07",
    "H478": "\x1b]0;\x1b]52;c;eA==\x07\x07",
    "H479": "\x1b\x1b[2J\x1b[\x1b[2J\x1b\x1b7",
    "H480": "rm -rf x\rls       ",
    "H481": "evil\b\b\b\bgood",
    "H482": "\x01\x0b\x0c\x7f\x85\x8d",
    "H484": "\x1b[8mhidden\x1b[0m\x1b[30;40mhidden too\x1b[0m",
    "H485": "\x1b[999999999999C\x1b[" + "1;" * 5000 + "m",
    "H486": "safe\u202e\u2066 evil \u2069",
    "H488": "\u200b\u2060\ufeff\u180e",
    "H489": "\U000e0068\U000e0069",
}
_DRIVES = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_HIDES = re.compile("[\u200b\u202a-\u202e\u2060\u2066-\u2069\ufeff\U000e0000-\U000e007f]")


def _world(tmp_path: Path, server: ServerThread) -> Program:
    return Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))


def _calls(name: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments}]}


def test_no_form_of_output_passes_any_of_them(tmp_path: Path) -> None:
    """All of them in one run each: in an answer, and in what a command prints."""
    whole = "".join(f"<{name}>{text}</{name}>\n" for name, text in BYTES.items())
    for form in ("text", "json", "stream-json", "chat"):
        steps = [_calls("bash", command="cat f; exit 1"), {"text": whole}]
        with ServerThread(steps) as server:
            program = _world(tmp_path, server)
            (program.project / "f").write_text(whole)
            if form == "chat":
                done = program.run("chat", "--plain", "--permission-mode", "full", stdin="go\n")
            else:
                done = program.run("-p", "go", "--permission-mode", "full", "--output-format", form)
            told = server.requests[1].json["messages"][-1]["content"]
        said = done.stdout + done.stderr
        assert not _DRIVES.findall(said.replace("\r\n", "\n")), form
        for name in BYTES:
            assert f"<{name}>" in said and f"</{name}>" in said, (form, name)
        assert "\x1b" not in told and "\x9b" not in told and "\x07" not in told
        if form == "chat":
            assert not _HIDES.findall(said)
            assert "\\u{202e}" in said and "\\u{e0068}" in said
        if form == "json":
            assert done.stdout.isascii() and json.loads(done.stdout)["result"].startswith("<H460>")


@pytest.mark.parametrize(
    "name", ["evil\x1b[2J.py", "a\x07b", "c\x9b2Jd", "e\u202efdp.exe", "g\nh", "\x1b]52;c;eA==\x07"]
)
def test_a_files_name_drives_nothing_in_a_listing_a_question_or_a_failure(tmp_path: Path, name: str) -> None:
    steps = [_calls("ls", path="."), _calls("write", path=name, content="x"), {"text": "done"}]
    for form in ("text", "chat"):
        with ServerThread(steps) as server:
            program = _world(tmp_path, server)
            (program.project / name).write_text("needle\n")
            words = ("chat", "--plain") if form == "chat" else ("-p", "go")
            done = program.run(*words, stdin="go\nn\n" if form == "chat" else None)
            listed = server.requests[1].json["messages"][-1]["content"]
        assert not _DRIVES.findall(done.stdout + done.stderr), form
        assert not _DRIVES.findall(listed)


def test_a_branchs_name_and_a_models_name_drive_nothing(tmp_path: Path) -> None:
    with ServerThread([{"text": "done"}]) as server:
        program = _world(tmp_path, server)
        (program.project / ".git").mkdir()
        (program.project / ".git" / "HEAD").write_text("ref: refs/heads/x\x1b]8;;http://evil.test\x1b\\\n")
        done = program.run("chat", "--plain", stdin="/model a\x1b[2J\ngo\n")
    assert not _DRIVES.findall(done.stdout + done.stderr)


SHOWING: tuple[tuple[str, ...], ...] = (
    ("sessions", "list"),
    ("sessions", "find", "needle"),
    ("sessions", "show", "ID"),
    ("sessions", "tree", "ID"),
    ("sessions", "replay", "ID"),
    ("sessions", "repair", "ID"),
    ("sessions", "export", "ID", "--output", "NAME"),
    ("sessions", "label", "ID", "1", "NAME"),
    ("sessions", "rename", "ID", "NAME"),
    ("sessions", "list", "--here"),
    ("sessions", "tree", "ID"),
    ("sessions", "fork", "ID@NAME"),
    ("sessions", "NAME"),
    ("sessions", "rm", "ID"),
    ("context",),
    ("undo",),
    ("undo", "--yes"),
    ("redo", "--yes"),
    ("doctor",),
    ("config", "show"),
    ("config", "set", "NAME", "NAME"),
    ("trust", "status"),
    ("permissions", "list"),
    ("permissions", "why", "NAME"),
    ("permissions", "test", "NAME"),
    ("skills", "list"),
    ("skills", "validate", "NAME"),
    ("hooks", "list"),
    ("models", "NAME"),
    ("mcp", "list"),
    ("mcp", "test", "NAME"),
    ("mcp", "remove", "NAME"),
    ("login", "NAME"),
    ("logout", "NAME"),
    ("auth", "status"),
    ("--print-instructions",),
    ("-p", "hi", "--model", "NAME"),
    ("-p", "hi", "--cwd", "NAME"),
    ("NAME", "NAME"),
    ("--NAME",),
    ("sessions", "archive", "ID"),
    ("sessions", "list", "--archive"),
    ("sessions", "restore", "ID"),
)
"""Every command that says something, in an order in which each finds something to say."""
_NAME = "b\x1b]52;c;eA==\x07c\x9b2J\x1b[2Jd\u202ee\r\nFORGED g"
_FORGED = re.compile(r"^\W*FORGED", re.MULTILINE)


def test_no_command_passes_them_or_is_given_a_further_line_by_a_name(tmp_path: Path) -> None:
    """A folder, files, servers, hooks, settings, sessions and a model's words are all called so."""
    steps = [_calls("write", path=_NAME, content="needle"), {"text": f"needle {_NAME}"}]
    with ServerThread(steps) as server:
        program = Program(tmp_path / "home", tmp_path / f"work{_NAME}", url=server.base_url("openai-chat"))
        (program.project / "AGENTS.md").write_text(f"x {_NAME}")
        (program.project / ".wisp").mkdir()
        key = json.dumps(_NAME)  # a string of JSON is one of TOML
        (program.project / ".wisp" / "settings.toml").write_text(
            f"{key} = 1\n[mcp_servers.{key}]\ncommand = {key}\nargs = [{key}]\n"
            f"[[hooks.PreToolUse]]\nmatcher = {key}\nhooks = [{{type = {key}, command = {key}}}]\n"
        )
        (program.project / ".wisp" / "skills" / _NAME).mkdir(parents=True)
        (program.project / ".wisp" / "skills" / _NAME / "SKILL.md").write_text(f"---\nname: {_NAME}\n---\n")
        done = program.run("-p", f"needle {_NAME.strip()}", "--permission-mode", "full", "--trust")
        assert done.returncode == 0, done.stderr
        told = [("-p", done.stdout + done.stderr)]
        name = json.loads(program.run("sessions", "list", "--json").stdout.splitlines()[0])["id"]
        for words in SHOWING:
            given = [word.replace("NAME", _NAME).replace("ID", name) for word in words]
            done = program.run(*given, stdin="")
            told.append((" ".join(words), done.stdout + done.stderr))
    assert {command for command, said in told if _DRIVES.search(said)} == set()
    assert {command for command, said in told if _HIDES.search(said)} <= {
        "-p"
    }  # an answer in a pipe keeps it
    forged = {command: said for command, said in told if _FORGED.search(said)}
    assert set(forged) <= {"-p", "sessions show ID", "--print-instructions"}, forged  # what was said, whole


BROKEN = """
import asyncio, gc, os, sys, threading, warnings
from wisp.frontends.cli.streams import make_usable
make_usable()
name = {name!r}
async def never_asked_about():
    raise ValueError(name)
async def main():
    task = asyncio.ensure_future(never_asked_about())
    await asyncio.sleep(0.01)
    del task
    gc.collect()
asyncio.run(main())
def thread():
    raise ValueError(name)
thread = threading.Thread(target=thread)
thread.start()
thread.join()
warnings.warn(name)
class Kept:
    def __del__(self):
        raise ValueError(name)
Kept()
raise ValueError(name)
"""


def test_what_python_itself_tells_of_a_fault_passes_none_of_them(tmp_path: Path) -> None:
    """A task nobody waits for, a thread, a warning, a destructor, an exception to the top."""
    name = f"<a>{_NAME}\udc9b\u202e</a>"
    done = subprocess.run(
        [sys.executable, "-c", BROKEN.format(name=name)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert done.stderr.count("<a>bc2Jd\\u{202e}e\nFORGED g\\x9b\\u{202e}</a>") >= 5
    assert not _DRIVES.search(done.stderr) and not _HIDES.search(done.stderr)


def test_a_trace_of_a_bug_passes_none_of_them(tmp_path: Path) -> None:
    program = Program(tmp_path / "home", tmp_path / "work")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/h11.py").write_text(f"raise ZeroDivisionError({_NAME!r})\n")
    for form in ("", "1"):
        done = program.run("-p", "hi", PYTHONPATH=str(tmp_path / "broken"), WISP_TRACEBACK=form)
        assert done.returncode == 1
        assert "ZeroDivisionError: bc2Jd\\u{202e}e" in done.stderr
        assert not _DRIVES.search(done.stderr) and not _HIDES.search(done.stderr)
