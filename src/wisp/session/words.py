"""Where words may stand in stored sessions, so that finding them need not read all of these.

One SQLite file beside the sessions: for each block of a session file, which three letters in a row occur in
it (FTS5, without texts or positions).  It answers with blocks that may hold the words; whether they do is
read in the session file.  A cache and never the truth: made and kept up by searches alone, from new bytes of
files that only grew; lost, damaged, locked or impossible here, files are read instead.

What a session that was deleted or scrubbed left in it is removed with the part of the index that held it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from wisp.session.find import said_in, whole_lines
from wisp.session.wordtrust import SEGMENT, TABLES, VERSION, gaps, ours, table_of

if TYPE_CHECKING:
    import sqlite3

_BLOCK = 1 << 16
"""Letters of one block, about."""
_TERMS = 500
"""Most beginnings of words that short ones are looked up by."""
_MOST_GRAMS = 60
"""Threes of letters that are asked for; more would hardly tell more."""
_END = "\x01\x01"
"""Ends what was said, so that its last letters too begin three in a row."""

Span = tuple[int, int]
"""Where a block begins and stops in its file, in bytes."""


class _Known(NamedTuple):
    size: int
    modified: int
    inode: int
    upto: int
    ending: int


def words_path(base: str) -> str:
    """Where the index of the sessions below `base` stands."""
    return os.path.join(base, ".words")


def spans(
    base: str,
    paths: Sequence[str],
    text: str,
    now: Callable[[], float],
    seconds: float,
    kept: Collection[str] | None = None,
) -> dict[str, list[Span] | None]:
    """For each of `paths` the blocks that may hold `text`, in order; None where the whole file must be read.

    Args:
        now: seconds of a steady clock.
        seconds: how long at most the index is brought up to date before it is asked.
        kept: names of all other session files that there are; what else the index knows is forgotten then.
    """
    unknown: dict[str, list[Span] | None] = dict.fromkeys(paths)
    wanted = _letters(text)
    index = _Index.opened(base) if wanted and paths else None
    if index is None:
        return unknown
    names = Counter(map(os.path.basename, paths))
    paths = [path for path in paths if names[os.path.basename(path)] == 1]
    with index:
        fresh = index.refreshed(paths, kept, now, now() + seconds)
        found = index.blocks(wanted) if fresh else None
    if found is None:
        return unknown
    return unknown | {path: found.get(os.path.basename(path), []) for path in fresh}


def forget(base: str, paths: Collection[str]) -> None:
    """Remove what the index knows of the session files `paths`, whether they are still there or not."""
    if os.path.lexists(words_path(base)) and (index := _Index.opened(base)) is not None:
        with index:
            index.forget({os.path.basename(path) for path in paths})


def _letters(text: str) -> str:
    """`text` as the index holds it: case folded, and only what SQLite can take."""
    return text.casefold().replace("\0", "\x01").encode("utf-8", "replace").decode()


class _Index:
    """The index, open; a context that closes it and, where it is damaged, throws it away."""

    def __init__(self, path: str, database: sqlite3.Connection) -> None:
        self._path, self._database = path, database

    @classmethod
    def opened(cls, base: str) -> _Index | None:
        """Open or make it; None where that cannot be done."""
        try:
            import sqlite3
        except ImportError:  # a Python without it
            return None
        path = words_path(base)
        for _ in range(2):
            try:
                flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
                descriptor = os.open(path, flags, 0o600)
                try:
                    status = os.fstat(descriptor)
                    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
                        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                    os.fchmod(descriptor, 0o600)
                finally:
                    os.close(descriptor)
                database = sqlite3.connect(path, timeout=1.0, isolation_level=None)
            except OSError as exc:
                if exc.errno not in (errno.ELOOP, errno.ENXIO):
                    return None
                _discard(path)  # a link, a pipe, a file that has another name too: never followed, not ours
                continue
            except sqlite3.Error:
                return None
            try:
                if _ready(database):
                    return cls(path, database)
            except sqlite3.OperationalError:  # in use, read-only, or without FTS5
                database.close()
                return None
            except sqlite3.DatabaseError:
                pass
            database.close()
            _discard(path)
        return None

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def refreshed(
        self, paths: Sequence[str], kept: Collection[str] | None, now: Callable[[], float], until: float
    ) -> set[str]:
        """Bring it up to date, first paths first; those of `paths` that it knows to their end."""
        fresh: set[str] = set()
        with self._careful():
            known = self._known()
            stale = {name for path in paths if _replaced(path, known.get(name := os.path.basename(path)))}
            stale |= gaps(self._database)
            if kept is not None:
                stale |= known.keys() - {os.path.basename(path) for path in paths} - set(kept)
            if stale:
                self.forget(stale)
                known = self._known()
            for path in paths:
                try:
                    if self._taken(path, known.get(os.path.basename(path)), now, until):
                        fresh.add(path)
                except OSError:
                    continue
        return fresh

    def _known(self) -> dict[str, _Known]:
        rows = self._database.execute("SELECT name, size, modified, inode, upto, ending FROM files")
        return {row[0]: _Known(*row[1:]) for row in rows}

    def _taken(self, path: str, row: _Known | None, now: Callable[[], float], until: float) -> bool:
        """Take in the file at `path`, or what is new of it; whether it is in to its end."""
        status = os.lstat(path)
        same = row is not None and row[:3] == (status.st_size, status.st_mtime_ns, status.st_ino)
        if row is not None and same and row.upto == row.size:
            return True
        if now() >= until:
            return False
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or not _grew(descriptor, status, row):
                return False
            return self._taken_from(descriptor, status, os.path.basename(path), row, now, until)
        finally:
            os.close(descriptor)

    def _taken_from(
        self,
        descriptor: int,
        status: os.stat_result,
        name: str,
        row: _Known | None,
        now: Callable[[], float],
        until: float,
    ) -> bool:
        upto, done = row.upto if row is not None else 0, True
        self._database.execute("BEGIN IMMEDIATE")
        for start, stop, said in _blocks(descriptor, upto, status.st_size):
            self._add(name, start, stop, said)
            upto = stop
            if now() >= until:
                done = False
                break
        size = status.st_size if done else -1
        found = _Known(size, status.st_mtime_ns, status.st_ino, upto, _ending(descriptor, upto))
        self._database.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?)", (name, *found))
        self._database.execute("COMMIT")
        return done

    def _add(self, name: str, start: int, stop: int, said: str) -> None:
        database = self._database
        row = (name, start, stop)
        number = database.execute("INSERT INTO blocks (name, start, stop) VALUES (?, ?, ?)", row).lastrowid
        assert number is not None
        segment = number // SEGMENT
        database.execute(table_of(segment).replace("TABLE", "TABLE IF NOT EXISTS", 1))
        database.execute("INSERT OR IGNORE INTO holds VALUES (?, ?)", (segment, name))
        database.execute(
            f"INSERT INTO grams_{segment:d} (rowid, said) VALUES (?, ?)",  # noqa: S608  a number
            (number, said),
        )

    def forget(self, names: Collection[str]) -> None:
        """Drop every part that holds one of these files; others that it held are taken in again later."""
        database = self._database
        with self._careful():
            database.execute("BEGIN IMMEDIATE")
            rows = database.execute("SELECT segment, name FROM holds").fetchall()
            dropped = {segment for segment, name in rows if name in names}
            gone = {name for segment, name in rows if segment in dropped} | set(names)
            for segment in dropped:
                database.execute(f"DROP TABLE IF EXISTS grams_{segment:d}")
                database.execute("DELETE FROM holds WHERE segment = ?", (segment,))
            for name in gone:
                database.execute("DELETE FROM blocks WHERE name = ?", (name,))
                database.execute("DELETE FROM files WHERE name = ?", (name,))
            database.execute("COMMIT")

    def blocks(self, wanted: str) -> dict[str, list[Span]] | None:
        """File names to the blocks that may hold `wanted`; None when nothing can be told of it."""
        found: dict[str, list[Span]] | None = None
        with self._careful():
            rows = self._database.execute("SELECT DISTINCT segment FROM holds ORDER BY segment").fetchall()
            queries = [(segment, self._query(segment, wanted)) for (segment,) in rows]
            if all(query is not None for _, query in queries):
                found = self._asked([(segment, query) for segment, query in queries if query])
        return found

    def _asked(self, queries: Sequence[tuple[int, str]]) -> dict[str, list[Span]]:
        import sqlite3

        found: dict[str, list[Span]] = {}
        for segment, query in queries:
            rows = self._database.execute(
                f"SELECT name, start, stop FROM grams_{segment:d} g JOIN blocks b ON b.id = g.rowid"  # noqa: S608
                f" WHERE grams_{segment:d} MATCH ? ORDER BY b.id",  # a number
                (query,),
            )
            for name, start, stop in rows:
                if not (type(start) is type(stop) is int and 0 <= start < stop):
                    raise sqlite3.DatabaseError("a block that is none")
                found.setdefault(name, []).append((start, stop))
        return found

    def _query(self, segment: int, wanted: str) -> str | None:
        """What to ask a part for, empty for nothing; None when that would be nearly everything."""
        if len(wanted) >= 3:
            grams = dict.fromkeys(wanted[place : place + 3] for place in range(len(wanted) - 2))
            return " AND ".join(map(_quoted, islice(grams, _MOST_GRAMS)))
        self._database.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.terms_{segment:d}"
            f" USING fts5vocab(main, grams_{segment:d}, row)"
        )
        terms = self._database.execute(
            f"SELECT term FROM terms_{segment:d} WHERE term >= ? AND term <= ? LIMIT ?",  # noqa: S608  a number
            (wanted, wanted + "\U0010ffff", _TERMS + 1),
        ).fetchall()
        return None if len(terms) > _TERMS else " OR ".join(_quoted(term) for (term,) in terms)

    @contextlib.contextmanager
    def _careful(self) -> Iterator[None]:
        """What the database refuses leaves the work undone; where it is damaged, it is thrown away."""
        import sqlite3

        try:
            yield
        except sqlite3.OperationalError:
            pass
        except sqlite3.DatabaseError:
            _discard(self._path)
        finally:
            if self._database.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    self._database.execute("ROLLBACK")


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'


def _ready(database: sqlite3.Connection) -> bool:
    """Whether it is an index of this version; an empty file becomes one."""
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA secure_delete = ON")
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if version == 0 and not database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        database.execute("PRAGMA auto_vacuum = FULL")
        tables = "; ".join(TABLES.values())
        database.executescript(f"BEGIN IMMEDIATE; {tables}; PRAGMA user_version = {VERSION}; COMMIT;")
        return True
    return ours(database)


def _discard(path: str) -> None:
    for name in (path, path + "-journal"):
        with contextlib.suppress(OSError):
            os.unlink(name)


def _replaced(path: str, row: _Known | None) -> bool:
    """Whether the file at `path` is another one than the index knows."""
    try:
        status = os.lstat(path)
        if row is None or row[:3] == (status.st_size, status.st_mtime_ns, status.st_ino):
            return False
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return not _grew(descriptor, os.fstat(descriptor), row)
    finally:
        os.close(descriptor)


def _grew(descriptor: int, status: os.stat_result, row: _Known | None) -> bool:
    """Whether the open file begins with what the index knows of it."""
    if row is None:
        return True
    same = row.inode == status.st_ino and row.upto <= status.st_size
    return same and row.ending == _ending(descriptor, row.upto)


def _ending(descriptor: int, size: int) -> int:
    return zlib.crc32(os.pread(descriptor, min(size, 4096), max(0, size - 4096)))


def _blocks(descriptor: int, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """What was said in the file from byte `start` to `end`, in blocks of whole lines."""
    parts: list[str] = []
    size, stop = 0, start
    for place, line in whole_lines(descriptor, start, end):
        stop = place + len(line)
        found = said_in(line)
        if found is not None:
            parts.append(_letters(found[0]) + _END)
            size += len(parts[-1])
        if size >= _BLOCK or stop - start >= 16 * _BLOCK:
            yield start, stop, "".join(parts)
            parts, size, start = [], 0, stop
    if stop > start:
        yield start, stop, "".join(parts)
