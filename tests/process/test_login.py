"""`wisp login`, `logout` and `auth status` as a person and as a script use them."""

import os
import pty
import re
import select
import signal
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from host.authorization_server import AuthorizationServer
from process.program import Program, result_of
from process.server import ServerThread

pytestmark = pytest.mark.process

KEY = "sk-canary-0123456789"


@pytest.fixture
def program(tmp_path: Path) -> Program:
    made = Program(tmp_path / "home", tmp_path / "project", api="")
    del made.env["LOCAL_KEY"]
    return made


def everything(program: Program) -> str:
    """All text below the program's home but the file of credentials."""
    return "".join(
        path.read_text(errors="replace")
        for path in program.home.rglob("*")
        if path.is_file() and path.name != "credentials.json"
    )


def test_a_key_from_standard_input_is_used_by_the_next_run_and_gone_after_logout(program: Program) -> None:
    with ServerThread([{"text": "hello"}]) as server:
        program.env["OPENAI_BASE_URL"] = server.base_url("openai-chat")
        stored = program.run("login", "openai", stdin=KEY + "\n")
        assert (stored.returncode, stored.stderr) == (0, "")
        status = program.run("auth", "status")
        done = program.run("-p", "hi", "--model", "openai/m", "--output-format", "json")
        assert result_of(done)["result"] == "hello"
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
        out = program.run("logout", "openai")
        after = program.run("-p", "hi", "--model", "openai/m")
    assert "credentials.json" in status.stdout
    assert out.returncode == 0
    assert after.returncode == 3
    assert "wisp login openai" in after.stderr
    for said in (stored, status, done, out, after):
        assert KEY not in said.stdout + said.stderr
    assert KEY not in everything(program)


@pytest.mark.parametrize(
    "argv",
    [
        ["login", KEY],
        ["login", "openai", KEY],
        ["login", "openai", "--key", KEY],
        ["login", "openai", f"--key={KEY}"],
        ["login", "openai", f"--nonsense={KEY}"],
    ],
)
def test_a_key_on_the_command_line_is_refused_and_not_repeated(program: Program, argv: list[str]) -> None:
    done = program.run(*argv, stdin="")
    assert done.returncode == 2
    assert KEY not in done.stdout + done.stderr
    assert not (program.home / "state" / "credentials.json").exists()


@pytest.mark.parametrize(("stdin", "words"), [("", "no key"), ("a b", "one word"), ("  \n", "no key")])
def test_standard_input_without_a_key_stores_nothing(program: Program, stdin: str, words: str) -> None:
    done = program.run("login", "openai", stdin=stdin)
    assert done.returncode == 2
    assert words in done.stderr
    assert "no credentials" in program.run("auth", "status").stdout


def test_a_script_that_names_no_provider_is_told_which_there_are(program: Program) -> None:
    done = program.run("login", stdin=KEY)
    assert done.returncode == 2
    assert "|gemini|groq|mistral|openai|" in done.stderr


def test_the_prompt_for_a_key_shows_nothing_of_it(program: Program) -> None:
    main, side = pty.openpty()
    process = subprocess.Popen(
        [*program.argv, "login", "openai"],
        stdin=side,
        stdout=side,
        stderr=side,
        env=program.env,
        start_new_session=True,
    )
    os.close(side)
    said = b""
    sent = False
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if not select.select([main], [], [], 0.2)[0]:
            continue
        try:
            piece = os.read(main, 4096)
        except OSError:
            break
        said += piece
        if b"not shown" in said and not sent:
            time.sleep(0.1)
            os.write(main, KEY.encode() + b"\n")
            sent = True
    assert process.wait(10) == 0
    os.close(main)
    assert KEY.encode() not in said
    assert KEY in (program.home / "state" / "credentials.json").read_text()


def test_twenty_runs_at_once_find_the_key_while_logins_go_on(program: Program) -> None:
    """A store that is being changed is never read as an empty one (B127)."""
    with ServerThread(lambda request: _hello()) as server:
        program.env["OPENAI_BASE_URL"] = server.base_url("openai-chat")
        program.run("login", "openai", stdin=KEY)
        logins = [
            program.start("login", name, stdin=subprocess.PIPE)
            for name in ("anthropic", "gemini", "openrouter") * 2
        ]
        runs = [program.start("-p", "hi", "--model", "openai/m", "--no-session") for _ in range(20)]
        for process in logins:
            process.communicate(KEY, timeout=120)
        said = [process.communicate(timeout=120) for process in runs]
    assert [process.returncode for process in logins] == [0] * len(logins)
    assert [process.returncode for process in runs] == [0] * 20, said
    assert program.run("auth", "status").stdout.count("credentials.json") == 4


def _hello():
    from wisp.testing.steps import Step

    return Step("hello")


