"""A wrong answer: [-0:] is everything, and a cut character becomes a question mark."""


def bound_tail(text: str, *, max_bytes: int, max_lines: int) -> tuple[str, bool]:
    """Forgets what a negative zero means."""
    kept = "".join(text.splitlines(keepends=True)[-max_lines:])
    kept = kept.encode()[-max_bytes:].decode(errors="replace")
    return kept, kept != text
