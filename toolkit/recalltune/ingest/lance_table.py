"""A Lance table read as data, by an extra that is imported when it is asked for.

In: the folder of a table nobody vouches for. Out: its rows, a few at a time, of the columns asked
for: text and numbers, never vectors. Nothing outside the folder is looked at, whatever the table
names. What the native reader makes of damaged bytes is one error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from recalltune.errors import UnreadableError
from recalltune.ingest.reader import MAX_FILE_BYTES
from recalltune.ingest.store_folder import refuse_links

__all__ = ["lance_rows"]

INSTALL = "pip install 'recalltune[stores]'"
_BATCH_ROWS = 64
_MAX_ROWS = 5_000_000
_TEXT_TYPES = ("string", "large_string")
_NUMBER_TYPES = ("double", "float", "int64", "int32", "uint64")
T = TypeVar("T")


def lance_rows(
    path: Path, file: str, *, texts: Sequence[str], numbers: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Rows of the table's latest version in the order they are stored, by column.

    Parameters
    ----------
    path, file
        The table's folder, and its name in messages.
    texts, numbers
        Columns to read, of text and of numbers.

    Raises
    ------
    SourceError
        If the extra is missing; if the folder is no Lance table, is damaged, lacks a column, holds
        a link or refers to data outside itself; or beyond 5 million rows or `MAX_FILE_BYTES`.
    """
    if not (path / "_versions").is_dir():
        # Told at once; the library would look for it again and again.
        msg = f"{file}:1: no Lance table: there is no folder _versions in it"
        raise UnreadableError(msg)
    refuse_links(path, file)
    try:
        import lance
    except ImportError:
        msg = f"{file}:1: a Lance table is read by an extra: {INSTALL}"
        raise UnreadableError(msg) from None
    table = _guarded(file, lambda: lance.dataset(str(path)))
    _refuse_elsewhere(table, file)
    _check_columns(_guarded(file, lambda: table.schema), texts, numbers, file)
    if (count := _guarded(file, table.count_rows)) > _MAX_ROWS:
        msg = f"{file}:1: table must hold at most {_MAX_ROWS:,} rows, got {count:,}"
        raise UnreadableError(msg)
    # Only these columns: vectors are made anew, by the lab's own encoder.
    batches = _guarded(
        file,
        lambda: iter(
            table.to_batches(
                columns=[*texts, *numbers],
                batch_size=_BATCH_ROWS,
                batch_readahead=1,
                fragment_readahead=1,
                scan_in_order=True,
            )
        ),
    )
    left = MAX_FILE_BYTES
    while (batch := _guarded(file, lambda: next(batches, None))) is not None:
        left -= batch.nbytes
        if left < 0:
            msg = f"{file}:1: table must unpack to at most {MAX_FILE_BYTES:,} bytes, it goes on"
            raise UnreadableError(msg)
        yield from _guarded(file, batch.to_pylist)


def _guarded(file: str, work: Callable[[], T]) -> T:
    """Result of a call into the native reader, all of whose failures are the file's."""
    try:
        return work()
    except Exception as error:
        msg = f"{file}:1: no Lance table that can be read: {str(error)[:200]}"
        raise UnreadableError(msg) from None
    except BaseException as error:
        # What the native code calls a panic is no Exception, and is not to be named by import.
        if type(error).__name__ != "PanicException":
            raise
        msg = f"{file}:1: no Lance table that can be read: damaged data"
        raise UnreadableError(msg) from None


def _refuse_elsewhere(table: Any, file: str) -> None:
    """A table may name data beyond its folder, even on the net: none of it is looked at."""
    names = [
        data.path
        for fragment in _guarded(file, table.get_fragments)
        for data in fragment.metadata.files
    ]
    if _guarded(file, table.base_paths) or any("/" in name or "\\" in name for name in names):
        msg = f"{file}:1: table refers to data outside its folder; copy it whole (deep clone)"
        raise UnreadableError(msg)


def _check_columns(schema: Any, texts: Sequence[str], numbers: Sequence[str], file: str) -> None:
    types = {field.name: str(field.type) for field in schema}
    wrong = [name for name in texts if types.get(name) not in _TEXT_TYPES]
    wrong += [name for name in numbers if types.get(name) not in _NUMBER_TYPES]
    if wrong:
        seen = ", ".join(f"{name} {kind}" for name, kind in sorted(types.items()))[:200]
        msg = f"{file}:1: table must have the columns {', '.join(wrong)}, got {seen or 'none'}"
        raise UnreadableError(msg)
