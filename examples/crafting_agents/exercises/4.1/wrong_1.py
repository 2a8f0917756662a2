"""A wrong answer: it decodes each piece, and a character may lie across two of them."""

from collections.abc import Iterable


def events(pieces: Iterable[bytes]) -> list[str]:
    """Breaks on a split character."""
    text = "".join(piece.decode(errors="replace") for piece in pieces).replace("\r\n", "\n")
    found = []
    for block in text.split("\n\n")[:-1]:
        data = [line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:")]
        if data:
            found.append("\n".join(data))
    return found
