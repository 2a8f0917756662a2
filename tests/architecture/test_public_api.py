"""The public names are sorted, real, documented, and all there is."""

from __future__ import annotations

import inspect
import sys

import wisp


def test_public_names_are_sorted_and_each_resolves() -> None:
    """`__all__` is the list, in the order of `sorted`."""
    assert sorted(wisp.__all__) == wisp.__all__
    assert all(getattr(wisp, name) is not None for name in wisp.__all__)


def test_every_public_class_and_method_is_documented_and_annotated() -> None:
    """Nothing public is silent."""
    silent = []
    for name in wisp.__all__:
        thing = getattr(wisp, name)
        if not inspect.isclass(thing):
            continue
        if not thing.__doc__:
            silent.append(name)
        for method, function in vars(thing).items():
            if method.startswith("_") or not inspect.isfunction(function):
                continue
            if not function.__doc__ or "return" not in function.__annotations__:
                silent.append(f"{name}.{method}")

    assert silent == []


def test_an_unknown_name_is_an_attribute_error_that_names_it() -> None:
    """As for any module."""
    try:
        wisp.no_such_thing  # noqa: B018
    except AttributeError as exc:
        assert "no_such_thing" in str(exc)
    else:
        raise AssertionError("it resolved")


def test_the_list_and_the_homes_agree() -> None:
    """Every lazily resolved name is public and every public name has a home."""
    assert set(wisp.__all__) - {"__version__"} == set(sys.modules["wisp"]._HOMES)
