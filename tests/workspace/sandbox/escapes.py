"""Attempts to get out of the box: a program of the standard library alone, run inside and, for comparison, outside.

    WORLD='{"out": ..., ...}' python3 escapes.py     prints {"name": true, ...}; true means it got out

Each attempt runs in a process of its own.  It returns something true only when it had the effect.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import platform
import signal
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any

W: dict[str, Any] = json.loads(os.environ.get("WORLD", "{}"))
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
X86 = platform.machine() == "x86_64"
ATTEMPTS: dict[str, Callable[[], object]] = {}


def attempt(work: Callable[[], object]) -> Callable[[], object]:
    ATTEMPTS[work.__name__] = work
    return work


def call(x86: int, arm: int, *arguments: Any) -> int:
    """The result of a system call, or minus the error."""
    found = LIBC.syscall(ctypes.c_long(x86 if X86 else arm), *(_wide(a) for a in arguments))
    return int(found) if found >= 0 else -ctypes.get_errno()


def _wide(value: Any) -> Any:
    return ctypes.c_long(value) if isinstance(value, int) else value


def reached(result: int) -> bool:
    """Whether the kernel did it or at least looked at the arguments."""
    return result not in (-errno.EPERM, -errno.ENOSYS, -errno.EACCES)


def out(name: str) -> str:
    return os.path.join(W["out"], name)


def ws(name: str) -> str:
    return os.path.join(W["workspace"], name)


def put(path: str, text: str = "x", mode: str = "w") -> bool:
    with open(path, mode) as file:
        file.write(text)
    return True


def canary(path: str) -> bool:
    with open(path, "rb") as file:
        return b"CANARY" in file.read(65536)


# -- files outside ------------------------------------------------------------------------------------------


@attempt
def write_outside() -> object:
    return put(out("new"))


@attempt
def append_outside() -> object:
    return put(out("file"), "more", "a")


@attempt
def truncate_outside() -> object:
    os.truncate(out("file"), 1)
    return True


@attempt
def unlink_outside() -> object:
    os.unlink(out("doomed"))
    return True


@attempt
def rename_to_outside() -> object:
    put(ws("moving"))
    os.rename(ws("moving"), out("moved"))
    return True


@attempt
def rename_outside() -> object:
    os.rename(out("first"), out("second"))
    return True


@attempt
def make_folder_outside() -> object:
    os.mkdir(out("folder"))
    return True


@attempt
def make_link_outside() -> object:
    os.symlink("/etc/passwd", out("link"))
    return True


@attempt
def hard_link_in() -> object:
    os.link(out("file"), ws("hard"))
    return put(ws("hard"), "more", "a")


@attempt
def hard_link_out() -> object:
    put(ws("inner"))
    os.link(ws("inner"), out("hard"))
    return True


@attempt
def change_mode_outside() -> object:
    os.chmod(out("file"), 0o666)
    return True


@attempt
def change_times_outside() -> object:
    os.utime(out("file"), (1, 1))
    return True


@attempt
def change_owner_outside() -> object:
    os.chown(out("file"), os.getuid(), os.getgid())
    return True


@attempt
def set_attribute_outside() -> object:
    os.setxattr(out("file"), "user.probe", b"x")
    return True


@attempt
def write_through_link() -> object:
    os.symlink(out("file"), ws("through"))
    return put(ws("through"), "more", "a")


@attempt
def make_pipe_outside() -> object:
    os.mkfifo(out("pipe"))
    return True


@attempt
def write_by_process_root() -> object:
    return put("/proc/self/root" + out("by-root"))


@attempt
def write_by_parent_folder() -> object:
    return put(os.path.join("/proc/self/cwd", os.path.relpath(out("by-parent"), W["workspace"])))


@attempt
def write_in_the_real_temporary_folder() -> object:
    put(os.path.join(W["temporary"], "reached"))
    return True


@attempt
def write_home() -> object:
    return put(os.path.join(W["home"], ".bashrc"), "evil", "a")


# -- reading what is hidden ---------------------------------------------------------------------------------


def _reads(name: str, path: str) -> None:
    def work() -> object:
        return canary(os.path.join(W["home"], path))

    ATTEMPTS[name] = work


for _name, _path in (
    ("read_ssh_key", ".ssh/id_ed25519"),
    ("read_netrc", ".netrc"),
    ("read_aws", ".aws/credentials"),
    ("read_github", ".config/gh/hosts.yml"),
    ("read_git_credentials", ".git-credentials"),
    ("read_docker", ".docker/config.json"),
    ("read_keyring", ".local/share/keyrings/login.keyring"),
    ("read_history", ".bash_history"),
    ("read_linked_key", ".gnupg/key"),
    ("read_own_state", "state/sessions/s.jsonl"),
    ("read_own_settings", "config/settings.toml"),
):
    _reads(_name, _path)


@attempt
def read_shadow() -> object:
    with open("/etc/shadow", "rb") as file:
        return b"root:" in file.read()


# -- names inside that run things later ---------------------------------------------------------------------


@attempt
def write_git_config() -> object:
    return put(ws(".git/config"), "[core]\n", "a")


@attempt
def replace_git_config() -> object:
    put(ws(".git/new"))
    os.rename(ws(".git/new"), ws(".git/config"))
    return True


@attempt
def add_git_hook() -> object:
    return put(ws(".git/hooks/post-commit"))


@attempt
def move_git_hooks() -> object:
    os.rename(ws(".git/hooks"), ws(".git/away"))
    return True


@attempt
def write_git_attributes() -> object:
    return put(ws(".git/info/attributes"))


@attempt
def point_git_elsewhere() -> object:
    return put(ws(".git/commondir"), "../evil\n")


@attempt
def rename_git() -> object:
    os.rename(ws(".git"), ws("dotgit"))
    os.rename(ws("dotgit"), ws(".git"))
    return True


@attempt
def write_nested_git_config() -> object:
    return put(ws("sub/inner/.git/config"), "[core]\n", "a")


@attempt
def rename_above_nested_git() -> object:
    os.rename(ws("sub"), ws("sub2"))
    os.rename(ws("sub2"), ws("sub"))
    return True


@attempt
def write_included_config() -> object:
    return put(ws("included.cfg"), "[core]\n", "a")


@attempt
def change_worktree_pointer() -> object:
    return put(ws("tree/.git"), "gitdir: /evil\n")


def _makes(name: str, path: str) -> None:
    def work() -> object:
        os.makedirs(os.path.dirname(ws(path)), exist_ok=True)
        return put(ws(path))

    ATTEMPTS[name] = work


for _name, _path in (
    ("make_mcp_list", ".mcp.json"),
    ("make_editor_tasks", ".vscode/tasks.json"),
    ("make_own_settings", ".wisp/settings.toml"),
    ("make_envrc", ".envrc"),
    ("make_other_agents_settings", ".claude/settings.json"),
    ("change_editor_settings", "sub/.zed/settings.json"),
    ("change_husky_hook", ".husky/pre-commit"),
):
    _makes(_name, _path)


# -- network ------------------------------------------------------------------------------------------------


def _connects(family: int, kind: int, address: Any) -> bool:
    with socket.socket(family, kind) as sock:
        sock.settimeout(1)
        sock.connect(address)
        sock.send(b"x")
        return kind == socket.SOCK_DGRAM or sock.recv(1) == b"y"


@attempt
def tcp_loopback() -> object:
    return _connects(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", W["tcp"]))


@attempt
def tcp_loopback_six() -> object:
    return _connects(socket.AF_INET6, socket.SOCK_STREAM, ("::1", W["tcp6"]))


@attempt
def tcp_mapped_address() -> object:
    return _connects(socket.AF_INET6, socket.SOCK_STREAM, ("::ffff:127.0.0.1", W["tcp"]))


@attempt
def udp_loopback() -> object:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(1)
        sock.sendto(b"x", ("127.0.0.1", W["udp"]))
        return sock.recv(1) == b"y"


@attempt
def abstract_socket() -> object:
    return _connects(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + W["abstract"])


@attempt
def path_socket_outside() -> object:
    return _connects(socket.AF_UNIX, socket.SOCK_STREAM, out("sock"))


@attempt
def path_socket_in_temporary_folder() -> object:
    return _connects(socket.AF_UNIX, socket.SOCK_STREAM, os.path.join(W["temporary"], "sock"))


@attempt
def path_socket_inside() -> object:
    return _connects(socket.AF_UNIX, socket.SOCK_STREAM, ws("sock"))


@attempt
def vsock() -> object:
    socket.socket(40, socket.SOCK_STREAM).close()
    return True


@attempt
def raw_socket() -> object:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close()
    return True


@attempt
def packet_socket() -> object:
    socket.socket(17, socket.SOCK_RAW, 0).close()
    return True


@attempt
def crypto_socket() -> object:
    socket.socket(38, socket.SOCK_SEQPACKET).close()
    return True


@attempt
def host_interfaces() -> object:
    with open("/proc/net/unix", "rb") as file:
        return W["abstract"].encode() in file.read()


# -- other processes ----------------------------------------------------------------------------------------


@attempt
def see_a_process() -> object:
    with open(f"/proc/{W['victim']}/cmdline", "rb") as file:
        return W["mark"].encode() in file.read()


@attempt
def signal_a_process() -> object:
    os.kill(W["victim"], 0)
    return see_a_process()


@attempt
def read_its_environment() -> object:
    return canary(f"/proc/{W['victim']}/environ")


@attempt
def search_all_environments() -> object:
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if canary(f"/proc/{name}/environ"):
                    return True
            except OSError:
                continue
    return False


@attempt
def open_its_memory() -> object:
    os.close(os.open(f"/proc/{W['victim']}/mem", os.O_RDONLY))
    return see_a_process()


@attempt
def through_its_root() -> object:
    return put(f"/proc/{W['victim']}/root{out('by-victim')}")


@attempt
def trace_a_process() -> object:
    result = call(101, 117, 16, W["victim"], 0, 0)
    if result == 0:
        os.waitpid(W["victim"], 0x40000000)
        call(101, 117, 17, W["victim"], 0, 0)
    return result == 0


@attempt
def read_its_memory() -> object:
    return call(310, 270, W["victim"], None, 0, None, 0, 0) == 0 and see_a_process()


@attempt
def hold_a_process() -> object:
    return call(434, 434, W["victim"], 0) >= 0 and see_a_process()


@attempt
def slow_a_process() -> object:
    os.setpriority(os.PRIO_PROCESS, W["victim"], 5)
    return see_a_process()


@attempt
def limit_a_process() -> object:
    import resource

    resource.prlimit(W["victim"], resource.RLIMIT_CORE)
    return see_a_process()


@attempt
def shared_memory() -> object:
    return LIBC.shmget(W["shm"], 1, 0) >= 0


@attempt
def shared_memory_file() -> object:
    return canary(W["shm_file"])


@attempt
def enter_its_network() -> object:
    fd = os.open(f"/proc/{W['victim']}/ns/net", os.O_RDONLY)
    return call(308, 268, fd, 0x40000000) == 0


# -- the kernel ---------------------------------------------------------------------------------------------


@attempt
def trace_itself() -> object:
    return call(101, 117, 0, 0, 0, 0) == 0


@attempt
def io_uring() -> object:
    return reached(call(425, 425, 0, None))


@attempt
def keyring() -> object:
    return call(250, 219, 0, -5, 1) > 0


@attempt
def add_key() -> object:
    return call(248, 217, b"user", b"probe", b"x", 1, -2) > 0


@attempt
def request_key() -> object:
    return call(249, 218, b"user", b"probe", None, -2) in (-errno.ENOKEY, -errno.EKEYREVOKED)


@attempt
def userfault() -> object:
    return reached(call(323, 282, 1))


@attempt
def bpf() -> object:
    return reached(call(321, 280, 0, None, 0))


@attempt
def perf_events() -> object:
    return reached(call(298, 241, None, 0, -1, -1, 0))


@attempt
def new_user_namespace() -> object:
    return call(272, 97, 0x10000000) == 0


@attempt
def new_network_namespace() -> object:
    return call(272, 97, 0x40000000) == 0


@attempt
def clone_by_struct() -> object:
    return reached(call(435, 435, None, 0))


@attempt
def mount_something() -> object:
    os.makedirs(ws("mnt"), exist_ok=True)
    done = LIBC.mount(b"none", ws("mnt").encode(), b"tmpfs", 0, None) == 0
    if done:
        LIBC.umount2(ws("mnt").encode(), 2)
    return done


@attempt
def remount_writable() -> object:
    done = LIBC.mount(None, b"/", None, 32 | 4096 | (1 << 21), None) == 0
    return done and put(out("remounted"))


@attempt
def new_mount_interface() -> object:
    return reached(call(430, 430, b"tmpfs", 0))


@attempt
def change_root() -> object:
    os.chroot(ws("."))
    return True


@attempt
def type_into_a_terminal() -> object:
    _, slave = os.openpty()
    fcntl.ioctl(slave, 0x5412, b"x")
    return True


@attempt
def change_core_pattern() -> object:
    os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))
    return True


@attempt
def magic_system_request() -> object:
    os.close(os.open("/proc/sysrq-trigger", os.O_WRONLY))
    return True


@attempt
def write_sysfs() -> object:
    os.close(os.open("/sys/kernel/mm/transparent_hugepage/enabled", os.O_WRONLY))
    return True


@attempt
def write_control_group() -> object:
    for top, _, names in os.walk("/sys/fs/cgroup"):
        if "cgroup.procs" in names:
            os.close(os.open(os.path.join(top, "cgroup.procs"), os.O_WRONLY))
            return True
    return False


@attempt
def set_user_bit() -> object:
    put(ws("program"))
    os.chmod(ws("program"), 0o4755)
    return os.stat(ws("program")).st_mode & 0o4000


@attempt
def create_with_user_bit() -> object:
    os.close(os.open(ws("program2"), os.O_CREAT | os.O_WRONLY, 0o4755))
    return os.stat(ws("program2")).st_mode & 0o4000


@attempt
def create_with_user_bit_by_struct() -> object:
    how = struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, 0o4755, 0)
    return call(437, 437, -100, ws("program3").encode(), how, len(how)) >= 0


@attempt
def make_device() -> object:
    os.mknod(ws("device"), 0o20666, os.makedev(1, 3))
    return True


@attempt
def open_a_disk() -> object:
    for name in sorted(os.listdir("/sys/block")):
        if os.path.exists(f"/dev/{name}"):
            os.close(os.open(f"/dev/{name}", os.O_RDONLY))
            return True
    return False


@attempt
def load_a_module() -> object:
    return reached(call(175, 105, None, 0, b""))


@attempt
def open_by_handle() -> object:
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount = ctypes.c_int()
    if call(303, 264, -100, W["file"].encode(), handle, ctypes.byref(mount), 0) < 0:
        return False
    top = os.open(W["workspace"], os.O_RDONLY)
    return call(304, 265, top, handle, os.O_RDONLY) >= 0


@attempt
def set_host_name() -> object:
    socket.sethostname(socket.gethostname())
    return True


@attempt
def gain_privileges() -> object:
    return LIBC.prctl(39, 0, 0, 0, 0) == 0


@attempt
def keep_capabilities() -> object:
    with open("/proc/self/status") as file:
        return any(int(line.split()[1], 16) for line in file if line.startswith("CapEff"))


def main() -> None:
    """Try everything; a process each, two seconds at most."""
    found = {}
    for name, work in ATTEMPTS.items():
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            signal.alarm(2)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            got = b"0"
            try:
                got = b"1" if work() else b"0"
            except BaseException:  # refused: that is the answer
                got = b"0"
            os.write(write, got)
            os._exit(0)
        os.close(write)
        found[name] = os.read(read, 1) == b"1"
        os.close(read)
        try:
            os.waitpid(pid, 0)
        except ChildProcessError:
            continue
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
