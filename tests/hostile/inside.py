"""The whole program in a forked child: as any user, in any of the three sandbox configurations, without its start-up.

What is set up is made by us and then given to the user; the model is a server in this process.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from hostile.site import PYTHON, ROOT, USERS, Config
from process.program import KEY, SETTINGS
from process.server import ServerThread
from workspace.users import NOBODY, need_open_checkout

from wisp.testing.requests import Request
from wisp.testing.steps import Call, Step

PROGRAMS = (
    "sh",
    "bash",
    "git",
    "touch",
    "cat",
    "sleep",
    "setsid",
    "nohup",
    "env",
    "grep",
    "sed",
    "ls",
    "python3",
)
_WARM: set[str] = set()
ENDS = 60.0
"""Seconds after which a run that did not end hangs."""


class Done(NamedTuple):
    """How a run ended, and what it said."""

    code: int
    out: str
    err: str


class Model:
    """A model that makes one call and then says that it is done."""

    def __init__(self) -> None:
        self.call = Call("bash", {"command": "touch asked"})
        self._server = ServerThread(self._step)

    def _step(self, request: Request) -> Step:
        return Step(text="done") if request.results else Step(calls=(self.call,))

    def __enter__(self) -> Model:
        self._server.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.__exit__(*exc)

    @property
    def url(self) -> str:
        """What settings name."""
        return self._server.base_url("openai-chat")

    @property
    def requests(self) -> list[Request]:
        """All there were."""
        return self._server.requests

    def runs(self, command: str, **more: object) -> None:
        """The command that the model asks for from now on."""
        self.call = Call("bash", {"command": command, **more})


class Inside:
    """A home, a project and a folder outside of it, of one user; `run` and `start` are the program in it."""

    def __init__(self, top: Path, uid: int, config: Config, url: str, more: str = "") -> None:
        self.top, self.uid, self.config = top, uid, config
        self.home, self.project, self.out = top / "home", top / "work", top / "out"
        for folder in (self.home / "config", self.home / "tmp", self.project, self.out):
            folder.mkdir(parents=True)
        settings = SETTINGS.format(api="openai-chat", url=url, more="")
        sandbox = 'sandbox = "off"\n' if config == "none" else ""
        (self.home / "config" / "settings.toml").write_text(sandbox + settings + more)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "WISP_HOME": str(self.home),
            "LOCAL_KEY": KEY,
            "LANG": "C.UTF-8",
            "TMPDIR": str(self.home / "tmp"),
        }
        self.foreign: dict[Path, int] = {}
        """What belongs to somebody else."""
        if config == "landlock":
            self.env["PATH"] = str(top / "bin")
            (top / "bin").mkdir()
            for name in PROGRAMS:
                (top / "bin" / name).symlink_to(shutil.which(name, path="/usr/bin:/bin") or "/nonexistent")

    def fill(self, files: dict[str, str], folder: Path | None = None) -> None:
        """Files in the project; those that begin as scripts do can be run."""
        for name, text in files.items():
            path = (folder or self.project) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            if text.startswith("#!"):
                path.chmod(0o755)

    def own(self) -> None:
        """Everything belongs to the user."""
        for folder, inner, files in os.walk(self.top):
            for name in (*inner, *files, "."):
                os.chown(os.path.join(folder, name), self.uid, self.uid, follow_symlinks=False)
        for path, uid in self.foreign.items():
            os.chown(path, uid, uid)

    def start(self, *words: str) -> int:
        """The process of the program."""
        flags = os.O_CREAT | os.O_TRUNC | os.O_WRONLY
        self._said = {name: os.open(self.top / name, flags, 0o644) for name in ("stdout", "stderr")}
        (self.top / "modules").touch()
        self.own()
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            try:
                self._become(words)
            except BaseException:
                import traceback

                traceback.print_exc()
            finally:
                os._exit(99)
        for descriptor in self._said.values():
            os.close(descriptor)
        return pid

    def run(self, *words: str) -> Done:
        """The program to its end."""
        return self.ended(self.start(*words))

    def ended(self, pid: int) -> Done:
        """What became of a process that was started; one that hangs is killed, and that is a failure."""
        deadline = time.monotonic() + ENDS
        while True:
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                break
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                raise AssertionError("it does not end")
            time.sleep(0.005)
        _import((self.top / "modules").read_text().split())
        said = [(self.top / name).read_text("utf-8", "replace") for name in ("stdout", "stderr")]
        return Done(os.waitstatus_to_exitcode(status), *said)

    def said(self) -> str:
        """What the program said on standard error so far."""
        return (self.top / "stderr").read_text("utf-8", "replace")

    def left(self) -> set[str]:
        """Names below the project."""
        return {path.name for path in self.project.rglob("*")}

    def _become(self, words: tuple[str, ...]) -> None:
        os.setsid()
        for number, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(self._said[name], number)
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(self.uid)
            os.setuid(self.uid)
        if self.uid == NOBODY:
            sys.executable = PYTHON  # ours may lie where this user cannot go
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        faulthandler.disable()
        os.chdir(self.project)
        os.environ.clear()
        os.environ.update(self.env)
        tempfile.tempdir = None
        for number in range(3):
            stream = open(  # noqa: SIM115  (for the rest of the process)
                number, "r" if number == 0 else "w", encoding="utf-8", closefd=False
            )
            setattr(sys, ("stdin", "stdout", "stderr")[number], stream)
        sys.argv = ["wisp", *words]
        from wisp.frontends.cli import signals
        from wisp.launch import main

        if words[:1] == ("-p",):
            signals.arm()
        code = main()
        sys.stdout.flush()
        sys.stderr.flush()
        with suppress(OSError):
            (self.top / "modules").write_text(" ".join(sys.modules))
        os._exit(code)


def _import(names: list[str]) -> None:
    """What a run of ours imported, so that one of a user who may not read the interpreter finds it there."""
    for name in names:
        if name not in sys.modules and "__main__" not in name:
            with suppress(Exception):
                importlib.import_module(name)


def everywhere(config: Config, work: Callable[[Callable[..., Inside], Model], object]) -> None:
    """Do `work` as root and as an ordinary user (or as ourselves) in one configuration; it is given a maker of places."""
    if len(USERS) > 1 and config not in _WARM:  # what the other user cannot import is imported by then
        _WARM.add(config)
        with Model() as model, _places(os.geteuid(), config, model) as make:
            for options in ((), ("--permission-mode", "full")):
                assert make().run("-p", "hi", *options).code in (0, 6)
    for uid in USERS:
        need_open_checkout(uid)
        with Model() as model, _places(uid, config, model) as make:
            work(make, model)


@contextmanager
def _places(uid: int, config: Config, model: Model) -> Iterator[Callable[..., Inside]]:
    top = Path(tempfile.mkdtemp(prefix=".hostile-", dir=ROOT))
    top.chmod(0o755)
    made = iter(range(10_000))

    def make(more: str = "") -> Inside:
        folder = top / str(next(made))
        folder.mkdir()
        return Inside(folder, uid, config, model.url, more)

    try:
        yield make
    finally:
        shutil.rmtree(top, ignore_errors=True)


def sleepers(mark: str) -> int:
    """How many `sleep MARK` there are on this machine."""
    found = 0
    for name in os.listdir("/proc"):
        with suppress(OSError):
            words = Path("/proc", name, "cmdline").read_bytes().split(b"\0") if name.isdigit() else []
            found += words[:2] == [b"sleep", mark.encode()]
    return found


def until(true: Callable[[], bool], seconds: float = 20) -> bool:
    """Wait for something; whether it came."""
    deadline = time.monotonic() + seconds
    while not (found := true()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


def toml(value: object) -> str:
    """A text or a list of texts as TOML spells them."""
    return json.dumps(value)
