"""Searching contents and names beneath a root: by ripgrep where it is, with the same answers without it.

Files that usually hold secrets are left out unless they are named themselves.  Knows nothing of models.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from typing import NamedTuple

from wisp.workspace import ripgrep, rulefiles
from wisp.workspace.box import Box
from wisp.workspace.errors import Refused
from wisp.workspace.hits import Answer, Collector, Query
from wisp.workspace.ignore import BadGlob, Override, compile_path_glob, names_hidden
from wisp.workspace.matcher import Matcher
from wisp.workspace.process import Ending, run
from wisp.workspace.root import Place, Workspace
from wisp.workspace.stop import StopToken
from wisp.workspace.text import DEFAULT_FALLBACKS
from wisp.workspace.walk import Found, walk

SECONDS = 20.0
"""Longest a search may take; what was found by then is the answer, and said to be partial."""
MAX_LISTED = 500_000
_UNORDERED = 4
"""How many times as many lines as are wanted are kept until it is asked for them in order."""


class Listing(NamedTuple):
    """What a search of names found, newest first."""

    paths: list[str]
    total: int
    partial: bool


class Searcher:
    """Searches one workspace.

    Args:
        search_path: the PATH in which ripgrep is looked for.
        engine: `auto`, or `python` to do without ripgrep, or the path of an `rg`.
        now: a clock that only goes forward, in seconds.
        encodings: how lines that are not UTF-8 are shown, tried in order; their bytes decide what matches.
        box: where ripgrep runs, seeing nothing but the root it searches; None runs it plainly.
    """

    def __init__(
        self,
        workspace: Workspace,
        search_path: str,
        now: Callable[[], float],
        *,
        engine: str = "auto",
        seconds: float = SECONDS,
        encodings: tuple[str, ...] = DEFAULT_FALLBACKS,
        box: Box | None = None,
    ) -> None:
        self._encodings = encodings
        self._workspace, self._now, self._engine, self._seconds = workspace, now, engine, seconds
        self._box, self._works = box, box is None
        self._search_path = search_path

    @property
    def rg(self) -> str | None:
        """The ripgrep in use; found at the first search."""
        if self._engine == "auto":
            roots = tuple(root.path for root in self._workspace.roots)
            self._engine = ripgrep.find_ripgrep(self._search_path, roots) or "python"
        return None if self._engine == "python" else self._engine

    def grep(self, place: Place, query: Query, stop: StopToken) -> Answer:
        """Lines that match below `place`, in path order.

        Raises:
            Refused: the pattern or glob cannot be understood, or the place cannot be opened.
        """
        escaped = not query.literal and "\\n" in query.pattern.replace("\\\\", "")
        if "\n" in query.pattern or escaped:
            raise Refused("invalid_pattern", "a pattern cannot span lines; search for a part of one line")
        fd, path, name = self._open(place)
        collector = Collector(query, path, self._encodings, explicit=bool(name))
        try:
            if not (self.rg and self._grep_rg(self.rg, fd, path, name, query, collector, stop)):
                self._grep_python(fd, path, name, query, collector, stop)
        finally:
            os.close(fd)
        return Answer(collector.hits, collector.more, collector.partial)

    def find(self, place: Place, pattern: str, most: int, stop: StopToken) -> Listing:
        """Files below `place` whose path fits a glob, newest first, at most `most`.

        Raises:
            Refused: the glob cannot be understood, or the place is not a directory.
        """
        wanted = _glob(pattern)
        hidden = names_hidden(pattern)
        fd, path = self._workspace.open_directory(place)
        try:
            names, partial = self._names(fd, path, hidden, stop)
            dated = [(*_age(fd, name), name) for name in names if wanted.match(name)]
        finally:
            os.close(fd)
        there = sorted((age, name) for age, exists, name in dated if exists)
        return Listing([os.fsdecode(name) for _, name in there[:most]], len(there), partial)

    def _open(self, place: Place) -> tuple[int, str, str]:
        """A directory's handle and real path, or those of a file's directory and the file's name."""
        found = self._workspace.status(place)
        if stat.S_ISDIR(found.st_mode):
            return *self._workspace.open_directory(place), ""
        if not stat.S_ISREG(found.st_mode):
            raise Refused("not_regular", f"{place.path} is not a regular file")
        if found.st_size > ripgrep.MAX_FILE:
            raise Refused("too_large", f"{place.path} is larger than {ripgrep.MAX_FILE >> 20} MB; use bash")
        real = self._workspace.place(self._workspace.real(place))
        fd, path = self._workspace.open_directory(Place(real.root, "/".join(real.parts[:-1])))
        return fd, path, real.parts[-1]

    def _names(self, fd: int, path: str, hidden: bool, stop: StopToken) -> tuple[list[bytes], bool]:
        if not self.rg:
            return self._names_python(fd, path, hidden, stop)
        pieces: list[bytes] = []
        troubles: list[bytes] = []
        count = 0

        def take(data: bytes) -> bool:
            nonlocal count
            pieces.append(data)
            count += data.count(b"\0")
            return count < MAX_LISTED

        ending = self._run(
            ripgrep.files_arguments(self.rg, hidden=hidden), fd, path, stop, take, troubles.append
        )
        if ending is None:
            return self._names_python(fd, path, hidden, stop)
        names = b"".join(pieces).split(b"\0")[:-1]
        return [name.removeprefix(b"./") for name in names], ending.how != "exited"

    def _names_python(self, fd: int, path: str, hidden: bool, stop: StopToken) -> tuple[list[bytes], bool]:
        names: list[bytes] = []
        try:
            for found in self._walk(fd, path, [], hidden, stop):
                names.append(found.relative)
                if len(names) >= MAX_LISTED:
                    return names, True
        except TimeoutError:
            return names, True
        return names, False

    def _run(
        self,
        argv: list[str],
        fd: int,
        path: str,
        stop: StopToken,
        take: Callable[[bytes], object],
        trouble: Callable[[bytes], object],
    ) -> Ending | None:
        """Run ripgrep; None when it cannot be started, now and from now on, or could not end.

        It opens whatever stands under the name of an ignore file.  Most searches are over before all of those
        were looked at, so that is done beside it.
        """
        readable = rulefiles.readable(fd, path)
        if not next(readable):
            return None
        sound = True

        def meanwhile() -> Iterator[bool]:
            nonlocal sound
            while sound and (step := next(readable, None)) is not None:
                sound = step
                yield sound

        try:
            if not self._works and self._start([argv[0], "--version"], fd, path, stop, len, len).code != 0:
                raise Refused("spawn_failed", "it does not run in the box")
            self._works = True
            ending = self._start(argv, fd, path, stop, take, trouble, meanwhile())
        except Refused:
            self._engine = "python"
            return None
        finally:
            readable.close()
        stop.check()
        return ending if sound else None

    def _start(
        self,
        argv: list[str],
        fd: int,
        path: str,
        stop: StopToken,
        take: Callable[[bytes], object],
        trouble: Callable[[bytes], object],
        meanwhile: Iterator[bool] | None = None,
    ) -> Ending:
        boxed = self._box.look(argv, fd, path) if self._box else None
        try:
            return run(
                boxed.argv if boxed else argv,
                cwd=fd,
                env=ripgrep.environment(self._search_path),
                timeout=self._seconds,
                stop=stop,
                now=self._now,
                output=take,
                errors=trouble,
                guarded=boxed is not None and boxed.guarded,
                fds=boxed.fds if boxed else (),
                meanwhile=meanwhile,
            )
        finally:
            if boxed:
                os.close(boxed.fds[0])

    def _grep_rg(
        self, rg: str, fd: int, path: str, name: str, query: Query, collector: Collector, stop: StopToken
    ) -> bool:
        """Whether ripgrep could be asked at all."""
        flags = [
            *(["-i"] if query.ignore_case else []),
            *(["-F"] if query.literal else []),
            *(["-C", str(query.context)] if query.context else []),
        ]
        if query.glob:
            _glob(query.glob)
        troubles: list[bytes] = []

        def note(data: bytes) -> None:
            if len(troubles) < 16:
                troubles.append(data[:2000])

        def ask(take: Callable[[list[ripgrep.Line]], bool], ordered: bool) -> Ending | None:
            argv = ripgrep.grep_arguments(
                rg,
                hidden=names_hidden(query.glob),
                globs=[query.glob] if query.glob else [],
                flags=flags,
                pattern=query.pattern,
                target="./" + name,
                ordered=ordered,
            )
            reader = ripgrep.Reader(take, query.most + 1)
            ending = self._run(argv, fd, path, stop, reader.feed, note)
            if ending and ending.how == "exited" and not reader.finished:
                words = b"".join(troubles).decode("utf-8", "replace").strip()
                if ending.code == 2:
                    raise Refused("invalid_pattern", f"the pattern cannot be searched for: {words}")
                raise Refused("io_error", f"ripgrep ended with {ending.code}: {words}")
            return ending

        # On all processors first: what is found seldom comes sooner so, and what is found often ends at once.
        gathered = ripgrep.Gathered(_UNORDERED * (query.most + 1))
        ending = ask(gathered.take, False)
        if ending and not gathered.whole:
            ending = ask(collector.take, True)
        elif ending:
            all(map(collector.take, gathered.in_order()))
        if ending is None:
            collector.clear()
            return False
        collector.partial = ending.how == "timeout"
        return True

    def _grep_python(
        self, fd: int, path: str, name: str, query: Query, collector: Collector, stop: StopToken
    ) -> None:
        matcher = Matcher(query.pattern, ignore_case=query.ignore_case, literal=query.literal)
        raw = os.fsencode(name)
        globs = [query.glob] if query.glob else []
        if query.glob:
            _glob(query.glob)
        try:
            files = (
                iter([Found(raw, fd, raw)])
                if name
                else self._walk(fd, path, globs, names_hidden(query.glob), stop)
            )
            for found in files:
                stop.check()
                lines = matcher.lines(_read(found), found.relative, query.context, query.most + 1)
                if lines and not collector.take(lines):
                    return
        except TimeoutError:
            collector.partial = True

    def _walk(self, fd: int, path: str, globs: list[str], hidden: bool, stop: StopToken) -> Iterator[Found]:
        deadline = self._now() + self._seconds

        def check() -> None:
            stop.check()
            if self._now() > deadline:
                raise TimeoutError

        override = Override([*globs, *(["!.git"] if hidden else [])])
        return walk(fd, path, override=override, hidden=hidden, check=check)


def _read(found: Found) -> bytes:
    """A file met on a walk; nothing when it is not for us, not a file any more, or too big."""
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        fd = os.open(found.name, flags, dir_fd=found.folder)
    except OSError:
        return b""
    try:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode) or about.st_size > ripgrep.MAX_FILE:
            return b""
        pieces = []
        while piece := os.read(fd, 1 << 20):
            pieces.append(piece)
        return b"".join(pieces)
    except OSError:
        return b""
    finally:
        os.close(fd)


def _age(fd: int, name: bytes) -> tuple[int, bool]:
    try:
        return -os.stat(name, dir_fd=fd, follow_symlinks=False).st_mtime_ns, True
    except OSError:
        return 0, False


def _glob(glob: str) -> re.Pattern[bytes]:
    try:
        return compile_path_glob(glob.removeprefix("!"))
    except BadGlob as exc:
        raise Refused("invalid_pattern", f"the glob {glob!r} cannot be understood: {exc}") from None
