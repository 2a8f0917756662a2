"""`wisp -p` treated badly: the contract's exit code, one sentence, no traceback, JSON that says the same."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import sysconfig
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from process.program import Program, result_of
from process.server import ServerThread

import wisp
from wisp.testing import Request, Step

pytestmark = [pytest.mark.process, pytest.mark.timeout(600)]

FORMS = ["text", "json", "stream-json"]
TALK: list[dict[str, Any]] = [
    {
        "text": "I look at the file first. " * 10,
        "calls": [
            {"name": "read", "arguments": {"path": "a.txt"}},
            {"name": "bash", "arguments": {"command": "sleep 0.1; echo hi"}},
        ],
        "pause": 0.002,
    },
    {"text": "And write.", "calls": [{"name": "write", "arguments": {"path": "b.txt", "content": "x"}}]},
    {"text": "All done now. " * 20, "pause": 0.002},
]
INTERRUPTED = """
import os, signal, sys
from wisp.launch import entry
signal.signal(signal.SIGPROF, lambda *_: os.kill(os.getpid(), {number}))
sys.argv = ["wisp", *sys.argv[1:]]
signal.setitimer(signal.ITIMER_PROF, {seconds})
entry()
"""
"""The program, which sends itself a signal after so much of its own processor time: the same on a busy machine."""


def _talk() -> Callable[[Request], Step]:
    """`TALK`, and another answer for who asks again."""
    steps = iter([msgspec.convert(step, Step) for step in TALK])

    def choose(request: Request) -> Step:
        return Step(text="Again.") if b"and?" in request.body else next(steps)

    return choose


def _told(code: int, stdout: str, stderr: str, form: str) -> None:
    """What holds for every run, however it was treated."""
    assert "Traceback" not in stdout + stderr, stderr
    assert "Exception" not in stderr
    if form == "text":
        assert code == 0 or stderr.strip(), "it says why"
        assert len(stderr.strip().splitlines()) < 10
        return
    last = json.loads(stdout.splitlines()[-1])
    assert (last["type"], last["exit_code"], last["is_error"]) == ("result", code, code != 0)
    assert (last["subtype"] == "success") is (code == 0)
    assert (last["error"] is None) is (code == 0)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_a_signal_at_any_of_fifty_moments_ends_with_its_code_and_the_same_in_json(
    part: int, tmp_path: Path
) -> None:
    """From the first line of the program to its last; the session goes on, and no process is left."""
    for point in range(part * 5, part * 5 + 5):
        form, number = FORMS[point % 3], (signal.SIGINT, signal.SIGTERM)[point % 2]
        home = tmp_path / str(point)
        with ServerThread(_talk()) as server:
            program = Program(home / "home", home / "work", url=server.base_url("openai-chat"))
            (program.project / "a.txt").write_text("hello\n")
            code = INTERRUPTED.format(number=int(number), seconds=0.001 + 0.0032 * point)
            options = ["--permission-mode", "full", "--sandbox", "off", "--output-format", form]
            done = subprocess.run(
                [sys.executable, "-c", code, "-p", "go", *options],
                cwd=program.project,
                env=program.env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode in (128 + number, 0), (point, done.stderr)
            _told(done.returncode, done.stdout, done.stderr, form)
            if program.sessions():
                again = program.run("-p", "and?", "--continue", timeout=300)
                assert (again.returncode, again.stdout) == (0, "Again.\n"), again.stderr
                assert server.problems == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("form", FORMS)
def test_a_signal_while_the_prompt_is_awaited_is_told_like_any_other(
    form: str, number: int, tmp_path: Path
) -> None:
    """`-p -` reads until its input ends; here that never ends."""
    program = Program(tmp_path / "home", tmp_path / "work")
    reading, writing = os.pipe()
    code = (
        INTERRUPTED.format(number=number, seconds=0.2)
        .replace("ITIMER_PROF", "ITIMER_REAL")
        .replace("SIGPROF", "SIGALRM")
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "-p", "-", "--output-format", form],
        cwd=program.project, env=program.env, stdin=reading, capture_output=True, text=True, check=False,
    )  # fmt: skip
    os.close(reading)
    os.close(writing)
    assert done.returncode == 128 + number
    assert done.stderr == f"wisp: interrupted by {signal.Signals(number).name}, before anything ran\n"
    _told(done.returncode, done.stdout, done.stderr, form)


def test_a_hangup_that_whoever_started_it_ignores_ends_nothing(tmp_path: Path) -> None:
    """`nohup wisp -p ...`."""
    with ServerThread([{"text": "Hello there. " * 20, "pause": 0.002}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        code = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        code += INTERRUPTED.format(number=int(signal.SIGHUP), seconds=0.08)
        done = subprocess.run(
            [sys.executable, "-c", code, "-p", "go"], cwd=program.project, env=program.env,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, ("Hello there. " * 20).strip())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("prompt", "sent"),
    [("a\0b", "a\0b"), ("word " * 1_000_000, "word " * 1_000_000), (b"\xff\xfe a", "\ufffd\ufffd a"), ("\x1b[31mred", "\x1b[31mred")],
    ids=["NUL", "5 MB", "not UTF-8", "escape"],
)  # fmt: skip
def test_any_prompt_reaches_the_model_whole(
    prompt: str | bytes, sent: str, form: str, tmp_path: Path
) -> None:
    """Whatever bytes it is made of; and the session that kept it goes on."""
    with ServerThread([{"text": "Read."}, {"text": "Again."}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        done = subprocess.run(
            [*program.argv, "-p", "-", "--output-format", form],
            cwd=program.project,
            env=program.env,
            input=prompt if isinstance(prompt, bytes) else prompt.encode(),
            capture_output=True,
            check=False,
        )
        _told(done.returncode, done.stdout.decode(), done.stderr.decode(), form)
        assert done.returncode == 0, done.stderr
        assert json.loads(server.requests[0].body)["messages"][-1]["content"] == sent
        if len(sent) < 100:
            assert program.run("-p", "and?", "--continue").stdout == "Again.\n"
            assert server.problems == []


def test_a_prompt_larger_than_the_window_is_said_to_be_it(tmp_path: Path) -> None:
    """Not the instructions, which are small."""
    with ServerThread([{"text": "Read."}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        done = program.run("-p", "-", stdin="word " * 1_000_000)
    assert done.stderr.startswith("the last message alone takes about")


def test_a_terminal_of_ten_columns_gets_the_whole_answer(tmp_path: Path) -> None:
    """In a terminal that narrow, and in a pipe that says so."""
    answer = "A rather long answer with a verylongwordthatisnotbroken in it."
    with ServerThread([{"text": answer}, {"text": answer}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        assert program.run("-p", "hi", COLUMNS="10").stdout == answer + "\n"
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 10, 0, 0))
        running = program.start("-p", "hi", stdout=theirs, stderr=theirs)
        os.close(theirs)
        shown = _until_closed(ours)
        assert running.wait(100) == 0
    assert "".join(shown.split()) == "".join(answer.split())


def _until_closed(descriptor: int) -> str:
    found = b""
    while select.select([descriptor], [], [], 100)[0]:
        try:
            piece = os.read(descriptor, 4096)
        except OSError as exc:  # Linux says so when the last writer is gone
            assert exc.errno == errno.EIO
            break
        if not piece:
            break
        found += piece
    os.close(descriptor)
    return found.decode()


@pytest.mark.parametrize("form", FORMS)
def test_without_any_terminal_it_works(form: str, tmp_path: Path) -> None:
    """A session of its own, as under cron; standard streams closed or nowhere."""
    with ServerThread([{"text": "Hello."}, {"text": "Hello."}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        more = {"TERM": "", "LANG": "", "TMPDIR": "/nonexistent"}
        done = subprocess.run(
            [*program.argv, "-p", "hi", "--output-format", form],
            cwd=program.project, env={**program.env, **more}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, start_new_session=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        _told(0, done.stdout, done.stderr, form)
        closed = subprocess.run(
            ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *program.argv, "-p", "hi", "--output-format", form],
            cwd=program.project, env=program.env, check=False,
        )  # fmt: skip
        assert closed.returncode == 0


@pytest.mark.parametrize("form", FORMS)
def test_a_reader_that_leaves_after_one_byte_is_quiet(form: str, tmp_path: Path) -> None:
    """`wisp -p ... | head -c 1`: nothing on stderr but what the run did; 141, as of any program."""
    with ServerThread([{"text": "Hello there. " * 9000, "delta": 4000, "pause": 0.01}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        shell = '{ "$@"; echo "code $?" >&2; } | head -c 1'
        done = subprocess.run(
            ["bash", "-c", shell, "sh", *program.argv, "-p", "hi", "--output-format", form],
            cwd=program.project, env=program.env, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    assert done.stderr in ("code 141\n", "code 0\n")  # 0: `head` left when everything was written
    assert len(done.stdout) == 1


@pytest.mark.parametrize("form", FORMS)
def test_a_device_that_is_full_is_a_failure_in_one_sentence(form: str, tmp_path: Path) -> None:
    """Nothing can be told on stdout; the exit code and stderr still do."""
    with ServerThread([{"text": "Hello."}]) as server, open("/dev/full", "w") as full:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        running = program.start("-p", "hi", "--output-format", form, stdout=full)
        _, stderr = running.communicate(timeout=100)
    assert running.returncode == 1
    assert stderr == "wisp: standard output cannot be written: No space left on device\n"


OTHERS = "/usr/bin/python3"
"""A Python that every user can start; the developer's own may lie in a folder that is closed to others."""


