"""The agent sees what an editor shows of a file, also before it is saved, and never writes over it.

Driven by the protocol's official Python client.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import acp
import pytest
from acp import schema
from process.program import Program
from process.server import ServerThread

from wisp.testing.requests import Request

pytestmark = [pytest.mark.process, pytest.mark.timeout(170)]


class Editor:
    """A client with buffers; what is not open is read from the disk, as editors do."""

    def __init__(self, offers: bool = True) -> None:
        self.buffers: dict[str, str] = {}
        self.offers = offers
        self.asked: list[str] = []
        self.fails: Exception | None = None
        self.silent = False

    async def read_text_file(self, path: str, session_id: str, **_: Any) -> Any:
        self.asked.append(path)
        if self.silent:
            await asyncio.sleep(3600)
        if self.fails is not None:
            raise self.fails
        content = self.buffers.get(path)
        return schema.ReadTextFileResponse(content=Path(path).read_text() if content is None else content)

    async def request_permission(self, options: Any, session_id: str, tool_call: Any, **_: Any) -> Any:
        return schema.RequestPermissionResponse(
            outcome=schema.AllowedOutcome(outcome="selected", option_id="once")
        )

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        """Shown to nobody."""

    def on_connect(self, conn: Any) -> None:
        """Nothing to do."""


def talk(
    tmp_path: Path,
    steps: list[Any],
    editor: Editor,
    prompts: int = 1,
    between: Callable[[Path], None] = lambda project: None,
    prepare: Callable[[Path], None] = lambda project: None,
) -> tuple[list[Request], Path]:
    """Prompts in one session of an editor; the requests that the model got."""
    with ServerThread(steps, lenient=True) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        (program.project / "a.py").write_bytes(b"saved = 1\n")
        prepare(program.project)

        async def session() -> None:
            options: dict[str, Any] = {"env": program.env, "cwd": program.project}
            async with acp.spawn_agent_process(editor, sys.executable, "-m", "wisp", "acp", **options) as (
                agent,
                _,
            ):
                capable = schema.ClientCapabilities(
                    fs=schema.FileSystemCapabilities(read_text_file=editor.offers, write_text_file=True)
                )
                await agent.initialize(protocol_version=1, client_capabilities=capable)
                made = await agent.new_session(cwd=str(program.project), mcp_servers=[])
                for number in range(prompts):
                    if number:
                        between(program.project)
                    said = await agent.prompt(session_id=made.session_id, prompt=[acp.text_block("go")])
                    assert said.stop_reason == "end_turn"

        asyncio.run(session())
        return list(server.requests), program.project


def calls(*given: tuple[str, dict[str, Any]]) -> list[Any]:
    """One step for each call, then a word."""
    steps: list[Any] = [{"calls": [{"name": name, "arguments": arguments}]} for name, arguments in given]
    return [*steps, {"text": "done"}]


EDIT = ("edit", {"path": "a.py", "edits": [{"old_text": "saved = 1", "new_text": "mine = 3"}]})
WRITE = ("write", {"path": "a.py", "content": "mine = 3\n"})
READ = ("read", {"path": "a.py"})


def test_what_is_not_saved_yet_is_what_the_model_reads(tmp_path: Path) -> None:
    editor = Editor()
    editor.buffers[str(tmp_path / "work" / "a.py")] = "unsaved = 2\nand more\n"
    requests, project = talk(tmp_path, calls(READ), editor)
    assert "unsaved = 2\nand more" in requests[-1].last_result
    assert "not saved yet" in requests[-1].last_result
    assert "saved = 1" not in requests[-1].last_result.replace("unsaved", "")
    assert (project / "a.py").read_bytes() == b"saved = 1\n"


@pytest.mark.parametrize("change", [EDIT, WRITE], ids=["edit", "write"])
@pytest.mark.parametrize("read_before", [False, True])
def test_a_file_with_unsaved_changes_is_never_written_over(
    tmp_path: Path, change: tuple[str, dict[str, Any]], read_before: bool
) -> None:
    """Once they are saved the model may change it, without reading it again where it has seen them."""
    editor = Editor()
    path = tmp_path / "work" / "a.py"
    editor.buffers[str(path)] = "saved = 1\nunsaved = 2\n"
    first = calls(READ, change) if read_before else calls(change)
    requests, project = talk(
        tmp_path,
        [*first, *calls(change)],
        editor,
        prompts=2,
        between=lambda project: (project / "a.py").write_text("saved = 1\nunsaved = 2\n") and None,
    )
    refused = requests[len(first) - 1].last_result
    assert "stale_input" in refused or "not saved" in refused
    assert "Ask the user to save or discard them" in refused
    assert "mine = 3" in (project / "a.py").read_text()
    assert ("unsaved = 2" in (project / "a.py").read_text()) == (change is EDIT)


def test_line_ends_and_marks_that_editors_hide_are_no_unsaved_change(tmp_path: Path) -> None:
    """And come back when the model's edit is written."""
    editor = Editor()
    editor.buffers[str(tmp_path / "work" / "a.py")] = "saved = 1\nsecond\n"
    data = b"\xef\xbb\xbfsaved = 1\r\nsecond\r\n"
    requests, project = talk(
        tmp_path,
        calls(READ, EDIT),
        editor,
        prepare=lambda project: (project / "a.py").write_bytes(data) and None,
    )
    assert "not saved" not in requests[-1].last_result
    assert (project / "a.py").read_bytes() == data.replace(b"saved = 1", b"mine = 3")


def test_an_editor_is_not_asked_about_protected_files_and_those_outside(tmp_path: Path) -> None:
    """Nor is it asked where it offers nothing."""
    outside = tmp_path / "elsewhere.txt"
    outside.write_text("outside\n")

    def prepare(project: Path) -> None:
        (project / ".env").write_text("KEY=1\n")
        (project / ".git").mkdir()
        (project / ".git" / "config").write_text("[core]\n")

    editor = Editor()
    reads = [("read", {"path": path}) for path in (".env", ".git/config", str(outside), "a.py")]
    talk(tmp_path, calls(*reads), editor, prepare=prepare)
    assert set(editor.asked) == {str(tmp_path / "work" / "a.py")}
    silent = Editor(offers=False)
    talk(tmp_path / "second", calls(READ), silent)
    assert silent.asked == []


@pytest.mark.parametrize("kind", ["refuses", "silent"])
def test_an_editor_that_does_not_answer_leaves_the_file_as_it_is_on_the_disk(
    tmp_path: Path, kind: str
) -> None:
    editor = Editor()
    editor.silent = kind == "silent"
    editor.fails = acp.RequestError.resource_not_found("a.py") if kind == "refuses" else None
    requests, project = talk(tmp_path, calls(READ, EDIT), editor)
    assert "saved = 1" in requests[1].last_result
    assert (project / "a.py").read_text() == "mine = 3\n"
