"""Paths never lead out of the granted folders, whichever way they are resolved, root or not."""

from __future__ import annotations

import ctypes
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from workspace.users import as_user

from wisp.workspace.errors import Refused
from wisp.workspace.files import replace
from wisp.workspace.root import Place, Resolver, Workspace

RESOLVERS: list[Resolver] = ["openat2", "walk"]


@pytest.fixture
def layout(public: Path) -> Path:
    """A root `ws`, its evil sibling, and every kind of way out."""
    ws, out = public / "ws", public / "out"
    for folder in (ws, out, public / "ws-evil", ws / "real"):
        folder.mkdir()
        folder.chmod(0o777)
    (out / "secret").write_text("SECRET")
    (public / "ws-evil" / "secret").write_text("SECRET")
    (ws / "real.txt").write_text("fine")
    (ws / "real" / "f").write_text("fine")
    (ws / "in").symlink_to("real.txt")
    (ws / "in-absolute").symlink_to(ws / "real.txt")
    (ws / "in-dir").symlink_to("real")
    (ws / "real" / "up").symlink_to("../real.txt")
    (ws / "out-file").symlink_to("../out/secret")
    (ws / "out-absolute").symlink_to(out / "secret")
    (ws / "out-dir").symlink_to("../out")
    (ws / "out-root").symlink_to("/")
    (ws / "evil").symlink_to(public / "ws-evil" / "secret")
    (ws / "a").symlink_to("b")
    (ws / "b").symlink_to("a")
    (ws / "dangling").symlink_to("../out/new")
    (ws / "magic").symlink_to("/proc/self/root")
    (ws / "zero").symlink_to("/dev/zero")
    (ws / "stdin").symlink_to("/dev/stdin")
    os.mkfifo(ws / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(ws / "socket"))
    return ws


def read(workspace: Workspace, path: str) -> bytes:
    opened = workspace.open_file(workspace.place(path))
    try:
        return os.read(opened.fd, 100)
    finally:
        os.close(opened.fd)


def code_of(work: Callable[[], object]) -> str:
    try:
        work()
    except Refused as exc:
        return exc.code
    return "allowed"


REFUSED_TO_READ = {
    "out-file": "outside",
    "out-absolute": "outside",
    "out-dir/secret": "outside",
    "evil": "outside",
    "out-root/etc/passwd": "outside",
    "magic/etc/passwd": "outside",
    "zero": "outside",
    "stdin": "outside",
    "dangling": "outside",
    "a": "link_loop",
    "a/x": "link_loop",
    "fifo": "not_regular",
    "real": "is_directory",
    ".": "is_directory",
    "missing": "not_found",
    "real.txt/x": "not_found",
}


@pytest.mark.parametrize("resolver", RESOLVERS)
def test_links_are_read_only_while_they_stay_inside(layout: Path, resolver: Resolver) -> None:
    def work() -> None:
        workspace = Workspace(str(layout), resolver=resolver)
        for path in ("real.txt", "in", "in-absolute", "in-dir/f", "real/up", "in-dir/up", "./real/../in"):
            assert read(workspace, path) == b"fine", path
        assert workspace.real(workspace.place("in-dir/up")) == str(layout / "real.txt")
        for path, code in REFUSED_TO_READ.items():
            assert code_of(lambda path=path: read(workspace, path)) == code, path
        assert code_of(lambda: read(workspace, "socket")) in ("not_regular", "not_found")
        workspace.close()

    work()
    as_user(work)


@pytest.mark.parametrize("resolver", RESOLVERS)
def test_nothing_is_written_through_any_link(layout: Path, resolver: Resolver) -> None:
    def work() -> None:
        workspace = Workspace(str(layout), resolver=resolver)
        for path in ("in-dir/new", "out-dir/new", "magic/new", "a/new"):
            with pytest.raises(Refused) as caught:
                workspace.open_parent(workspace.place(path), create=True)
            assert caught.value.code in ("is_link", "link_loop"), path
            assert os.readlink(layout / path.split("/")[0]) in caught.value.message, "the target is named"
        workspace.close()

    work()
    as_user(work)


def test_paths_by_words() -> None:
    workspace = Workspace("/usr", ["/usr/lib", "/etc"])
    place = workspace.place
    assert place("../etc/x") == Place(workspace.roots[2], "x")
    assert place("/usr/lib/y").root == workspace.roots[1], "the nearest root"
    assert place("share/../bin/./x").path == "/usr/bin/x"
    assert not place("/usr-evil/x").inside
    assert not place("/").inside
    assert not place("../../../..").inside
    assert place("//usr//bin").path == "/usr/bin"
    workspace.close()


@pytest.mark.parametrize(
    "path",
    [
        "",
        "a\0.txt",
        "a/" * 3000,
        "x" * 256,
        "\ud800",
        "/dev/fd/3",
        "/dev/stdin",
        "/proc/self/environ",
        "/sys/x",
    ],
)
def test_words_that_name_no_file_are_refused_before_anything_is_opened(public: Path, path: str) -> None:
    workspace = Workspace(str(public))
    assert code_of(lambda: workspace.place(path)) in ("invalid_path", "not_regular")
    workspace.close()