def _as_somebody(
    program: Program, uid: int, *args: str, env: dict[str, str], folder: Path
) -> subprocess.CompletedProcess[str]:
    """Run it as another user where we are root, as ourselves otherwise."""
    if os.geteuid() == 0:
        version = subprocess.run(
            [OTHERS, "-c", "import sys; print(sys.version_info[:2])"], capture_output=True, text=True
        )
        if version.stdout.strip() != str(sys.version_info[:2]):
            pytest.skip(f"{OTHERS} is another Python, whose modules differ")
    user = {"user": uid, "group": uid, "extra_groups": []} if os.geteuid() == 0 else {}
    places = [str(Path(wisp.__file__).parents[1]), sysconfig.get_path("purelib")]
    python = OTHERS if os.geteuid() == 0 else sys.executable
    return subprocess.run(
        [python, "-m", "wisp", *args],
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": ":".join(places),
            "PYTHONDONTWRITEBYTECODE": "1",
            **env,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        **user,  # type: ignore[call-overload]
    )


@pytest.fixture
def open_folder() -> Path:
    """A folder that every user can write in, on a path that every user can walk."""
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="wisp-test-", dir="/tmp"))
    folder.chmod(0o777)
    yield folder  # type: ignore[misc]
    shutil.rmtree(folder)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("home", ["none", "empty", "relative", "read-only"])
