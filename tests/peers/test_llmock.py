"""A mock of ten services that grades its client: whatever it breaks, we behave."""

import subprocess
from pathlib import Path

import pytest
from peers.others import LLMOCK, free_port, get, post, program, served, there
from process.program import result_of

pytestmark = [pytest.mark.peer, pytest.mark.process, pytest.mark.timeout(170)]
PLACES = {"openai-chat": "/v1", "anthropic-messages": "/anthropic", "gemini": "/gemini"}
FAULTS = [
    {"type": "fail", "status": 429, "retry_after": 1},
    {"type": "fail", "status": 500},
    {"type": "fail", "status": 503, "times": 2},
    {"type": "stream_fault", "kind": "truncate", "after_chunks": 1},
    {"type": "stream_fault", "kind": "truncate", "after_chunks": 3},
    {"type": "stream_fault", "kind": "disconnect", "after_chunks": 2},
]
"""Each for one prompt; nothing has run yet, so each may be repeated."""


def report(base: str) -> tuple[int, str]:
    done = subprocess.run(
        [LLMOCK, "report", "--url", base, "--strict"], capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("api", PLACES)
def test_every_fault_is_met_and_survived_and_the_grade_is_perfect(api: str, tmp_path: Path) -> None:
    port = free_port()
    argv = [str(there(LLMOCK)), "serve", "-h", "127.0.0.1", "-p", str(port), "--tool-mode", "off"]
    with served(argv, port) as base:
        wisp = program(tmp_path, api, base + PLACES[api])
        for number, fault in enumerate(FAULTS):
            post(f"{base}/_llmock/scenario", {"behaviors": [fault]})
            done = wisp.run("-p", f"hello {number}", "--no-session", "--output-format", "json")
            assert done.returncode == 0, (fault, done.stdout, done.stderr)
            assert not get(f"{base}/_llmock/scenario").get("pending"), fault
        code, said = report(base)
        assert code == 0, said


@pytest.mark.parametrize("api", PLACES)
def test_a_mix_of_random_faults_never_earns_a_bad_grade(api: str, tmp_path: Path) -> None:
    """Whether each prompt gets its answer is chance; that each ends with a result object is not."""
    port = free_port()
    argv = [str(there(LLMOCK)), "serve", "-h", "127.0.0.1", "-p", str(port), "--tool-mode", "off"]
    argv += ["--error-rate", "429=0.15", "--error-rate", "503=0.1", "--stream-fault", "disconnect=0.2"]
    with served(argv, port) as base:
        wisp = program(tmp_path, api, base + PLACES[api])
        good = 0
        for number in range(8):
            done = wisp.run("-p", f"hello {number}", "--no-session", "--output-format", "json")
            assert result_of(done)["subtype"] in ("success", "error_provider"), done.stderr
            good += done.returncode == 0
        code, said = report(base)
        assert code == 0, said
        assert good >= 4


@pytest.mark.parametrize("api", PLACES)
def test_what_is_wrong_with_the_request_is_not_repeated(api: str, tmp_path: Path) -> None:
    port = free_port()
    argv = [str(there(LLMOCK)), "serve", "-h", "127.0.0.1", "-p", str(port), "--tool-mode", "off"]
    with served(argv, port) as base:
        wisp = program(tmp_path, api, base + PLACES[api])
        for status, code in ((400, 4), (401, 3), (404, 4)):
            post(f"{base}/_llmock/scenario", {"behaviors": [{"type": "fail", "status": status}]})
            done = wisp.run("-p", f"hello {status}", "--no-session", "--output-format", "json")
            assert done.returncode == code, (status, done.stdout, done.stderr)
        code, said = report(base)
        assert code == 0, said
