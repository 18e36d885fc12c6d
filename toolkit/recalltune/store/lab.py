"""The lab file: opened late, closed early, private, and never older or newer than this library.

In: a path. Out: a `Lab`, which hands out one short-lived connection at a time. Nothing is held
between two ``with`` blocks, so an idle notebook never keeps a shell from writing. Who finds the
file held waits a few seconds: two commands at once take turns.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb

from recalltune.errors import ContractError, RecalltuneError
from recalltune.store.schema import ORDER_KEYS, SCHEMA, SCHEMA_NUMBER

__all__ = ["Lab", "LockedError", "ReadOnlyError", "UnwrittenError", "open"]

# Extensions are never fetched: a query that needs one fails at once instead of waiting for a host.
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "TimeZone": "UTC",
}
# What a reader has no memory for goes to files that outlive it if it is killed, untold texts among
# them: sealed with a key of its own. A writer's log is plain text; sealing would make it slow.
_SEALED = {"temp_file_encryption": "true", "force_mbedtls_unsafe": "true"}
_EVERYTHING = """
select table_name from duckdb_tables()
union all select view_name from duckdb_views() where not internal
order by 1
"""
_IN_EVERY_LAB = ("memory", "memory_span", "text")
"""Tables of every schema number: a file without them was never ours to throw away."""
_UNREADABLE = (
    "version number",  # made by another DuckDB
    "Corrupt database file",  # a wrong checksum
    "Could not read enough bytes",  # cut off
)
_DENIED = ("Permission denied", "Read-only file system")
_ATTEMPTS = 100
_PAUSE_SECONDS = 0.05
_WRITING_MIB = 256
_HOLDER = re.compile(r"held in (?P<program>[^\n]{1,400}?) \(PID (?P<pid>\d+)\)")


class LockedError(RecalltuneError):
    """Another connection holds the lab file."""


class _HeldElsewhere(LockedError):
    """Another process holds it, and may let it go soon."""


class ReadOnlyError(RecalltuneError):
    """The lab file, or its folder, may not be written to."""


class UnwrittenError(RecalltuneError):
    """The disk or the memory was not enough for a transaction; the lab is as it was before it."""


class Lab:
    """One lab file; made by `open`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __repr__(self) -> str:
        return f"Lab({str(self._path)!r})"

    @property
    def path(self) -> Path:
        """The file, as an absolute path."""
        return self._path

    @contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Hand out a read-only connection and close it at the end of the block.

        Raises
        ------
        LockedError
            If a writer holds the file for seconds; the message names its process.
        """
        with _private_files():
            con = _connect(self._path, read_only=True)
            try:
                yield con
            finally:
                con.close()

    @contextmanager
    def writing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Hand out a connection inside one transaction: all of the block, or nothing of it.

        Raises
        ------
        LockedError
            If another connection holds the file for seconds; the message names its process.
        ReadOnlyError
            If the file or its folder may not be written to.
        UnwrittenError
            If the disk is full, or the memory is not enough.
        """
        with _private_files():
            con = _connect(self._path, read_only=False)
            con.execute(f"set memory_limit = '{self._memory_mib()}MiB'")
            try:
                con.begin()
                yield con
                _commit(con, self._path)
            except (duckdb.IOException, duckdb.OutOfMemoryException) as error:
                with suppress(duckdb.Error):
                    con.rollback()
                raise _unwritten(self._path, error) from error
            except BaseException:
                with suppress(duckdb.TransactionException):
                    con.rollback()
                raise
            finally:
                con.close()

    def _memory_mib(self) -> int:
        """What DuckDB may hold while it writes, in MiB; beyond it, it uses the disk.

        The indices of a large lab want memory of their own.
        """
        return _WRITING_MIB + self._path.stat().st_size // 2**20 // 8


def open(path: str | os.PathLike[str]) -> Lab:
    """Lab at ``path``, created with its tables if there is no file yet.

    Parameters
    ----------
    path
        The ``.duckdb`` file. A missing folder is created with mode 0700, the file with 0600.

    Raises
    ------
    ContractError
        If the path is a symbolic link, a folder, not a lab, or made by another schema number.
    LockedError
        If another process holds the file for seconds.
    """
    file = Path(path)
    _refuse_links(file)
    lab = Lab(file.absolute())
    if not file.exists():
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _create(lab)
    elif _schema_number(lab) is None:
        # A creation that was killed leaves a file without tables; finishing it is safe.
        _create(lab)
    return lab


def _create(lab: Lab) -> None:
    with lab.writing() as con:
        if con.sql(_EVERYTHING).fetchall():
            return  # made by another process while this one waited for the file
        con.execute(SCHEMA)
        con.execute("insert into schema_number values (?)", [SCHEMA_NUMBER])


