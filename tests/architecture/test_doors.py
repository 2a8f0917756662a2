"""One gateway per danger, as the architecture page says."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest
from architecture.sources import imports, modules, names, table

DOORS = {row[0]: names(row[1]) for row in table("One gateway per danger")}


def _calls(tree: ast.Module) -> list[tuple[str, int]]:
    """Dotted names that are read anywhere: `os.fsync`, `time.time`, `sys.stdout`."""
    return [
        (f"{node.value.id}.{node.attr}", node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    ]


def _uses(*dotted: str) -> Callable[[ast.Module], list[int]]:
    return lambda tree: [line for name, line in _calls(tree) if name in dotted]


def _imports(*tops: str) -> Callable[[ast.Module], list[int]]:
    return lambda tree: [
        line for name, line in imports(tree) if name.split(".")[0] in tops and name != "urllib.parse"
    ]


def _named(*functions: str) -> Callable[[ast.Module], list[int]]:
    return lambda tree: [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions
    ]


def _either(*checks: Callable[[ast.Module], list[int]]) -> Callable[[ast.Module], list[int]]:
    return lambda tree: [line for check in checks for line in check(tree)]


CHECKS: dict[str, Callable[[ast.Module], list[int]]] = {
    "network": _either(
        _imports("socket", "ssl", "h11", "httpx2", "http"),
        lambda tree: [
            line for name, line in imports(tree) if name.startswith("urllib.") and name != "urllib.parse"
        ],
        _uses("asyncio.open_connection", "asyncio.start_server", "asyncio.open_unix_connection"),
    ),
    "processes and signals": _either(
        _imports("subprocess", "multiprocessing", "pty"),
        _uses(
            "os.fork",
            "os.posix_spawn",
            "os.posix_spawnp",
            "os.execve",
            "os.execvpe",
            "os.execv",
            "os.execvp",
            "os.system",
            "os.popen",
            "os.kill",
            "os.killpg",
            "asyncio.create_subprocess_exec",
            "asyncio.create_subprocess_shell",
        ),
    ),
    "fsync": _uses("os.fsync", "os.fdatasync", "os.sync"),
    "environment variables": _uses("os.environ", "os.getenv", "os.environb"),
    "clock": _uses(
        "time.time",
        "time.monotonic",
        "time.time_ns",
        "time.monotonic_ns",
        "time.perf_counter",
        "datetime.now",
    ),
    "standard streams": _either(_uses("sys.stdout", "sys.stderr", "sys.stdin"), _named("print", "input")),
    "threads": _either(
        _imports("threading", "concurrent", "_thread"), _uses("asyncio.to_thread", "loop.run_in_executor")
    ),
    "dynamic import": _either(_imports("importlib"), _named("eval", "exec", "__import__", "compile")),
}


def test_the_page_and_the_checks_name_the_same_dangers() -> None:
    """No danger of the page goes unchecked."""
    assert set(DOORS) == set(CHECKS)


@pytest.mark.parametrize("danger", sorted(CHECKS))
def test_a_danger_has_exactly_the_gateways_of_the_page(danger: str) -> None:
    """Nobody else does it, and nobody is listed who does not."""
    doing: dict[str, list[int]] = {}
    for module, tree in modules().items():
        lines = CHECKS[danger](tree)
        if lines:
            doing[module] = lines
    doors = DOORS[danger]
    strangers = {
        module: lines
        for module, lines in doing.items()
        if not any(module == door or module.startswith(door + "/") for door in doors)
    }
    idle = [
        door for door in doors if not any(module == door or module.startswith(door + "/") for module in doing)
    ]

    assert strangers == {}
    assert idle == []


def test_broad_excepts_reraise_or_say_why() -> None:
    """`except Exception` without a re-raise carries a comment in its body or on its line."""
    from architecture.sources import SOURCE

    silent = []
    for module, tree in modules().items():
        lines = (SOURCE / module).read_text("utf-8").splitlines()
        for node in ast.walk(tree):
            if not isinstance(node, ast.ExceptHandler) or not _broad(node.type):
                continue
            body = lines[node.lineno - 2 : node.body[-1].end_lineno]
            if not any(isinstance(n, ast.Raise) for n in ast.walk(node)) and not any("#" in x for x in body):
                silent.append(f"{module}:{node.lineno}")

    assert silent == []


def _broad(kind: ast.expr | None) -> bool:
    return kind is None or (isinstance(kind, ast.Name) and kind.id in ("Exception", "BaseException"))
