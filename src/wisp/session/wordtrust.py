"""Whether a database is an index of words as `words.py` makes it, and holds all that it says it does.

Whoever may write the file can put into it what SQLite would run, or take out what would be found.  The first
is found here, and of the second what leaves a gap; an index that is forged with care is not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

VERSION = 2
SEGMENT = 4096
"""Blocks in a part of the index that is dropped as one."""
TABLES = {
    "files": "CREATE TABLE files"
    " (name TEXT PRIMARY KEY, size INT, modified INT, inode INT, upto INT, ending INT)",
    "blocks": "CREATE TABLE blocks (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, start INT, stop INT)",
    "blocks_of": "CREATE INDEX blocks_of ON blocks (name, start, stop)",
    "holds": "CREATE TABLE holds (segment INT, name TEXT, PRIMARY KEY (segment, name))",
}
_PART = re.compile(r"grams_(0|[1-9][0-9]*)")
_BESIDE = re.compile(rf"{_PART.pattern}_(data|idx|config|docsize|content)|sqlite_(sequence|autoindex_.*)")
_GAPS = f"""
    SELECT name FROM files LEFT JOIN
        (SELECT name, min(start) AS first, max(stop) AS last, sum(stop - start) AS whole
            FROM blocks GROUP BY name) USING (name)
    WHERE upto > 0 AND NOT coalesce(first = 0 AND last = upto AND whole = upto, 0)
    UNION SELECT name FROM (SELECT DISTINCT id / {SEGMENT} AS part, name FROM blocks) b
    WHERE NOT EXISTS (SELECT 1 FROM holds h WHERE h.segment = b.part AND h.name = b.name)
    UNION SELECT name FROM holds
    WHERE NOT EXISTS (SELECT 1 FROM sqlite_master m WHERE m.name = 'grams_' || segment)
"""  # noqa: S608  a number


def table_of(segment: int) -> str:
    """How the table of a part is made."""
    return (
        f"CREATE VIRTUAL TABLE grams_{segment:d} USING fts5(said, content='', detail='none', columnsize=0,"
        " tokenize='trigram case_sensitive 1')"
    )


def ours(database: sqlite3.Connection) -> bool:
    """Whether it holds our tables and nothing else: no trigger, no view, no table of another making."""
    for kind, name, sql in database.execute("SELECT type, name, sql FROM sqlite_master").fetchall():
        if name in TABLES:
            good = sql == TABLES[name]
        elif part := _PART.fullmatch(name):
            good = sql == table_of(int(part[1]))
        else:
            good = bool(_BESIDE.fullmatch(name)) and kind in ("table", "index")
        if not good:
            return False
    return bool(database.execute("PRAGMA user_version").fetchone()[0] == VERSION)


def gaps(database: sqlite3.Connection) -> set[str]:
    """Names of files of which a part is not held that should be."""
    return {name for (name,) in database.execute(_GAPS)}
