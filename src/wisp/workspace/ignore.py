"""Glob patterns and ignore files, with ripgrep's meaning of both.

Pure: patterns in, verdicts out.  Works on bytes, as file names are.
"""

from __future__ import annotations

import re


class BadGlob(ValueError):
    """The glob cannot be understood; the message says why."""


class Rules:
    """The patterns of one ignore file, or of one list of overriding globs."""

    def __init__(self, lines: list[bytes]) -> None:
        self._rules: list[tuple[re.Pattern[bytes], bool, bool]] = []
        for line in lines:
            rule = _rule(line)
            if rule:
                self._rules.append(rule)
        self.whitelists = sum(1 for _, negated, _ in self._rules if negated)

    def __bool__(self) -> bool:
        return bool(self._rules)

    def verdict(self, relative: bytes, is_directory: bool) -> int:
        """1 ignored, -1 expressly not ignored, 0 not mentioned; the last pattern that fits decides.

        Args:
            relative: path from the directory of the ignore file, no slash at either end.
        """
        for pattern, negated, only_directory in reversed(self._rules):
            if (is_directory or not only_directory) and pattern.match(relative):
                return -1 if negated else 1
        return 0


class Override:
    """Globs given by hand: they win over every ignore file and over hiding."""

    def __init__(self, globs: list[str]) -> None:
        for glob in globs:
            compile_glob(glob.removeprefix("!").strip("/").encode("utf-8", "surrogateescape"))
        flipped = [g[1:] if g.startswith("!") else "!" + g for g in globs]
        self._rules = Rules([g.encode("utf-8", "surrogateescape") for g in flipped])

    def verdict(self, relative: bytes, is_directory: bool) -> int:
        """As `Rules.verdict`; with any positive glob, files that fit none are ignored."""
        if not self._rules:
            return 0
        found = self._rules.verdict(relative, is_directory)
        if not found and self._rules.whitelists and not is_directory:
            return 1
        return found


def parse(data: bytes) -> Rules:
    """The rules of an ignore file."""
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    return Rules([line.removesuffix(b"\r") for line in data.split(b"\n")])


def compile_path_glob(glob: str) -> re.Pattern[bytes]:
    """A glob for whole relative paths; without a slash it fits the last name at any depth."""
    raw = glob.encode("utf-8", "surrogateescape").removeprefix(b"./")
    anchored = raw.startswith(b"/")
    raw = raw.lstrip(b"/")
    if not anchored and b"/" not in raw and not raw.startswith(b"**/"):
        raw = b"**/" + raw
    return compile_glob(raw)


def names_hidden(glob: str) -> bool:
    """Whether a glob expressly names something hidden."""
    return any(part.startswith(".") and part not in (".", "..") for part in re.split(r"[/{,]", glob))


def compile_glob(glob: bytes) -> re.Pattern[bytes]:
    """A glob as a regular expression for a whole relative path.

    Raises:
        BadGlob: unclosed brackets or braces, a range the wrong way round, a trailing backslash.
    """
    return re.compile(_Parser(glob).whole(), re.DOTALL)


def _rule(line: bytes) -> tuple[re.Pattern[bytes], bool, bool] | None:
    if line.startswith(b"#"):
        return None
    if not line.endswith(b"\\ "):
        line = line.rstrip()
    if not line:
        return None
    negated = anchored = False
    if line.startswith((b"\\!", b"\\#")):
        line = line[1:]
        anchored = line.startswith(b"/")
    else:
        if line.startswith(b"!"):
            negated, line = True, line[1:]
        if line.startswith(b"/"):
            anchored, line = True, line[1:]
    only_directory = line.endswith(b"/")
    if only_directory:
        line = line[:-1].removesuffix(b"\\")
    glob = line
    if not anchored and b"/" not in line and not glob.startswith(b"**/") and glob != b"**":
        glob = b"**/" + glob
    if glob.endswith(b"/**"):
        glob += b"/*"
    try:
        return compile_glob(glob), negated, only_directory
    except BadGlob:
        return None  # a pattern that cannot be read ignores nothing, as in ripgrep


class _Parser:
    """One pass over a glob; the treatment of `**` follows globset."""

    def __init__(self, glob: bytes) -> None:
        self._glob = glob
        self._at = 0
        self._depth = 0
        self._previous = b""

    def whole(self) -> bytes:
        out = self._sequence()
        if self._at < len(self._glob):
            raise BadGlob("a closing brace without an opening one")
        return b"(?:" + out + b")\\Z"

    def _sequence(self) -> bytes:
        tokens: list[bytes] = []
        while self._at < len(self._glob):
            char = self._glob[self._at : self._at + 1]
            if self._depth and char in b",}":
                break
            if not self._depth and char == b"}":
                break
            self._at += 1
            self._token(char, tokens)
            self._previous = char
        return b"".join(tokens)

    def _token(self, char: bytes, tokens: list[bytes]) -> None:
        if char == b"*":
            self._star(tokens)
        elif char == b"?":
            tokens.append(b"[^/]")
        elif char == b"[":
            tokens.append(self._class())
        elif char == b"{":
            tokens.append(self._alternatives())
        elif char == b"\\":
            if self._at >= len(self._glob):
                raise BadGlob("a backslash at the end")
            tokens.append(re.escape(self._glob[self._at : self._at + 1]))
            self._at += 1
        else:
            tokens.append(re.escape(char))

    def _peek(self) -> bytes:
        return self._glob[self._at : self._at + 1]

    def _star(self, tokens: list[bytes]) -> None:
        if self._peek() != b"*":
            tokens.append(b"[^/]*")
            return
        self._at += 1
        following = self._peek()
        if not tokens and not self._depth:
            if following in (b"", b"/"):
                self._at += len(following)
                tokens.append(b"(?:/?|.*/)" if following else b".*")
            else:
                tokens.append(b"[^/]*")
            return
        in_braces = self._depth and self._previous in (b",", b"{")
        is_suffix = not following or (bool(self._depth) and following in b",}")
        if (self._previous != b"/" and not in_braces) or not (is_suffix or following == b"/"):
            tokens.append(b"[^/]*")
            return
        before = tokens.pop() if tokens else b""
        if not is_suffix:
            self._at += 1
        if before in (b"(?:/?|.*/)", b"/.*"):
            tokens.append(before)
        elif is_suffix:
            tokens.append(b"/.*" if before else b".*")
        else:
            tokens.append(b"(?:/|/.*/)" if before else b"(?:.*/)?")

    def _class(self) -> bytes:
        negated = self._peek() in (b"!", b"^")
        self._at += negated
        items = b""
        first = True
        while True:
            char = self._peek()
            if not char:
                raise BadGlob("an unclosed [")
            self._at += 1
            if char == b"]" and not first:
                break
            first = False
            if self._peek() == b"-" and self._glob[self._at + 1 : self._at + 2] not in (b"", b"]"):
                high = self._glob[self._at + 1 : self._at + 2]
                self._at += 2
                if high < char:
                    raise BadGlob("a range the wrong way round")
                items += re.escape(char) + b"-" + re.escape(high)
            else:
                items += re.escape(char)
        return b"[" + (b"^" if negated else b"") + items + b"]"

    def _alternatives(self) -> bytes:
        self._depth += 1
        self._previous = b"{"
        found = [self._sequence()]
        while self._peek() == b",":
            self._at += 1
            self._previous = b","
            found.append(self._sequence())
        if self._peek() != b"}":
            raise BadGlob("an unclosed {")
        self._at += 1
        self._depth -= 1
        return b"(?:" + b"|".join(found) + b")"
