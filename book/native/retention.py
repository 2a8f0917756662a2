"""Keeping the head and the tail of an output: the pure Python side of the pair.

`keep` has the contract that both sides share: the first `head` and the last `tail` bytes of a text, each moved to
the nearest line boundary that keeps less, and how many whole lines lie between them.
"""

from __future__ import annotations


def keep(data: bytes, head: int, tail: int) -> tuple[int, int, int]:
    """Where the head ends, where the tail begins, and how many newlines lie between.

    A text that fits is all head.  An end in mid-line is moved: the head back behind the last newline within it,
    the tail forward behind the first newline within it.  Where there is none, the end stays in mid-line.
    """
    if len(data) <= head + tail:
        return len(data), len(data), 0
    end = data.rfind(b"\n", 0, head) + 1 or head
    start = len(data) - tail
    newline = data.find(b"\n", max(start - 1, 0))
    if start <= newline + 1 < len(data):
        start = newline + 1
    return end, start, data.count(b"\n", end, start)
