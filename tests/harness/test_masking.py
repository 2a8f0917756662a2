"""Known credentials never enter the transcript, in none of their usual disguises; other text is left alone."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wisp
from wisp.harness.masking import Masker
from wisp.providers.scripted import call

KEY = 'k3y/with+odd=chars&"quotes"-7f2c'
VALUE = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=60)


@given(VALUE, st.binary(max_size=7), st.binary(max_size=7))
def test_a_value_is_masked_plain_encoded_and_escaped(value: str, before: bytes, after: bytes) -> None:
    """Base64 at every alignment, URL encoding, JSON escapes."""
    masker = Masker({"K": value})
    whole = base64.b64encode(before + value.encode() + after).decode()

    for text in (value, f"x{value}y", quote(value, safe=""), json.dumps({"k": value})):
        masked = masker.mask(text)
        assert "[secret:K]" in masked
        assert value not in masked
    inner = base64.b64encode(value.encode()).decode().rstrip("=")[:-1]
    if len(value) >= 12:
        assert "[secret:K]" in masker.mask(whole)
        assert inner not in masker.mask(base64.b64encode(value.encode()).decode())


@given(st.text(max_size=200))
def test_text_without_a_known_value_is_byte_true(text: str) -> None:
    """Shapes are not values."""
    assert text == Masker({"K": "\x00never\x00there\x00"}).mask(text)


def test_short_values_are_no_secrets() -> None:
    """They would mask ordinary words."""
    assert Masker({"K": "true"}).mask("it is true") == "it is true"


@pytest.fixture(autouse=True)
def _home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WISP_HOME", str(tmp_path_factory.mktemp("home")))
    monkeypatch.setenv("SOME_API_KEY", KEY)


async def test_a_masked_file_can_be_read_and_edited_and_stays_byte_true(tmp_path: Path) -> None:
    """The model sees a placeholder; the edit that quotes it finds the real line; nothing else changes."""
    path = tmp_path / "conf.ini"
    path.write_text(f"key = {KEY}\nmode = old\n")
    provider = wisp.ScriptedProvider(
        [
            wisp.ScriptStep("look", calls=[call("read", path="conf.ini")]),
            wisp.ScriptStep(
                "edit",
                calls=[
                    call(
                        "edit",
                        path="conf.ini",
                        edits=[
                            {
                                "old_text": "key = [secret:SOME_API_KEY]\nmode = old",
                                "new_text": "key = [secret:SOME_API_KEY]\nmode = new",
                            }
                        ],
                    )
                ],
                after="[secret:SOME_API_KEY]",
            ),
            wisp.ScriptStep("done", after="mode = new"),
        ]
    )
    told: list[str] = []
    async with wisp.Agent(
        provider=provider, cwd=str(tmp_path), permission_mode="full", session=True
    ) as agent:
        async for event in agent.run(f"my key is {KEY}, change the mode"):
            told.append(repr(event))
        kept = "".join(p.read_text() for p in Path(os.environ["WISP_HOME"]).rglob("*.jsonl"))

    assert path.read_text() == f"key = {KEY}\nmode = new\n"
    sent = repr(provider.requests)
    assert "[secret:SOME_API_KEY]" in kept
    for where in (sent, "".join(told), kept):
        assert KEY not in where
    assert "[secret:SOME_API_KEY]" in sent


async def test_a_placeholder_is_never_filled_into_a_command(tmp_path: Path) -> None:
    """A command could carry it away."""
    provider = wisp.ScriptedProvider(
        [
            wisp.ScriptStep("x", calls=[call("bash", command="echo '[secret:SOME_API_KEY]' > out.txt")]),
            wisp.ScriptStep("done"),
        ]
    )
    async with wisp.Agent(provider=provider, cwd=str(tmp_path), permission_mode="full") as agent:
        await agent.ask("go")

    assert (tmp_path / "out.txt").read_text() == "[secret:SOME_API_KEY]\n"


def test_a_token_that_replaced_another_is_masked_and_so_is_the_old_one() -> None:
    masker = Masker({"x": "first-secret-1"})
    assert masker.mask("first-secret-1") == "[secret:x]"
    masker.add("x", "second-secret-2")
    assert masker.mask("second-secret-2, first-secret-1") == "[secret:x], [secret:x]"


@pytest.mark.parametrize("mode", ["ask", "full"])
async def test_what_was_done_or_refused_is_told_without_the_value(tmp_path: Path, mode: str) -> None:
    """A summary names the path, and a path can hold a placeholder."""
    provider = wisp.ScriptedProvider(
        [
            wisp.ScriptStep("x", calls=[call("write", path="a [secret:SOME_API_KEY]", content="x\n")]),
            wisp.ScriptStep("done"),
        ]
    )
    told: list[str] = []
    async with wisp.Agent(provider=provider, cwd=str(tmp_path), permission_mode=mode) as agent:
        async for event in agent.run("go"):
            told.append(repr(event))

    assert KEY not in "".join(told)
    assert any("ToolExecutionEnded" in line and "a [secret:SOME_API_KEY]" in line for line in told)
