"""A wrong answer: it counts characters, not bytes."""


def bound_tail(text: str, *, max_bytes: int, max_lines: int) -> tuple[str, bool]:
    """Too long as soon as a character has more than one byte."""
    lines = text.splitlines(keepends=True)
    kept = "".join(lines[max(0, len(lines) - max_lines) :])
    kept = kept[max(0, len(kept) - max_bytes) :]
    return kept, kept != text
