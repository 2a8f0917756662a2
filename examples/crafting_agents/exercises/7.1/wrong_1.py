"""A wrong answer: it stops at the first bad line, and everything behind it is lost."""

import zlib


def recover(data: bytes) -> tuple[list[bytes], bool]:
    """Gives up too early."""
    good = []
    for line in data.split(b"\n")[:-1]:
        if line[:9] != b"%08x " % zlib.crc32(line[9:]):
            return good, True
        good.append(line[9:])
    return good, not data.endswith(b"\n") and bool(data)
