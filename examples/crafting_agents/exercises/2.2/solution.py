"""Exercise 2.2: cut by lines, then by bytes, and let no character be cut in two."""


def bound_tail(text: str, *, max_bytes: int, max_lines: int) -> tuple[str, bool]:
    """The longest end of text within both limits, as whole characters, and whether anything was left off."""
    lines = text.splitlines(keepends=True)
    kept = "".join(lines[max(0, len(lines) - max_lines) :])
    data = kept.encode()
    kept = data[max(0, len(data) - max_bytes) :].decode(errors="ignore")
    return kept, kept != text
