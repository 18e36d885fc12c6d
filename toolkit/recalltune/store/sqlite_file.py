"""Another program's SQLite file, read as data: its tables' names, and the rows of one table.

In: a file nobody vouches for. Out: rows in the order they are stored, text as text. The file is
opened read-only and taken as unchanging, so nothing is written beside it, no lock is taken and no
write-ahead log is replayed; nothing a schema says is run: only an ordinary table is read, and only
columns that are stored.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from recalltune.errors import SourceError, UnreadableError

__all__ = ["SQLITE_HEADER", "sqlite_rows", "sqlite_tables"]

SQLITE_HEADER = b"SQLite format 3\0"
_MAX_VALUE_BYTES = 64 * 2**20
_MAX_TABLES = 10_000
_ROW_BYTES = 4
"""No stored row takes less: what is read beyond the file's own size was read twice."""
_INFLATED = 2
"""Text stored as UTF-16 may take half as many bytes again in UTF-8."""


def sqlite_tables(path: Path, file: str) -> set[str]:
    """Names of the ordinary tables of a database; views and virtual tables are none.

    Parameters
    ----------
    path, file
        The database, and its name in messages.

    Raises
    ------
    SourceError
        If it is no SQLite database, or a damaged one.
    """
    try:
        with closing(_opened(path, str)) as con:
            found = con.execute(
                "select name from sqlite_schema where type = 'table' and rootpage > 0 "
                "and sql not like 'create virtual%' limit ?",
                [_MAX_TABLES],
            ).fetchall()
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise _damaged(file, error) from None
    return {name for (name,) in found if isinstance(name, str)}


def sqlite_rows(
    path: Path, file: str, table: str, columns: Sequence[str], notes: Counter[str]
) -> Iterator[tuple[object, ...]]:
    """Rows of a table in the order they are stored: integers, floats, text, bytes or None.

    Parameters
    ----------
    path, file
        The database, and its name in messages.
    table, columns
        What to read. Columns must be stored ones.
    notes
        Counter that receives one count per text with bytes that are not UTF-8, which become U+FFFD.

    Raises
    ------
    SourceError
        If the file is damaged, has no such ordinary table or columns, or yields more than it can
        hold (pages that are read again and again).
    """
    if table not in sqlite_tables(path, file):
        msg = f"{file}:1: database has no ordinary table {table!r}"
        raise UnreadableError(msg)
    left = _INFLATED * path.stat().st_size

    def text(raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            notes["text with bytes that are not UTF-8, replaced by U+FFFD"] += 1
            return raw.decode(errors="replace")

    try:
        with closing(_opened(path, text)) as con:
            # 0 is a stored column; 2 and 3 are computed by what the schema says.
            stored = {
                name
                for name, hidden in con.execute(
                    "select name, hidden from pragma_table_xinfo(?)", [table]
                )
                if hidden == 0
            }
            if lacking := [column for column in columns if column not in stored]:
                msg = f"{file}:1: table {table} must have the columns {', '.join(lacking)}"
                raise UnreadableError(msg)
            names = ", ".join(f'"{column}"' for column in columns)
            for row in con.execute(f'select {names} from "{table}" not indexed'):
                left -= _ROW_BYTES + sum(len(one) for one in row if isinstance(one, str | bytes))
                if left < 0:
                    msg = f"{file}:1: damaged database: it yields more than the file can hold"
                    raise UnreadableError(msg)
                yield row
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise _damaged(file, error) from None


def _opened(path: Path, text: Callable[[bytes], str]) -> sqlite3.Connection:
    """Read-only connection that can do nothing but read this one file."""
    con = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    con.text_factory = text
    con.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    con.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
    for setting in ("trusted_schema = off", "query_only = on", "cell_size_check = on"):
        con.execute(f"pragma {setting}")
    return con


def _damaged(file: str, error: Exception) -> SourceError:
    return UnreadableError(f"{file}:1: no SQLite database that can be read: {error}")
