"""What bytes leave by each door to a person, given the worst that a name or a text can hold."""

from __future__ import annotations

import base64
import json
import os
import pty
import re
from contextlib import suppress
from pathlib import Path

import pytest
from process.program import Program

from wisp.frontends.cli.streams import complain, copy, put, rewrite, say
from wisp.frontends.wire.pipes import remark
from wisp.host import clipboard
from wisp.host.showing import flat, named, one_line, safe

EVIL = "a\x1b]52;c;eA==\x07b\x1b]0;t\x1b\\c\x1b[2J\x9b2J\u202e\x00\ud800\udc9b\r\nd"
_LEFT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]")


def _plain(text: str) -> bool:
    return not _LEFT.search(text) and text.isascii()


def test_standard_streams(capsys: pytest.CaptureFixture[str]) -> None:
    for name in (safe, named, one_line, flat):
        say(name(EVIL))
        say(name(EVIL), end="", flush=True)
        complain(name(EVIL))
        put(name(EVIL))
    out, err = capsys.readouterr()
    assert _plain(out) and _plain(err)
    assert out.count("\\u{202e}") == 12 and err.count("\\u{202e}") == 4


def test_a_line_that_is_rewritten_has_no_other_sequence(capsys: pytest.CaptureFixture[str]) -> None:
    rewrite(one_line(EVIL, 70))
    err = capsys.readouterr().err
    assert err.startswith("\r\x1b[K") and _plain(err.removeprefix("\r\x1b[K"))


def test_the_terminals_clipboard(capsys: pytest.CaptureFixture[str]) -> None:
    copy(safe(EVIL))
    found = re.fullmatch("\x1b]52;c;([A-Za-z0-9+/=]*)\x07", capsys.readouterr().out)
    assert found is not None and _plain(base64.b64decode(found[1]).decode())


def test_the_displays_clipboard(tmp_path: Path) -> None:
    program = tmp_path / "xclip"
    program.write_text(f"#!/bin/sh\ncat > {tmp_path}/taken\n")
    program.chmod(0o755)
    env = {"DISPLAY": ":0", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert clipboard.copy(safe(EVIL), env) == "xclip"
    assert _plain((tmp_path / "taken").read_text())


@pytest.mark.process
def test_the_prompt_for_a_key(tmp_path: Path) -> None:
    """Of a provider that is called so; asked on the terminal itself."""
    name = EVIL.replace("\x00", "").replace("\ud800", "").replace("\udc9b", "")
    more = f'[providers.{json.dumps(name)}]\napi = "openai-chat"\nbase_url = "http://127.0.0.1:9/v1"\n'
    program = Program(tmp_path / "home", tmp_path / "work", more=more)
    pid, terminal = pty.fork()
    if not pid:
        os.execve(program.argv[0], [*program.argv, "login", name], program.env)
    said, asked = b"", False
    with suppress(OSError):  # how a terminal ends
        while piece := os.read(terminal, 4096):
            said += piece
            if b"not shown" in said and not asked:
                asked = True
                os.write(terminal, b"secret\n")
    os.waitpid(pid, 0)
    os.close(terminal)
    assert asked and b"\\u{202e}" in said
    assert _plain(said.decode("utf-8", "surrogateescape").replace("\r\n", "\n"))


def test_a_servers_remarks() -> None:
    read, write = os.pipe()
    remark(write, flat(f"wisp: {EVIL}"))
    os.close(write)
    with open(read, "rb") as file:
        said = file.read().decode()
    assert _plain(said) and said.count("\n") == 1
