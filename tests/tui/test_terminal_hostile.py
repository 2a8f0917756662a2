"""Names and words of others on every page of the screen: none of their bytes reaches the terminal."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tui.conftest import Open
from tui.screen import Screen, needs_tmux

pytestmark = [
    pytest.mark.process,
    pytest.mark.timeout(300),
    pytest.mark.skipif(needs_tmux, reason="tmux is not here"),
]

EVIL = "b\x1b]52;c;ZXZpbA==\x07c\x9b2J\x1b[77;7Hd\u202ee\r\nFORGED g"
BYTES = ("\x1b]52;c;ZXZpbA==", "\x1b]0;evil", "\x1b[77;7H", "\x9b", "\u202e", "\0", "\udcff")
"""What none of our own sequences holds."""


def _calls(name: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments}]}


def write(screen: Screen, text: str) -> None:
    screen.type(text)
    screen.wait(text)
    screen.keys("Enter")


def test_no_page_passes_a_byte_that_drives_or_hides(world: Open, tmp_path: Path) -> None:
    """Of a folder, a branch, files, skills, servers, a model's answer, thoughts, calls and questions."""
    answer = f"# t {EVIL}\n\n&#x202e;&#x9b; `{EVIL}` [l](http://x/{EVIL})\n\n```py {EVIL}\n{EVIL}\n```\n"
    program, _ = world(
        {"thinking": f"hm {EVIL}", **_calls("bash", command="cat needle*")},
        _calls(EVIL, path=EVIL),
        {"text": answer, **_calls("write", path=EVIL, content=f"x {EVIL}\n")},
        _calls("ask_user", question=f"which {EVIL}", options=[f"one {EVIL}", "two"]),
        {"text": "The end of it."},
        more=f"[mcp_servers.evil]\ncommand = {json.dumps('no' + EVIL)}\nargs = [{json.dumps(EVIL)}]\n",
    )
    program.project = tmp_path / f"work {EVIL}"
    skill = program.project / ".wisp" / "skills" / EVIL
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(f"---\nname: {EVIL}\n---\n")
    (program.project / ".wisp" / "settings.toml").write_text(f"{json.dumps(EVIL)} = 1\n")
    (program.project / "AGENTS.md").write_text(EVIL)
    (program.project / f"needle{EVIL}").write_text(f"{EVIL}\x1b]0;evil\x07")
    (program.project / ".git").mkdir()
    (program.project / ".git" / "HEAD").write_text(f"ref: refs/heads/x{EVIL}\n")
    raw = tmp_path / "raw"
    with Screen(program, width=120, height=40) as screen:
        screen._tmux("pipe-pane", "-O", f"cat > {raw}")
        screen.ready()
        write(screen, "go on with it")
        for question, key in (("Allow create", "y"), ("[1] one", "2")):
            screen.wait(question)
            _answer(screen, key)
        screen.wait("The end of it.")
        for line, wanted in (
            ("/mcp", "MCP servers"),
            ("/skills", "Skills and commands"),
            ("/settings", "As built in"),
            ("/doctor", "What works here"),
            ("/context", "What the next request holds"),
            ("/tree", "Branches"),
            ("/resume", "Conversations"),
            ("/changes", "Changes of this conversation"),
            ("/model", "Models"),
        ):
            write(screen, line)
            screen.wait(wanted)
            screen.keys("Escape")
            screen.gone(wanted)
            screen.ready()
        write(screen, "/trust")
        screen.wait("Nothing was decided")
        _answer(screen, "n")
        screen.gone("Nothing was decided")
        write(screen, "/copy")
        screen.wait("copied")
        screen.gone("copied")
        screen.type("@needle")
        screen.wait("❯ needle")
        screen.keys("Tab")
        screen.wait(lambda shown: "FORGED g" in shown.split("╭")[-1])
        screen.keys("S-Up")
        screen.keys("S-Home")
        screen.keys("C-c")
        screen.wait("copied")
        title = screen._tmux("display-message", "-p", "#{pane_title}")
    said = raw.read_bytes().decode("utf-8", "surrogateescape")
    assert [byte for byte in BYTES if byte in said] == []
    assert len(re.findall("FORGED", said)) > 20
    copied = [base64.b64decode(data).decode() for data in re.findall("\x1b]52;c;([^\x07]*)\x07", said)]
    assert copied == ["The end of it.", '@"needlebc2Jd\\u{202e}e\nFORGED g" ']
    assert "evil" not in title


def _answer(screen: Screen, key: str) -> None:
    import time

    time.sleep(0.7)  # what is typed before a person could have read the question is no answer
    screen.keys(key)
