"""Exercise 4.1: read server-sent events from bytes that arrive in any pieces."""

from collections.abc import Iterable


def events(pieces: Iterable[bytes]) -> list[str]:
    """The data of each complete event, in order.

    An event ends at an empty line; its data is that of its `data:` lines, joined by newlines, each without
    one leading space.  Lines that begin with a colon are comments, and other fields do not matter here.
    A line ends with \\n or \\r\\n.  What comes after the last empty line is incomplete and does not count.
    An empty line without a `data:` line before it ends nothing.
    """
    raise NotImplementedError
