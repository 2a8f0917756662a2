"""The pure parts: filters, mounts, profiles, repositories."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from wisp.workspace.sandbox import gitdirs, landlock, seccomp
from wisp.workspace.sandbox.bubblewrap import Mount, Spec, arguments, ordered, packed
from wisp.workspace.sandbox.plan import pins
from wisp.workspace.sandbox.seatbelt import profile

ALLOW = 0x7FFF0000
ERRNO = 0x00050000


def judged(program: bytes, arch: int, number: int, *arguments: int) -> int:
    """What the kernel would make of a system call: a second, naive interpreter of the filter."""
    data = struct.pack("=iIQ6Q", number, arch, 0, *[*arguments, *[0] * (6 - len(arguments))])
    at, accumulator = 0, 0
    steps = [struct.unpack_from("=HBBI", program, place) for place in range(0, len(program), 8)]
    while True:
        code, yes, no, value = steps[at]
        at += 1
        if code == 0x20:
            accumulator = struct.unpack_from("=I", data, value)[0]
        elif code == 0x15:
            at += yes if accumulator == value else no
        elif code == 0x35:
            at += yes if accumulator >= value else no
        elif code == 0x45:
            at += yes if accumulator & value else no
        elif code == 0x06:
            return int(value)
        else:
            raise AssertionError(hex(code))


X86, ARM = 0xC000003E, 0xC00000B7


@pytest.mark.parametrize(
    ("machine", "arch", "number", "arguments", "refused"),
    [
        ("x86_64", X86, 0, (), False),  # read
        ("x86_64", X86, 101, (0,), True),  # ptrace
        ("x86_64", X86, 0x40000065, (), True),  # ptrace by the x32 interface
        ("x86_64", 0x40000003, 26, (), True),  # ptrace by the 32-bit interface
        ("x86_64", X86, 425, (), True),  # io_uring_setup
        ("x86_64", X86, 56, (0x11,), False),  # fork
        ("x86_64", X86, 56, (0x10000011,), True),  # clone with a user namespace
        ("x86_64", X86, 435, (), True),  # clone3, whose flags cannot be seen
        ("x86_64", X86, 272, (0x400,), False),  # unshare files
        ("x86_64", X86, 272, (0x80,), True),  # a time namespace
        ("x86_64", X86, 16, (1, 0x5401), False),  # TCGETS
        ("x86_64", X86, 16, (1, 0x5412), True),  # TIOCSTI
        ("x86_64", X86, 16, (1, 0x541C), True),
        ("x86_64", X86, 16, (1, 0xFF00005412), True),  # high half does not matter to the kernel
        ("x86_64", X86, 41, (2,), False),
        ("x86_64", X86, 41, (1,), False),
        ("x86_64", X86, 41, (40,), True),  # vsock
        ("x86_64", X86, 41, (17,), True),  # packets
        ("x86_64", X86, 90, (0, 0o755), False),
        ("x86_64", X86, 90, (0, 0o4755), True),
        ("x86_64", X86, 257, (0, 0, 0, 0o4755), False),  # no O_CREAT: the mode is not looked at
        ("x86_64", X86, 257, (0, 0, 0o101, 0o4755), True),
        ("x86_64", X86, 257, (0, 0, 0o101, 0o644), False),
        ("x86_64", X86, 437, (), True),
        ("aarch64", ARM, 63, (), False),  # read
        ("aarch64", ARM, 117, (), True),
        ("aarch64", ARM, 220, (0x10000011,), True),
        ("aarch64", ARM, 220, (0x11,), False),
        ("aarch64", ARM, 29, (0, 0x5412), True),
        ("aarch64", ARM, 198, (40,), True),
        ("aarch64", ARM, 53, (0, 0, 0o4755), True),
        ("aarch64", ARM, 56, (0, 0, 0o101, 0o4755), True),
        ("aarch64", X86, 0, (), True),
    ],
)
def test_the_filter_refuses_what_it_should_and_no_more(
    machine: str, arch: int, number: int, arguments: tuple[int, ...], refused: bool
) -> None:
    found = judged(seccomp.build(machine), arch, number, *arguments)
    assert (found != ALLOW) is refused
    assert found == ALLOW or found & 0xFFFF0000 == ERRNO


def test_without_a_namespace_no_socket_but_netlink_can_be_made() -> None:
    program = seccomp.build("x86_64", sockets=False)
    answers = {family: judged(program, X86, 41, family) == ALLOW for family in (1, 2, 10, 16, 17, 40)}
    assert answers == {1: False, 2: False, 10: False, 16: True, 17: False, 40: False}
    assert judged(program, X86, 53, 1) == ALLOW  # socketpair


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_fits_the_kernels_limit(machine: str) -> None:
    assert len(seccomp.build(machine)) // 8 <= 4096


def test_inner_mounts_come_after_outer_ones_and_the_stricter_wins() -> None:
    mounts = [
        Mount("/w/a/b", "read"),
        Mount("/w", "write"),
        Mount("/w/a", "hide"),
        Mount("/w/a/", "write"),
        Mount("/", "read"),
    ]
    assert [(m.path, m.kind) for m in ordered(mounts)] == [
        ("/", "read"),
        ("/w", "write"),
        ("/w/a", "hide"),
        ("/w/a/b", "read"),
    ]


def test_capabilities_are_dropped_and_no_secret_is_an_argument() -> None:
    args = arguments(Spec((), "/w", {"TOKEN": "s3cret", "BAD=NAME": "x"}, False, True))
    assert args[args.index("--cap-drop") + 1] == "ALL"
    assert {"--die-with-parent", "--new-session", "--unshare-pid", "--unshare-net", "--clearenv"} <= set(args)
    assert "--unshare-user" not in args
    assert "BAD=NAME" not in args
    assert "--unshare-user" in arguments(Spec((), "/w", {}, True, False))
    assert "--unshare-net" not in arguments(Spec((), "/w", {}, True, False))
    assert packed(["a", "b"]) == b"a\0b\0"


def test_the_way_to_a_protected_name_is_pinned() -> None:
    paths = ("/w/a/b/.git", "/w/.git", "/other/.git", "/w/shut/c/d", "/w/e/x/y/.git")
    found = pins([Mount(path, "read") for path in paths], ["/w", "/w/e/x"], {"/w/shut"})
    assert found == {"/w/a/b", "/w/a", "/w/e", "/w/e/x", "/w/e/x/y"}


def test_what_is_hidden_is_left_out_of_what_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "shut").mkdir()
    found = landlock.readable([str(tmp_path / "shut")])
    assert str(tmp_path / "open") in found
    assert not any(str(tmp_path / "shut").startswith(place.rstrip("/") + "/") for place in found)
    assert str(tmp_path / "shut") not in found
    assert "/usr" in found


def test_a_folder_called_git_that_is_no_repository_is_read_only(tmp_path: Path) -> None:
    (tmp_path / ".git" / "objects").mkdir(parents=True)
    assert gitdirs.layout(str(tmp_path / ".git")).frozen == (str(tmp_path / ".git"),)
    os.mkfifo(tmp_path / "pipe")
    assert gitdirs.layout(str(tmp_path / "pipe")) == gitdirs.Layout()
    assert gitdirs.layout(str(tmp_path / "missing")) == gitdirs.Layout()


def test_the_seatbelt_profile_denies_after_it_allows() -> None:
    text = profile(["/w"], ["/w/.git/hooks"], ["/h/.ssh"], network=False)
    assert text.index('(allow file-write* (subpath "/w"))') < text.index(
        '(deny file-write* (subpath "/w/.git/hooks"))'
    )
    assert '(deny file-read* file-write* (subpath "/h/.ssh"))' in text
    assert "(deny default)" in text
    assert "network" not in text
    assert text.count("(") == text.count(")")
    assert '(allow network-outbound (literal "/s"))' in profile([], [], [], network=False, socket="/s")
    assert "(allow network*)" in profile([], [], [], network=True)


def test_a_path_cannot_end_the_string_it_stands_in() -> None:
    text = profile(['/w") (allow default) ("'], [], [], network=False)
    assert '(subpath "/w\\") (allow default) (\\"")' in text
    with pytest.raises(ValueError, match="control"):
        profile(["/w\n(allow default)"], [], [], network=False)
