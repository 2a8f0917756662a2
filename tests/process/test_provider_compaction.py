"""The provider's own compaction is used where it is declared, kept, sent back as it came, and never in the way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from process.program import Program
from process.server import ServerThread

from wisp.host.client import OpenRequest
from wisp.host.configure import configure
from wisp.host.models import model_info, services
from wisp.messages.ids import SystemClock
from wisp.session.journal import read_only
from wisp.session.records import CompactionRecord
from wisp.testing.compacting import unsealed
from wisp.testing.requests import Request

MORE = """
[providers.local.models.small]
context_window = 9000
max_output = 1000
{compat}
[providers.other]
api = "openai-chat"
base_url = "{url}"
api_key_env = "LOCAL_KEY"
[providers.other.models.else]
context_window = 9000
max_output = 1000
"""
ALLOWED = "compat = { compaction = true }"
LONG = "words of an answer that takes room " * 160
ACCOUNT = "the account of the heron"


def answering(request: Request) -> Any:
    """An answer that takes room; asked for a summary, an account."""
    from wisp.testing.steps import Step

    text = ACCOUNT if b"You are shortening" in request.body else LONG
    size = len(request.body) // 4
    return Step(text=text, usage={"input": size, "output": len(text) // 4})


def conversation(tmp_path: Path, server: ServerThread, compat: str, prompts: int = 9) -> Program:
    more = MORE.format(url=server.base_url("openai-chat"), compat=compat)
    program = Program(
        tmp_path / "home",
        tmp_path / "work",
        api="openai-responses",
        url=server.base_url("openai-responses"),
        more=more,
    )
    for number in range(prompts):
        said = program.run("-p", f"prompt {number}: remember heron{number}", "--model", "local/small",
                           *(["--continue"] if number else []))  # fmt: skip
        assert said.returncode == 0, said.stderr
    return program


def compactions(program: Program) -> list[CompactionRecord]:
    (path,) = program.home.glob("state/sessions/*/*.jsonl")
    return [r.body for r in read_only(str(path)).records if isinstance(r.body, CompactionRecord)]


def test_the_items_of_the_service_are_kept_and_sent_back_as_they_came(tmp_path: Path) -> None:
    """A second compaction takes the first with it, and every request of the session can be made again."""
    with ServerThread(answering, compaction=True) as server:
        program = conversation(tmp_path, server, ALLOWED, 14)
        asked, made = server.compacted, compactions(program)
        assert server.problems == []
        assert len(asked) == len(made) >= 2
        assert not [r for r in server.requests if b"You are shortening" in r.body]
        for request in asked:
            assert request.path.endswith("/v1/responses/compact")
            assert request.headers["authorization"].startswith("Bearer ")
            assert "stream" not in request.json
        assert [e for e in asked[1].json["input"] if e.get("type") == "compaction"]
        native = made[-1].native
        assert native is not None
        items = [json.loads(item) for item in native.items]
        assert [item["type"] for item in items][-1] == "compaction"
        assert server.requests[-1].json["input"][: len(items)] == items
        assert "heron0" in json.dumps(items), "what the user said is in the service's items"
        assert unsealed(items[-1]["encrypted_content"])
        assert len(server.requests[-1].body) < 9000 * 4
        session = next(program.home.glob("state/sessions/*/*.jsonl"))
        again = program.run("sessions", "replay", session.stem)
    assert again.returncode == 0, again.stdout
    shown = program.run("sessions", "find", "heron0")
    assert shown.returncode == 0, "the whole history stays"


def test_another_provider_gets_a_summary_of_our_own_and_never_the_sealed_item(tmp_path: Path) -> None:
    with ServerThread(answering, compaction=True) as server:
        program = conversation(tmp_path, server, ALLOWED)
        assert compactions(program)[-1].native is not None
        switched = program.run("-p", "and now elsewhere", "--model", "other/else", "--continue")
        assert switched.returncode == 0, switched.stderr
        first = server.requests[-1]
        assert first.dialect == "chat"
        assert b"encrypted_content" not in first.body
        assert ACCOUNT.encode() in first.body
        assert b"heron0" in first.body
        told = server.requests[-2]
        assert b"You are shortening" in told.body
        assert b"AGENT: words of an answer" in told.body, "made of what was said, not of a seal"
        record = compactions(program)[-1]
        assert (record.native, record.reason) == (None, "provider")
        assert program.run("-p", "further", "--model", "other/else", "--continue").returncode == 0
        assert [record.reason for record in compactions(program)].count("provider") == 1, "once"
        back = program.run("-p", "and back", "--model", "local/small", "--continue")
        assert back.returncode == 0, back.stderr
        assert server.problems == []


@pytest.mark.parametrize("kind", ["missing", "wished"])
def test_a_summary_is_made_where_the_service_refuses(tmp_path: Path, kind: str) -> None:
    """The service has no such thing after all, or the user wishes for something in particular."""
    with ServerThread(answering, compaction=kind == "wished") as server:
        if kind == "wished":
            more = MORE.format(url=server.base_url("openai-chat"), compat=ALLOWED)
            program = Program(
                tmp_path / "home", tmp_path / "work",
                api="openai-responses", url=server.base_url("openai-responses"), more=more,
            )  # fmt: skip
            lines = ["one", "two", "three", "/compact keep the heron", "four", "/quit"]
            said = program.run("chat", "--plain", "--model", "local/small", stdin="\n".join(lines) + "\n")
        else:
            program = conversation(tmp_path, server, ALLOWED, 8)
            said = program.run("-p", "more", "--model", "local/small", "--continue")
        assert said.returncode == 0, said.stderr
        assert server.compacted == []
        made = compactions(program)
        assert made
        assert {record.native for record in made} == {None}
        assert ACCOUNT in made[0].summary
        assert server.problems == []


def test_where_nothing_declares_it_the_service_is_not_asked(tmp_path: Path) -> None:
    with ServerThread(answering, compaction=True) as server:
        program = conversation(tmp_path, server, "", 8)
        assert compactions(program)
        assert server.compacted == []


def test_only_the_vendor_at_its_own_address_declares_it_and_the_user_may_forbid_it(tmp_path: Path) -> None:
    def declared(settings: str, env: dict[str, str] | None = None) -> object:
        home = tmp_path / str(len(list(tmp_path.iterdir())))
        (home / "config").mkdir(parents=True)
        (home / "config" / "settings.toml").write_text(settings)
        environment = {"WISP_HOME": str(home), **(env or {})}
        configured = configure(OpenRequest(cwd=str(tmp_path)), environment, SystemClock())
        service = services(configured.settings, environment)["openai"]
        return model_info(service, "gpt-5.6").compat.get("compaction")

    assert declared("") is True
    assert declared("[providers.openai]\ncompat = { compaction = false }\n") is False
    assert declared('[providers.openai]\nbase_url = "http://127.0.0.1:1/v1"\n') is None
    assert declared("", {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}) is None
