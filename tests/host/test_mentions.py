"""Which paths a prompt mentions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wisp.host.mentions import mentions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("look at @src/app.py.", ("src/app.py",)),
        ("@a, @b; (@c) and @a again", ("a", "b", "c")),
        ('compare @"my file.txt" with @./x', ("my file.txt", "./x")),
        ("mail me@example.test or user@host:path", ()),
        ("a decorator like @@x and an @ alone", ()),
        ("@/etc/hosts", ("/etc/hosts",)),
        ("line\n@x\n", ("x",)),
    ],
)
def test_paths_are_found_and_the_sentences_punctuation_is_not_theirs(
    text: str, expected: tuple[str, ...]
) -> None:
    assert mentions(text) == expected


@given(st.text(max_size=200))
def test_no_path_is_empty_or_named_twice(text: str) -> None:
    found = mentions(text)

    assert all(found)
    assert len(set(found)) == len(found)
