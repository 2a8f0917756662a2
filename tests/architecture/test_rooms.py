"""Who may import whom, as the architecture page says."""

from __future__ import annotations

import sys

import pytest
from architecture.sources import imports, modules, names, package_of, packages, table

RULES = {row[0]: (names(row[1]), names(row[2])) for row in table("Who may import whom")}


def test_every_package_has_a_row_and_every_row_a_package() -> None:
    """The table is complete."""
    homes = {package_of(module) for module in modules()} - {"__init__", "__main__", "_version", "py"}

    assert homes == set(RULES)


@pytest.mark.parametrize("module", sorted(modules()))
def test_a_module_imports_only_what_its_row_allows(module: str) -> None:
    """Imports in functions and for type checking count."""
    package = package_of(module)
    if package in ("__init__", "__main__", "_version"):
        return
    ours, foreign = RULES[package]
    wrong = []
    for name, line in imports(modules()[module]):
        top, _, rest = name.partition(".")
        if top == "wisp":
            if not _allowed(rest, package, ours):
                wrong.append(f"{module}:{line} imports {name}")
        elif top not in sys.stdlib_module_names and top not in foreign:
            wrong.append(f"{module}:{line} imports {name}")

    assert wrong == []


def _allowed(rest: str, package: str, ours: list[str]) -> bool:
    parts = rest.split(".")
    if parts[0] == package:
        return True
    return any(parts[: len(wanted)] == wanted for wanted in (allowed.split(".") for allowed in ours))


def test_front_ends_do_not_import_each_other() -> None:
    """Each front end is a flat of its own; `wire` is the stairs, which know none of them."""
    wrong = []
    for module, tree in modules().items():
        if not module.startswith("frontends/"):
            continue
        own = module.split("/")[1]
        wrong += [
            f"{module}:{line} imports {name}"
            for name, line in imports(tree)
            if name.startswith("wisp.frontends.") and name.split(".")[2] not in (own, "wire")
        ]

    assert wrong == []


def test_there_are_no_rings_between_packages() -> None:
    """The direction of the rows admits no cycle."""
    edges = {
        package: {allowed.split(".")[0] for allowed in RULES[package][0]} & set(packages())
        for package in RULES
        if package in packages()
    }
    order: list[str] = []
    while len(order) < len(edges):
        free = sorted(name for name in edges if name not in order and edges[name] <= set(order))
        assert free, f"a ring among {sorted(set(edges) - set(order))}"
        order += free