def _schema_number(lab: Lab) -> int | None:
    """Schema number of the file, checked; none if it holds no table at all."""
    with lab.reading() as con:
        tables = {name for (name,) in con.sql(_EVERYTHING).fetchall()}
        if not tables:
            return None
        number = _read_number(con) if "schema_number" in tables else None
    expected = ORDER_KEYS if number == SCHEMA_NUMBER else _IN_EVERY_LAB
    if number is None or not tables >= set(expected):
        msg = f"{lab.path} is a DuckDB file but not a lab (no schema_number); give another path"
        raise ContractError(msg)
    if number != SCHEMA_NUMBER:
        age = "older" if number < SCHEMA_NUMBER else "newer"
        msg = (
            f"{lab.path} has schema {number}, {age} than the {SCHEMA_NUMBER} of this library. "
            f"The file is a cache: rebuild it from its sources with "
            f"`rm {lab.path} && recalltune ingest --db {lab.path} PATH...`"
        )
        raise ContractError(msg)
    return number


def _read_number(con: duckdb.DuckDBPyConnection) -> int | None:
    try:
        rows = con.sql("select max(try_cast(number as integer)) from schema_number").fetchall()
    except duckdb.BinderException:
        return None  # a table of that name in a database of another program
    return None if rows[0][0] is None else int(rows[0][0])


def _commit(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    try:
        # DuckDB commits an aborted transaction without a word; any query tells.
        con.sql("select 1").fetchall()
        con.commit()
    except duckdb.TransactionException as error:
        if _denied(str(error)):
            raise _no_writing(path) from error
        if "Failed to commit" in str(error):
            raise _unwritten(path, error) from error
        msg = f"nothing was written: an earlier error in this `with lab.writing()` block ({error})"
        raise ContractError(msg) from error


def _refuse_links(file: Path) -> None:
    if file.is_dir() and not file.is_symlink():
        msg = f"{file} is a folder; give a file in it, such as {file / 'lab.duckdb'}"
        raise ContractError(msg)
    for path in (file, file.with_name(file.name + ".wal")):
        if path.is_symlink():
            msg = f"{path} is a symbolic link; give the file it points to ({path.readlink()})"
            raise ContractError(msg)


def _connect(path: Path, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    for _ in range(_ATTEMPTS - 1):
        with suppress(_HeldElsewhere):
            return _opened(path, read_only=read_only)
        time.sleep(_PAUSE_SECONDS)
    return _opened(path, read_only=read_only)


def _opened(path: Path, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    _refuse_links(path)
    try:
        config = {**_CONFIG, **_SEALED} if read_only else dict(_CONFIG)
        return duckdb.connect(str(path), read_only=read_only, config=config)
    except duckdb.ConnectionException as error:
        msg = (
            f"{path} is already open in this process (PID {os.getpid()}) in the other mode; "
            "leave the surrounding `with lab.reading()` or `with lab.writing()` first"
        )
        raise LockedError(msg) from error
    except duckdb.Error as error:
        reason = " ".join(str(error).split())
        if not read_only and _denied(reason):
            raise _no_writing(path) from error
        raise _opening_error(path, reason) from error


def _opening_error(path: Path, reason: str) -> RecalltuneError:
    if "Could not set lock on file" in reason:
        found = _HOLDER.search(reason)
        holder = (
            f"{Path(found['program']).name} (PID {found['pid']})" if found else "another process"
        )
        return _HeldElsewhere(
            f"{path} is held by {holder}, also after {_ATTEMPTS * _PAUSE_SECONDS:.0f} seconds; "
            "wait until it has finished, or close it there "
            "(a notebook: leave its `with lab.writing()` block or restart its kernel), then repeat"
        )
    if "not a valid DuckDB" in reason:
        # No advice to delete: this may be a file of the user's that was named by mistake.
        return ContractError(
            f"{path} is no DuckDB file, so no lab; give the path of a lab, or of a file that is "
            "not there yet"
        )
    if any(sign in reason for sign in _UNREADABLE):
        return ContractError(
            f"{path} cannot be read by DuckDB {duckdb.__version__}: {reason.rstrip('.!')}. "
            "The file is a cache: rebuild it with "
            f"`rm {path} && recalltune ingest --db {path} PATH...`"
        )
    return ContractError(f"{path} cannot be opened: {reason}")


def _unwritten(path: Path, error: duckdb.Error) -> UnwrittenError:
    reason = " ".join(str(error).split())
    return UnwrittenError(
        f"{path} could not be written to ({reason[:300].rstrip('.')}); the lab is as it was "
        "before. Give the disk or the machine more room, then repeat: what is in is not read again"
    )


def _denied(reason: str) -> bool:
    return "Cannot open file" in reason and any(sign in reason for sign in _DENIED)


def _no_writing(path: Path) -> ReadOnlyError:
    return ReadOnlyError(
        f"{path} may not be written to; give yourself the right to write the file and its folder, "
        "or work on a copy"
    )


@contextmanager
def _private_files() -> Iterator[None]:
    # DuckDB creates its write-ahead log and its temporary files with the umask of the process.
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)
