"""A wrong answer: it takes a last line without its newline, which nobody was told to be written."""

import zlib


def recover(data: bytes) -> tuple[list[bytes], bool]:
    """Reads one line too many."""
    lines = [line for line in data.split(b"\n") if line]
    good = [line[9:] for line in lines if line[:9] == b"%08x " % zlib.crc32(line[9:])]
    return good, len(good) < len(lines)
