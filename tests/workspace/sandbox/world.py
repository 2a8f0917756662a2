"""Something to escape to: a home with secrets, files, listeners and a process outside of a workspace."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SECRETS = (
    ".ssh/id_ed25519",
    ".netrc",
    ".aws/credentials",
    ".config/gh/hosts.yml",
    ".git-credentials",
    ".docker/config.json",
    ".local/share/keyrings/login.keyring",
    ".bash_history",
    "elsewhere/key",
    "state/sessions/s.jsonl",
    "config/settings.toml",
)


class World:
    """Made by the user who will try to get out; `top` must be theirs and no temporary folder."""

    def __init__(self, top: str) -> None:
        self.top = Path(tempfile.mkdtemp(dir=top))
        self.temporary = Path(tempfile.mkdtemp())
        self.workspace, self.home, self.out = self.top / "work", self.top / "home", self.top / "out"
        for folder in (self.workspace, self.home, self.out):
            folder.mkdir()
        self._files()
        self._repository()
        self._sockets: list[socket.socket] = []
        self.facts: dict[str, Any] = {
            "workspace": str(self.workspace),
            "home": str(self.home),
            "out": str(self.out),
            "temporary": str(self.temporary),
            "file": str(self.out / "file"),
            "mark": "9" + os.urandom(4).hex().translate(str.maketrans("abcdef", "123456")),
            "abstract": "probe-" + os.urandom(4).hex(),
        }
        self._listeners()
        self.victim = subprocess.Popen(
            ["sleep", self.facts["mark"]], env={"SECRET": "CANARY", "PATH": "/usr/bin:/bin"}
        )
        self.facts["victim"] = self.victim.pid
        self._shared()

    @property
    def environment(self) -> dict[str, str]:
        """For the program that tries."""
        return {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.home),
            "WORLD": json.dumps(self.facts),
            "LC_ALL": "C.UTF-8",
        }

    def close(self) -> None:
        """Leave nothing behind."""
        self.victim.kill()
        self.victim.wait()
        for sock in self._sockets:
            sock.close()
        ctypes.CDLL(None).shmctl(self._shm, 0, None)
        os.unlink(self.facts["shm_file"])
        shutil.rmtree(self.top, ignore_errors=True)
        shutil.rmtree(self.temporary, ignore_errors=True)

    def _files(self) -> None:
        for name in SECRETS:
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("CANARY\n")
        (self.home / ".gnupg").symlink_to("elsewhere")
        for name in ("file", "doomed", "first"):
            (self.out / name).write_text("ours\n")
        for name in (".husky/pre-commit", "sub/.zed/settings.json", "included.cfg"):
            (self.workspace / name).parent.mkdir(parents=True, exist_ok=True)
            (self.workspace / name).write_text("")

    def _repository(self) -> None:
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"]
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1"}

        def run(*words: str, cwd: Path = self.workspace) -> None:
            subprocess.run([*git, *words], cwd=cwd, env=env, check=True, capture_output=True)

        run("init")
        run("config", "include.path", "../included.cfg")
        run("commit", "--allow-empty", "-m", "first")
        inner = self.workspace / "sub" / "inner"
        inner.mkdir(parents=True)
        run("init", cwd=inner)
        run("worktree", "add", "-b", "other", "tree")

    def _listeners(self) -> None:
        def listen(family: int, address: Any) -> socket.socket:
            sock = socket.socket(family, socket.SOCK_STREAM)
            sock.bind(address)
            sock.listen(8)
            self._sockets.append(sock)
            threading.Thread(target=_answer, args=(sock,), daemon=True).start()
            return sock

        self.facts["tcp"] = listen(socket.AF_INET, ("127.0.0.1", 0)).getsockname()[1]
        try:
            self.facts["tcp6"] = listen(socket.AF_INET6, ("::1", 0)).getsockname()[1]
        except OSError:
            self.facts["tcp6"] = 9
        listen(socket.AF_UNIX, "\0" + self.facts["abstract"])
        for place in (self.out / "sock", self.temporary / "sock", self.workspace / "sock"):
            listen(socket.AF_UNIX, str(place))
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", 0))
        self._sockets.append(udp)
        self.facts["udp"] = udp.getsockname()[1]
        threading.Thread(target=_echo, args=(udp,), daemon=True).start()

    def _shared(self) -> None:
        key = int.from_bytes(os.urandom(3), "big") + 1
        self._shm = ctypes.CDLL(None).shmget(key, 1, 0o1600)
        self.facts["shm"] = key
        fd, path = tempfile.mkstemp(dir="/dev/shm")
        os.write(fd, b"CANARY")
        os.close(fd)
        self.facts["shm_file"] = path


def _answer(sock: socket.socket) -> None:
    while True:
        try:
            found, _ = sock.accept()
            found.recv(1)
            found.send(b"y")
            found.close()
        except OSError:
            if sock.fileno() < 0:
                return


def _echo(sock: socket.socket) -> None:
    while True:
        try:
            _, address = sock.recvfrom(1)
            sock.sendto(b"y", address)
        except OSError:
            return
