"""Exercise 4.1: collect bytes, split into lines, and decode a line only when all of it is there."""

from collections.abc import Iterable


def events(pieces: Iterable[bytes]) -> list[str]:
    """The data of each complete event, in order."""
    found: list[str] = []
    waiting = b""
    data: list[str] = []
    for piece in pieces:
        *lines, waiting = (waiting + piece).split(b"\n")
        for raw in lines:
            line = raw.removesuffix(b"\r").decode()
            if line.startswith("data:"):
                data.append(line[5:].removeprefix(" "))
            elif not line and data:
                found.append("\n".join(data))
                data = []
    return found