def test_without_a_home_it_says_so_or_works_without_one(
    home: str, form: str, tmp_path: Path, open_folder: Path
) -> None:
    """And never makes a folder named `~` or `.local` in the project."""
    (open_folder / "home").mkdir(mode=0o555)
    env = {
        "none": {},
        "empty": {"HOME": ""},
        "relative": {"HOME": "home"},
        "read-only": {"HOME": str(open_folder / "home")},
    }
    with ServerThread([{"text": "Hello."}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work")
        model = ["--base-url", server.base_url("openai-chat"), "--model", "m"]
        args = ["-p", "hi", *model, "--output-format", form]
        if os.geteuid() == 0 or home in ("relative", "read-only"):  # else the user has an entry, and a home
            done = _as_somebody(program, 54321, *args, env=env[home], folder=open_folder)
            assert done.returncode == 1, done.stderr
            assert "--no-session" in done.stderr
            assert ("no home folder is known: set HOME" in done.stderr) is (home != "read-only")
            _told(1, done.stdout, done.stderr, form)
            assert server.requests == []
            done = _as_somebody(program, 54321, *args, "--no-session", env=env[home], folder=open_folder)
            assert done.returncode == 0, done.stderr
            _told(0, done.stdout, done.stderr, form)
    assert sorted(path.name for path in open_folder.iterdir()) == ["home"]
    assert list((open_folder / "home").iterdir()) == []


@pytest.mark.parametrize("form", ["json", "stream-json"])
def test_a_bug_is_one_sentence_and_a_result_and_its_trace_can_be_had(form: str, tmp_path: Path) -> None:
    """A module that cannot be imported stands for what nobody expected."""
    program = Program(tmp_path / "home", tmp_path / "work")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/h11.py").write_text("raise ZeroDivisionError('odd')\n")
    args = ["-p", "hi", "--output-format", form]
    done = program.run(*args, PYTHONPATH=str(tmp_path / "broken"))
    assert done.returncode == 1
    assert done.stderr.startswith("wisp: this is a bug in wisp: ZeroDivisionError: odd (h11.py:1)")
    assert result_of(done)["error"] in done.stderr
    _told(1, done.stdout, done.stderr, form)
    whole = program.run(*args, PYTHONPATH=str(tmp_path / "broken"), WISP_TRACEBACK="1")
    assert "Traceback" in whole.stderr


@pytest.mark.parametrize(("args", "said"), [(["-p", ""], "the prompt is empty"), (["-p", "x", "--cwd", "/dev/null"], "is not a folder"), (["-p", "x", "--attach", "no.txt"], "cannot be attached")])  # fmt: skip
def test_the_form_that_the_environment_asks_for_holds_for_every_failure(
    args: list[str], said: str, tmp_path: Path
) -> None:
    with ServerThread([]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        done = program.run(*args, WISP_OUTPUT_FORMAT="json")
    assert done.returncode == 2
    assert said in result_of(done)["error"]
    _told(2, done.stdout, done.stderr, "json")
