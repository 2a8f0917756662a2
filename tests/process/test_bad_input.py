"""Whatever a person or a machine gets wrong: one clear sentence, the right exit code, never a traceback."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from process.program import Program, result_of
from process.server import ServerThread

pytestmark = pytest.mark.process


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """A program whose endpoint is dead."""
    return Program(tmp_path / "home", tmp_path / "work")


def _clean(done: subprocess.CompletedProcess[str]) -> None:
    assert "Traceback" not in done.stdout + done.stderr
    assert (done.stdout + done.stderr).strip()


CASES = [
    (["--no-such-option"], 2, "--no-such-option"),
    (["-p", "x", "--max-turns", "0"], 2, "max-turns"),
    (["-p", "x", "--max-turns", "many"], 2, "max-turns"),
    (["-p", "x", "--permission-mode", "yolo"], 2, "permission-mode"),
    (["-p", "x", "--allow", "not a rule("], 2, "rule"),
    (["-p", "x", "--continue", "--resume", "abc"], 2, "exclude"),
    (["-p", "x", "--resume", "zzzzzz"], 2, "zzzzzz"),
    (["-p", "x", "--resume", ""], 2, "--resume needs"),
    (["undo", "--resume", ""], 2, "--resume needs"),
    (["-p", "x", "--model", "nowhere/none"], 3, "local/test-model"),
    (["-p", "x", "--provider", "nowhere"], 3, "local/test-model"),
    (["-p", "x", "--cwd", "/no/such/folder"], 2, "/no/such/folder"),
    (["-p", "x", "--tools", "read,fly"], 2, "fly"),
    (["-p", "x", "--system-prompt", "/no/such/file"], 2, "/no/such/file"),
    (["-p", "x", "--system-prompt", "/dev/zero"], 2, "too large"),
    (["-p", "x", "--output-schema", "/dev/zero"], 2, "too large"),
    (["-p", "x", "--model", "m", "--base-url", "ftp://x"], 3, "http:// or https://"),
    (["-p", "x", "two", "words"], 2, "two"),
    (["-p", ""], 2, "empty"),
    (["sessions", "show", "zzzz"], 1, "zzzz"),
    (["sessions", "fly"], 2, "sessions"),
    (["trust", "maybe"], 2, "trust"),
    (["trust", "allow", "/no/such/folder"], 2, "/no/such/folder"),
    (["config", "fly"], 2, "config"),
    (["doctor", "--nope"], 2, "--nope"),
    (["hello"], 2, "-p"),
    (["-p", "x", "--permision-mode=full"], 2, "(did you mean '--permission-mode'?)"),
    (["-p", "x", "--permission-mode", "ful"], 2, "(did you mean 'full'?)"),
    (["sesions", "list"], 2, "there is no command 'sesions' (did you mean 'sessions'?)"),
    (["docter", "--json"], 2, "(did you mean 'doctor'?)"),
    (["sessions", "lits"], 2, "(did you mean 'list'?)"),
    (["-p", "x", "--model", "antropic/claude"], 3, "(did you mean 'anthropic'?)"),
    (["-p", "x", "--provider", "lokal"], 3, "(did you mean 'local'?)"),
    (["config", "set", "permision_mode", "full"], 2, "(did you mean 'permission_mode'?)"),
]


@pytest.mark.parametrize(
    ("args", "code", "named"), CASES, ids=lambda v: " ".join(v) if isinstance(v, list) else None
)
def test_a_wrong_command_line_is_named(args: list[str], code: int, named: str, program: Program) -> None:
    """Exit 2 for usage, 3 for configuration, and the sentence names what was wrong."""
    done = program.run(*args)

    _clean(done)
    assert code == done.returncode, done.stderr
    assert named in done.stdout + done.stderr


def test_no_terminal_and_no_prompt_is_help_and_exit_2(program: Program) -> None:
    """Bare `wisp` in a script explains itself."""
    done = program.run()

    assert (done.returncode, done.stdout.startswith("usage: wisp")) == (2, True)


def test_a_missing_key_names_the_variable(tmp_path: Path) -> None:
    """The next step stands in the message."""
    program = Program(tmp_path / "home", tmp_path / "work", api="")
    done = program.run("-p", "x", "--model", "openai/gpt-5")

    _clean(done)
    assert done.returncode == 3
    assert "OPENAI_API_KEY" in done.stderr


def test_nothing_configured_explains_three_ways(tmp_path: Path) -> None:
    """A newcomer learns how to go on."""
    done = Program(tmp_path / "home", tmp_path / "work", api="").run("-p", "x")

    _clean(done)
    assert done.returncode == 3
    assert all(word in done.stderr for word in ("ANTHROPIC_API_KEY", "--base-url", "wisp demo"))


def test_a_dead_endpoint_ends_with_4_and_a_result(program: Program) -> None:
    """After the retries, within the deadline."""
    done = program.run("-p", "x", "--output-format", "json", "--max-retries", "1", timeout=90)

    _clean(done)
    result = result_of(done)
    assert (
        done.returncode,
        result["subtype"],
        result["stop_reason"],
        result["is_error"],
    ) == (4, "error_provider", "provider_failure", True)
    assert "is the server running?" in done.stdout


def test_a_refused_key_is_configuration(tmp_path: Path) -> None:
    """401 is exit 3, said in a sentence, and the key is not echoed."""
    from process.program import KEY

    fault = {"status": 401, "body": f'{{"error":{{"message":"bad key {KEY}"}}}}', "times": 9}
    with ServerThread([{"text": "x", "fault": fault}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        done = program.run("-p", "x", "--output-format", "json")

    _clean(done)
    assert (done.returncode, result_of(done)["subtype"]) == (3, "error_configuration")
    assert KEY not in done.stdout + done.stderr


@pytest.mark.parametrize("text", ["model = [broken\n", 'model = "x"\n[providers\n', "a = 1\na = 2\n"])
def test_a_broken_settings_file_is_named_with_its_line(text: str, program: Program) -> None:
    """With --strict-config it is an error; without, the rest still works and the file is named."""
    path = program.home / "config" / "settings.toml"
    path.write_text(text)

    strict = program.run("-p", "x", "--strict-config")
    lax = program.run("-p", "x", "--base-url", "http://127.0.0.1:9", "--max-retries", "0")

    _clean(strict)
    assert strict.returncode == 3
    assert "settings.toml, line " in strict.stderr
    _clean(lax)
    assert lax.returncode == 4
    assert "settings.toml, line " in lax.stderr


def test_a_broken_settings_file_is_named_before_the_model_it_hides(tmp_path: Path) -> None:
    """Who configured a model in a file that cannot be read learns about the file."""
    program = Program(tmp_path / "home", tmp_path / "work", api="")
    (program.home / "config" / "settings.toml").write_text("model = [broken\n")
    done = program.run("-p", "x")

    _clean(done)
    assert done.returncode == 3
    assert done.stderr.index("settings.toml, line 1") < done.stderr.index("no model is configured")


def test_a_settings_file_that_is_not_utf8_is_named(program: Program) -> None:
    """Line 2 of the file holds the byte."""
    (program.home / "config" / "settings.toml").write_bytes(b'effort = "low"\nmodel = "caf\xe9"\n')
    done = program.run("-p", "x", "--strict-config")

    _clean(done)
    assert done.returncode == 3
    assert "settings.toml, line 2" in done.stderr


def test_a_file_that_is_not_utf8_is_told_to_the_model_not_to_the_person(tmp_path: Path) -> None:
    """Binary content becomes an observation."""
    steps = [{"text": "x", "calls": [{"name": "read", "arguments": {"path": "blob.bin"}}]}, {"text": "ok"}]
    with ServerThread(steps) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        (program.project / "blob.bin").write_bytes(bytes(range(256)) * 8)
        done = program.run("-p", "x")
        told = server.requests[1].last_result

    assert (done.returncode, done.stdout) == (0, "ok\n")
    assert "binary" in told.lower()


def test_a_session_folder_that_cannot_be_written_is_named(program: Program) -> None:
    """A file stands where the folder should be."""
    (program.home / "state").write_text("in the way")
    done = program.run("-p", "x")

    _clean(done)
    assert done.returncode == 1
    assert "--no-session" in done.stderr


def test_a_closed_stdin_is_no_obstacle_when_there_is_a_prompt(tmp_path: Path) -> None:
    """And a clear error when the prompt was to come from it."""
    with ServerThread([{"text": "ok"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        command = " ".join(program.argv)
        with_prompt = subprocess.run(
            f"{command} -p hi <&-",
            shell=True,
            env=program.env,
            cwd=program.project,
            capture_output=True,
            text=True,
            check=False,
        )
        without = subprocess.run(
            f"{command} -p - <&-",
            shell=True,
            env=program.env,
            cwd=program.project,
            capture_output=True,
            text=True,
            check=False,
        )

    assert (with_prompt.returncode, with_prompt.stdout) == (0, "ok\n"), with_prompt.stderr
    _clean(without)
    assert without.returncode == 2


def test_an_open_silent_stdin_does_not_block(tmp_path: Path) -> None:
    """A parent that never writes and never closes its end."""
    with ServerThread([{"text": "ok"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        process = program.start("-p", "hi", stdin=subprocess.PIPE)
        assert process.wait(30) == 0
        assert process.stdin and process.stdout and process.stderr
        assert process.stdout.read() == "ok\n"
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


def test_piped_text_joins_the_prompt(tmp_path: Path) -> None:
    """`cat log | wisp -p "explain"`."""
    with ServerThread([{"text": "ok"}, {"text": "ok"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        program.run("-p", "explain this", stdin="the log\n")
        program.run("-p", "-", stdin="---\ntitle: all of it\n")
        said = [request.json["messages"][-1]["content"] for request in server.requests]

    assert "explain this\n\nthe log" in str(said[0]).replace("\\n", "\n")
    assert "title: all of it" in str(said[1])


@pytest.mark.parametrize("args", [["-p=hello there"], ["-phello there"], ["--prompt=hello there"]])
def test_a_prompt_may_be_attached_to_its_option(args: list[str], tmp_path: Path) -> None:
    with ServerThread([{"text": "ok"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        done = program.run(*args, "--output-format", "json")
        assert (done.returncode, json.loads(done.stdout)["result"]) == (0, "ok")
        assert server.requests[0].json["messages"][-1]["content"] == "hello there"
    wrong = program.run(*args, "--no-such-option", "--output-format", "json")
    assert (wrong.returncode, json.loads(wrong.stdout)["exit_code"]) == (2, 2)


def test_a_prompt_that_looks_like_options_is_a_prompt(tmp_path: Path) -> None:
    """Front matter begins with dashes."""
    with ServerThread([{"text": "ok"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        done = program.run("-p", "---\ntitle: x\n---\nhi")
        said = str(server.requests[0].json["messages"][-1]["content"])

    assert done.returncode == 0
    assert "title: x" in said


def test_a_deleted_working_directory_is_a_sentence_and_version_still_works(tmp_path: Path) -> None:
    """`--version` needs no folder at all."""
    program = Program(tmp_path / "home", tmp_path / "work")
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f"cd {gone} && rmdir {gone} && {' '.join(program.argv)}"
    version = subprocess.run(
        f"{command} --version", shell=True, env=program.env, capture_output=True, text=True, check=False
    )
    run = subprocess.run(
        f"{command} -p hi", shell=True, env=program.env, capture_output=True, text=True, check=False
    )

    assert (version.returncode, version.stdout[:5]) == (0, "wisp "), version.stderr
    _clean(run)
    assert run.returncode == 2


def test_a_reader_that_leaves_is_quiet(tmp_path: Path) -> None:
    """`wisp ... | head -c 1`: no traceback, no complaint."""
    with ServerThread([{"text": "word " * 20000}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        command = f"{' '.join(program.argv)} -p hi --output-format stream-json | head -c 1"
        done = subprocess.run(
            command,
            shell=True,
            env=program.env,
            cwd=program.project,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
            timeout=60,
        )

    assert (done.stdout, done.stderr) == ("{", "")


def test_yes_without_a_sandbox_refuses_and_names_full(program: Program) -> None:
    """It never silently means more than it says."""
    done = program.run("-p", "x", "--yes", PATH="/nonexistent")

    _clean(done)
    assert done.returncode == 3
    assert "--permission-mode full" in done.stderr


@pytest.mark.parametrize("asked", [["--output-format", "json"], ["--output-format=stream-json"]], ids=str)
def test_a_wrong_option_in_a_json_mode_still_gives_the_result_object(
    asked: list[str], program: Program
) -> None:
    """The one line on stdout that a script reads is there, and says what the exit code says."""
    done = program.run("-p", "x", "--max-turns", "0", *asked)

    result = result_of(done)
    assert (done.returncode, result["exit_code"], result["is_error"]) == (2, 2, True)
    assert "--max-turns" in result["error"]


def _shell(program: Program, command: str, **env: str) -> subprocess.CompletedProcess[str]:
    words = " ".join(program.argv)
    return subprocess.run(
        ["bash", "-c", command.replace("WISP", words)],
        cwd=program.project,
        env={**program.env, **env},
        text=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )


def test_a_closed_stream_is_quiet_and_changes_nothing(tmp_path: Path) -> None:
    """Neither a traceback nor another exit code than the result object has."""
    with ServerThread([{"text": "well"}, {"text": "well"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        out = _shell(program, "WISP -p hi >&-")
        err = _shell(program, "WISP -p hi --output-format json 2>&-")

    assert (out.returncode, out.stdout, out.stderr) == (0, "", "")
    assert (err.returncode, result_of(err)["exit_code"], err.stderr) == (0, 0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(
    "args", ["-p hi", "-p hi --output-format json", "--version", "--help", "models --all"]
)
def test_an_output_that_takes_nothing_is_a_failure_in_one_sentence(args: str, tmp_path: Path) -> None:
    """A full disk is not a reader that left, and no traceback."""
    with ServerThread([{"text": "well"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        done = _shell(program, f"WISP {args} >/dev/full")

    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "No space left on device" in done.stderr


def test_a_reader_that_leaves_a_list_is_nothing_to_tell(program: Program) -> None:
    """`wisp models --all | head -1`."""
    done = _shell(program, "WISP models --all | true; echo ${PIPESTATUS[0]}")

    assert (done.stdout, done.stderr) == ("141\n", "")


def test_a_locale_without_the_character_is_no_reason_to_fail(tmp_path: Path) -> None:
    """It is spelled out instead."""
    with ServerThread([{"text": "caf\u00e9"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        done = program.run("-p", "hi", PYTHONIOENCODING="ascii")

    assert (done.returncode, done.stdout, done.stderr) == (0, "caf\\xe9\n", "")


def test_more_input_than_is_read_is_refused_and_not_cut(program: Program) -> None:
    """A prompt whose end is missing asks for something else."""
    done = program.run("-p", "-", stdin="x" * 10_000_001)

    assert done.returncode == 2
    assert "10,000,000 bytes" in done.stderr


def test_an_answer_that_was_cut_costs_an_unknown_amount(tmp_path: Path) -> None:
    """It was paid for, and nobody was told what: null, never 0; and the reason is a sentence."""
    with ServerThread([{"text": "slow " * 100, "pause": 0.2}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        result = result_of(program.run("-p", "hi", "--output-format", "json", "--max-time", "1"))

    assert (result["num_turns"], result["total_cost_usd"], result["usage"]["output_tokens"]) == (
        1,
        None,
        None,
    )
    assert result["error"] == "the time of --max-time is used up"
    assert result["provider_ms"] > 0


def test_an_ignored_setting_is_told_in_json_mode_too(tmp_path: Path) -> None:
    """What does not hold is nothing to be silent about; stdout stays one object."""
    with ServerThread([{"text": "well"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        done = program.run("-p", "hi", "--output-format", "json", WISP_MAX_RETRIES="many")

    assert (done.returncode, result_of(done)["result"]) == (0, "well")
    assert "WISP_MAX_RETRIES" in done.stderr


@pytest.mark.parametrize(
    "setting",
    [
        "max_turns = 'many'",
        "max_cost = -1",
        "sandbox = 'requird'",
        "permission_mode = 'readonly'",
        "tools = 7",
    ],
)
def test_a_limit_that_cannot_be_read_is_not_a_run_without_it(setting: str, program: Program) -> None:
    """The person meant a bound; going on would be a run without one."""
    path = program.home / "config" / "settings.toml"
    path.write_text(setting + "\n" + path.read_text())

    done = program.run("-p", "hi", "--output-format", "json")

    _clean(done)
    assert done.returncode == 3
    told = done.stdout + done.stderr
    assert "settings.toml, line 1: " + setting.partition(" ")[0] in told
    assert "ignored" not in told


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("max_turn = 1\n", "did you mean 'max_turns'?"),
        ("[permission]\ndeny = ['read(**/.env)']\n", "did you mean 'permissions'?"),
        ("[permissions]\ndenny = ['read(**/.env)']\n", "did you mean 'deny'?"),
        ("[limits]\nmax_cost = 1\n", "at the top of the file"),
    ],
)
def test_a_limit_in_another_spelling_is_not_a_run_without_it(text: str, named: str, program: Program) -> None:
    """Any other name that is none stays a note, and the run goes on."""
    path = program.home / "config" / "settings.toml"
    settings = path.read_text()
    path.write_text(
        "modle = 'x'\n" + settings + text if text[0] == "[" else "modle = 'x'\n" + text + settings
    )
    done = program.run("-p", "hi")

    _clean(done)
    assert done.returncode == 3
    assert named in done.stderr and "modle" not in done.stderr


def test_a_model_that_its_provider_does_not_list_is_named_with_those_it_does(program: Program) -> None:
    """A slip of the pen is no request; an address given by hand may serve anything."""
    slip = program.run("-p", "x", "--model", "local/test-modle")
    other = program.run(
        "-p", "x", "--model", "local/other", "--base-url", "http://127.0.0.1:9", "--max-retries", "0"
    )

    _clean(slip)
    assert slip.returncode == 3
    assert "'test-modle'" in slip.stderr
    assert "local/test-model" in slip.stderr
    assert other.returncode == 4


def test_a_run_that_cannot_begin_answers_in_the_form_that_the_environment_asks_for(tmp_path: Path) -> None:
    program = Program(tmp_path / "home", tmp_path / "project", api="")
    program.env["WISP_OUTPUT_FORMAT"] = "json"
    done = program.run("-p", "go", "--model", "nowhere/model")

    assert done.returncode == 3
    assert result_of(done)["exit_code"] == 3
    assert program.run("-p", "go", "--model", "nowhere/model", "--output-format", "text").stdout == ""
