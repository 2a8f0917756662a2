"""A wrong answer: it takes the last, incomplete event for a whole one."""

from collections.abc import Iterable


def events(pieces: Iterable[bytes]) -> list[str]:
    """Acts on half a message."""
    text = b"".join(pieces).decode(errors="ignore").replace("\r\n", "\n")
    found = []
    for block in text.split("\n\n"):
        data = [line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:")]
        if data:
            found.append("\n".join(data))
    return found
