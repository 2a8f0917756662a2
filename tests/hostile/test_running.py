"""Processes, secrets and networks against a command that means harm, by effect, in every configuration."""

from __future__ import annotations

import os
import resource
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hostile.site import CONFIGS, Config, Consent, Site, each_user

CANARY = "canary-7f3a91"


@contextmanager
def listeners() -> Iterator[tuple[dict[str, str], list[str]]]:
    """Something to reach on this machine; the list fills with the names of what was reached."""
    reached: list[str] = []
    tcp = socket.create_server(("127.0.0.1", 0))
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    abstract = socket.socket(socket.AF_UNIX)
    name = "hostile-" + os.urandom(6).hex()
    abstract.bind("\0" + name)
    abstract.listen(8)
    open_ = True

    def wait(sock: socket.socket, name: str, stream: bool) -> None:
        while open_:
            try:
                if stream:
                    sock.accept()[0].close()
                else:
                    sock.recvfrom(64)
            except OSError:
                return
            if open_:
                reached.append(name)

    socks = [(tcp, "tcp", True), (udp, "udp", False), (abstract, "abstract", True)]
    for sock, label, stream in socks:
        sock.settimeout(20)
        threading.Thread(target=wait, args=(sock, label, stream), daemon=True).start()
    try:
        yield {"tcp": str(tcp.getsockname()[1]), "udp": str(udp.getsockname()[1]), "abstract": name}, reached
    finally:
        open_ = False
        for sock, _, stream in socks:
            if stream:
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()


WAYS = {
    "tcp": "exec 3<>/dev/tcp/127.0.0.1/{tcp}",
    "udp": "echo x >/dev/udp/127.0.0.1/{udp}",
    "abstract": "python3 -c \"import socket; socket.socket(1).connect(b'\\0{abstract}')\"",
    "no_proxy": "NO_PROXY='*' no_proxy='*' curl -s -m 2 http://127.0.0.1:{tcp}",
    "no_proxy_at_all": "env -i /usr/bin/curl -s -m 2 --noproxy '*' http://127.0.0.1:{tcp}",
}


def _reach(site: Site, config: Config, network: str) -> list[str]:
    with listeners() as (places, reached):
        for way in WAYS.values():
            site.bash(config, "auto", way.format(**places), person=Consent(), network=network)
        deadline = threading.Event()
        for _ in range(20):
            if len(reached) >= len(WAYS) or config != "none":
                break
            deadline.wait(0.05)
        return sorted(set(reached))


@pytest.mark.parametrize("network", ["none", "example.test"])
def test_no_way_leads_to_this_machines_network(network: str) -> None:
    def work(make: Callable[[], Site]) -> None:
        site = make()
        assert _reach(site, "bubblewrap", network) == []
        assert _reach(site, "landlock", network) == []
        assert _reach(site, "none", network) == ["abstract", "tcp", "udp"], "without a box they do lead there"

    each_user(work)


@pytest.mark.parametrize("config", CONFIGS)
def test_no_key_of_the_agent_shows_in_what_a_command_can_see(config: Config) -> None:
    def work(make: Callable[[], Site]) -> None:
        from wisp.workspace.private import keep_private

        os.environ["A_KEY"] = CANARY
        keep_private({"A_KEY"})
        site = make()
        (site.home / ".ssh").mkdir()
        for name in (".ssh/id_ed25519", ".netrc", ".aws-note"):
            (site.home / name).write_text(CANARY)
        tries = (
            "tr '\\0' '\\n' </proc/$PPID/environ",
            "tr '\\0' '\\n' </proc/1/environ | grep canary",
            "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep canary",
            "env; export -p; set | head -50",
            "cat /proc/*/cmdline | tr '\\0' ' '",
            "cat ~/.ssh/id_ed25519 ~/.netrc",
            "printf 'protocol=https\\nhost=x.test\\n\\n' | git credential fill; ssh-add -l; secret-tool search x y",
        )
        for command in tries:
            said = site.bash(config, "auto", command, person=Consent()).text
            if config == "none" and "netrc" in command:
                assert CANARY in said, "without a box the files can be read: the test sees them"
            else:
                assert CANARY not in said, command

    each_user(work)


@pytest.mark.parametrize("config", CONFIGS)
def test_nothing_outlives_a_command_however_it_hides(config: Config) -> None:
    def work(make: Callable[[], Site]) -> None:
        site = make()
        mark = f"97{os.getpid()}"
        hostile = (
            f"trap '' TERM INT HUP; sleep {mark} & (setsid sleep {mark} &); (sh -c 'sleep {mark} & exit 0' &);"
            f"nohup setsid sh -c \"trap '' TERM; sleep {mark}\" >/dev/null 2>&1 & "
        )
        for end, timeout in (("echo done", 20), (f"sleep {mark}", 1)):
            call = ("bash", {"command": hostile + end, "timeout": timeout})
            outcome = site.call(config, "auto", call, person=Consent())[0]
            assert outcome.code == ("timeout" if timeout == 1 else ""), outcome.text
            assert _sleeping(mark) == 0

    each_user(work)


def _sleeping(mark: str) -> int:
    found = 0
    for name in os.listdir("/proc"):
        try:
            words = Path("/proc", name, "cmdline").read_bytes().split(b"\0") if name.isdigit() else []
        except OSError:
            continue
        found += words[:2] == [b"sleep", mark.encode()]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS)
def test_commands_that_wait_for_a_terminal_or_say_too_much_end_and_cost_little(config: Config) -> None:
    def work(make: Callable[[], Site]) -> None:
        site = make()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # of all tests that this process ran
        for command in (
            "read x </dev/tty",
            "sudo -S true",
            "ssh -o ConnectTimeout=1 h.invalid",
            "git commit",
            "cat",
            "python3 -c 'x = bytearray(10**11)'",
        ):
            assert site.bash(config, "auto", command, person=Consent()).code != "timeout", command
        for command in ("tail -f /dev/null", "cat /dev/zero", "yes", "echo first; while :; do echo a; done"):
            call = ("bash", {"command": command, "timeout": 1})
            outcome = site.call(config, "auto", call, person=Consent())[0]
            assert outcome.code == "timeout", command
            assert len(outcome.text) < 60_000
        assert "first" in site.bash(config, "auto", "echo first", person=Consent()).text
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < max(400_000, before + 100_000)

    each_user(work)


def test_processes_are_counted_in_the_box() -> None:
    """For root by a control group (`test_box.py`); the floor and no box do not count them, and the guide says so."""

    def work(make: Callable[[], Site]) -> None:
        told = [make().bash(config, "auto", "ulimit -u", person=Consent()).text for config in CONFIGS]
        if os.geteuid() != 0:
            assert told[0].startswith("4096\n"), told
            assert not told[2].startswith("4096\n")

    each_user(work)


@pytest.mark.parametrize("config", ["bubblewrap", "landlock"])
def test_the_agent_cannot_be_signalled_nor_the_system_remounted(config: Config) -> None:
    def work(make: Callable[[], Site]) -> None:
        site = make()
        file = site.out / "file"
        file.write_text("ours")
        for command in (
            f"kill -9 {os.getpid()}",
            f"kill -9 -{os.getpgrp()}; kill -9 -1",
            f"mount -o remount,rw,bind {site.out} || mount -o remount,rw,bind /; echo x > {file}",
            f"unshare -Urm sh -c 'mount -o remount,rw,bind {site.out}; echo x > {file}'",
        ):
            site.bash(config, "auto", command, person=Consent())
        assert file.read_text() == "ours"  # and we are here to see it

    each_user(work)