def test_a_device_login_and_a_run_with_its_token_and_a_renewal(program: Program) -> None:
    with AuthorizationServer(lives=30) as authority, ServerThread(lambda request: _hello()) as server:
        settings = "\n".join(f"{k} = {v!r}" for k, v in authority.settings().items())
        (program.home / "config" / "settings.toml").write_text(
            f'[providers.x]\nbase_url = "{server.base_url("openai-chat")}"\n[providers.x.oauth]\n{settings}\n'
        )
        done = program.run("login", "x", "--device")
        assert done.returncode == 0, done.stderr
        assert "WDJB-MJHT" in done.stderr
        status = program.run("auth", "status")
        assert "a token until" in status.stdout
        run = program.run("-p", "hi", "--model", "x/m")
        assert run.stdout == "hello\n", run.stderr
        # a token that lives 30 s is always about to end: it was renewed before the request
        assert server.requests[0].headers["authorization"] == "Bearer access-canary-0003"
        authority.void = True
        over = program.run("-p", "hi", "--model", "x/m")
        assert over.returncode == 3
        assert "run 'wisp login x'" in over.stderr
    for said in (done, status, run, over):
        assert "canary" not in said.stdout + said.stderr
    assert "canary" not in everything(program)


@pytest.mark.parametrize("well", [True, False])
def test_a_logout_forgets_the_login_and_tells_the_service(program: Program, well: bool) -> None:
    with AuthorizationServer() as authority:
        told = authority.settings(revocation_url=authority.url + "/revoke")
        settings = "\n".join(f"{k} = {v!r}" for k, v in told.items())
        (program.home / "config" / "settings.toml").write_text(
            f'[providers.x]\nbase_url = "https://models.test/v1"\n[providers.x.oauth]\n{settings}\n'
        )
        assert program.run("login", "x", "--device").returncode == 0
        authority.fail = None if well else (503, b"")
        done = program.run("logout", "x")
    assert (done.returncode, done.stderr) == (0, "")
    assert ("no longer accepts it" if well else "was not told") in done.stdout
    assert (authority.access == set()) is well
    assert b"canary" not in (program.home / "state" / "credentials.json").read_bytes()
    assert "canary" not in done.stdout


def test_the_token_of_a_fallback_model_is_renewed_too(program: Program) -> None:
    overloaded = [{"fault": {"status": 529, "times": 99}}]
    with (
        AuthorizationServer(lives=30) as authority,
        ServerThread(overloaded) as first,
        ServerThread(lambda request: _hello()) as second,
    ):
        settings = "\n".join(f"{k} = {v!r}" for k, v in authority.settings().items())
        (program.home / "config" / "settings.toml").write_text(
            'model = "first/m"\nfallback_models = ["x/m"]\nmax_retries = 0\n'
            f'[providers.first]\nbase_url = "{first.base_url("openai-chat")}"\n'
            f'[providers.x]\nbase_url = "{second.base_url("openai-chat")}"\n[providers.x.oauth]\n{settings}\n'
        )
        assert program.run("login", "x", "--device").returncode == 0
        run = program.run("-p", "hi")
        assert run.stdout == "hello\n", run.stderr
        # the login's own token is always about to end: another one was fetched for the request
        assert second.requests[0].headers["authorization"] == "Bearer access-canary-0003"
        assert len(first.requests) == 1
        authority.void = True
        over = program.run("-p", "hi")
        assert over.returncode != 0
        assert "run 'wisp login x'" in over.stderr
        assert len(second.requests) == 1
    assert "canary" not in run.stdout + run.stderr + over.stdout + over.stderr
    assert "canary" not in everything(program)


def test_a_browser_login_from_the_terminal_and_one_that_is_interrupted(program: Program) -> None:
    with AuthorizationServer() as authority:
        settings = "\n".join(f"{k} = {v!r}" for k, v in authority.settings().items())
        (program.home / "config" / "settings.toml").write_text(
            f'[providers.x]\nbase_url = "https://models.test/v1"\n[providers.x.oauth]\n{settings}\n'
        )

        def begin() -> tuple[subprocess.Popen[str], str, dict[str, str]]:
            process = program.start("login", "x")
            assert process.stderr is not None
            address = next(line for line in map(str.strip, process.stderr) if line.startswith("http"))
            return process, *authority.agree(address)

        process, code, asked = begin()
        urllib.request.urlopen(f"{asked['redirect_uri']}?code={code}&state={asked['state']}").read()
        out, _ = process.communicate(timeout=90)
        assert process.returncode == 0
        assert "logged in to x" in out
        before = (program.home / "state" / "credentials.json").read_bytes()
        assert b"access-canary" in before

        process, code, asked = begin()
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=90)
        assert process.returncode == 130
        assert "Traceback" not in errors
        with pytest.raises(OSError):
            urllib.request.urlopen(f"{asked['redirect_uri']}?code={code}&state={asked['state']}")
        assert (program.home / "state" / "credentials.json").read_bytes() == before


def test_a_process_that_holds_a_stored_key_keeps_its_memory_to_itself(program: Program) -> None:
    """No core dumps, as for a key in the environment."""
    seen: list[str] = []

    def look(request: Any) -> Any:
        seen.append(Path(f"/proc/{process.pid}/limits").read_text())
        return _hello()

    with ServerThread(look) as server:
        program.env["OPENAI_BASE_URL"] = server.base_url("openai-chat")
        program.run("login", "openai", stdin=KEY)
        process = program.start("-p", "hi", "--model", "openai/m")
        out, errors = process.communicate(timeout=60)
    assert out == "hello\n", errors
    assert re.search(r"Max core file size +0 +0 ", seen[0])