def test_an_outside_path_is_reported_with_links_resolved_and_opened_without_any(layout: Path) -> None:
    workspace = Workspace(str(layout / "real"))
    place = workspace.place(str(layout / "in"))
    assert (place.inside, place.path) == (False, str(layout / "real.txt"))
    assert read(workspace, str(layout / "in")) == b"fine"
    (layout / "real.txt").unlink()
    (layout / "real.txt").symlink_to("../out/secret")
    assert code_of(lambda: workspace.open_file(place)) in ("is_link", "link_loop")
    assert workspace.place(str(layout / "in-dir" / "f")).inside, "a way from outside that leads in"
    workspace.close()


def test_a_parent_without_permission_is_a_refusal(public: Path) -> None:
    (public / "shut").mkdir()
    (public / "shut" / "x").write_text("x")
    (public / "shut").chmod(0)

    def work() -> None:
        for resolver in RESOLVERS:
            workspace = Workspace(str(public), resolver=resolver)
            assert code_of(lambda w=workspace: read(w, "shut/x")) == "permission_denied"
            assert code_of(lambda w=workspace: replace(w, w.place("shut/x"), b"")) == "permission_denied"
            workspace.close()

    as_user(work)
    (public / "shut").chmod(0o700)


def test_roots_are_held_by_handle_and_not_inherited(public: Path) -> None:
    (public / "ws").mkdir()
    (public / "ws" / "f").write_text("old")
    workspace = Workspace(str(public / "ws"))
    (public / "ws").rename(public / "moved")
    (public / "ws").mkdir()
    (public / "ws" / "f").write_text("new")
    assert read(workspace, "f") == b"old"
    assert not any(os.get_inheritable(root.fd) for root in workspace.roots)
    workspace.close()


def test_a_root_that_is_no_directory_is_refused(public: Path) -> None:
    (public / "f").write_text("")
    assert code_of(lambda: Workspace(str(public / "f"))) == "not_directory"
    assert code_of(lambda: Workspace(str(public / "nope"))) == "not_found"


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("resolver", RESOLVERS)
def test_an_attacker_who_swaps_a_directory_for_a_link_gets_nothing(layout: Path, resolver: Resolver) -> None:
    (layout / "d").mkdir()
    (layout / "d" / "secret").write_text("fine")
    (layout / "l").symlink_to("../out")
    libc = ctypes.CDLL(None, use_errno=True)
    one, two = os.fsencode(layout / "d"), os.fsencode(layout / "l")
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            libc.renameat2(-100, one, -100, two, 2)

    attacker = threading.Thread(target=swap)
    attacker.start()
    workspace = Workspace(str(layout), resolver=resolver)
    seen: dict[str, int] = {}
    try:
        for _ in range(1_000_000 if os.environ.get("WISP_SOAK") == "1" else 20_000):
            try:
                found = read(workspace, "d/secret").decode()
            except Refused as exc:
                found = exc.code
            seen[found] = seen.get(found, 0) + 1
            try:
                fd, _ = workspace.open_parent(workspace.place("d/new"))
            except Refused:
                continue
            assert os.readlink(f"/proc/self/fd/{fd}").startswith(str(layout))
            os.close(fd)
    finally:
        done.set()
        attacker.join()
        workspace.close()
    assert "SECRET" not in seen
    assert seen.get("fine"), "the attack must leave some reads working, or it tests nothing"


parts = st.sampled_from(
    ["..", ".", "", "ws", "out", "secret", "ws-evil", "out-dir", "out-root", "in-dir", "magic", "etc"]
)


@settings(max_examples=300, deadline=None)
@given(path=st.lists(parts, min_size=1, max_size=8).map("/".join), absolute=st.booleans())
def test_no_generated_path_reads_a_file_outside(
    path: str, absolute: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    top = tmp_path_factory.getbasetemp() / "generated"
    if not top.exists():
        (top / "ws" / "in-dir").mkdir(parents=True)
        (top / "out").mkdir()
        (top / "ws-evil").mkdir()
        for name in ("out/secret", "ws-evil/secret"):
            (top / name).write_text("SECRET")
        (top / "ws" / "out-dir").symlink_to("../out")
        (top / "ws" / "out-root").symlink_to("/")
        (top / "ws" / "magic").symlink_to("/proc/self/root")
    for resolver in RESOLVERS:
        workspace = Workspace(str(top / "ws"), resolver=resolver)
        try:
            place = workspace.place(f"{top}/ws/{path}" if absolute and path else path or ".")
            if place.inside:
                opened = workspace.open_file(place)
                os.close(opened.fd)
                assert opened.path.startswith(f"{os.path.realpath(top)}/ws/")
        except Refused:
            pass
        finally:
            workspace.close()


def test_a_deleted_working_directory_is_a_refusal(public: Path) -> None:
    (public / "gone").mkdir()

    def work() -> None:
        os.chdir(public / "gone")
        (public / "gone").rmdir()
        assert code_of(lambda: Workspace(".")) == "not_found"

    as_user(work)
