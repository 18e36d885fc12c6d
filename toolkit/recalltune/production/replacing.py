"""A file written at once or not at all; one that is replaced is kept beside the new one.

In: a path and new content. Out: the file holds the new content and, where it was replaced,
``NAME.bak`` the old one; or, after any failure, the file holds what it held, byte for byte.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from recalltune.errors import ParameterError, SourceError

__all__ = [
    "LARGEST_FILE",
    "backup_of",
    "read_original",
    "replace_file",
    "restore",
    "write_private",
]

LARGEST_FILE = 1_000_000
"""Bytes a configuration file may hold."""
_PRIVATE = 0o600


def write_private(path: Path, content: str | bytes) -> Path:
    """Write what a run leaves behind: mode 0600, whatever stood there is gone.

    Raises
    ------
    ParameterError
        If the path is a symbolic link, a folder or a device.
    """
    if path.is_symlink():
        message = f"{path} is a symbolic link; give the file it points to"
        raise ParameterError(message)
    if path.exists() and not path.is_file():
        message = f"{path} is no plain file, so it is not replaced; give a file name"
        raise ParameterError(message)
    _put(path, content.encode("utf-8") if isinstance(content, str) else content, None)
    return path


def backup_of(path: Path) -> Path:
    """Return where the version before the last replacement is kept."""
    return path.with_name(path.name + ".bak")


def read_original(path: Path) -> bytes:
    """Return the content of a file that may be replaced.

    Raises
    ------
    SourceError
        If it does not exist, is a symbolic link or no plain file, is empty or too large.
    """
    _refuse_link(path)
    if not path.is_file():
        message = f"{path}:1: no such file; name an existing configuration"
        raise SourceError(message)
    size = path.stat().st_size
    if not 0 < size <= LARGEST_FILE:
        reason = "is empty" if size == 0 else f"holds {size:,} bytes, more than {LARGEST_FILE:,}"
        message = f"{path}:1: the file {reason}; it is not taken for a configuration"
        raise SourceError(message)
    return path.read_bytes()


def replace_file(path: Path, content: bytes, *, before: bytes | None) -> Path | None:
    """Write ``content`` to ``path`` atomically and return the backup, if there was anything.

    Parameters
    ----------
    path
        The file. Its permissions are kept; a new file is private (0600).
    content
        What it shall hold.
    before
        What it held when the content was made; None = it does not exist yet.

    Raises
    ------
    SourceError
        If the file is a symbolic link, was changed by someone else meanwhile, or cannot be
        written; it then holds what it held.
    """
    _refuse_link(path)
    try:
        if before is None:
            _put(path, content, None)
            return None
        like = path.stat()
        _put(backup_of(path), before, like)
        if path.read_bytes() != before:
            message = f"{path}:1: the file was changed while it was being exported; export again"
            raise SourceError(message)
        _put(path, content, like)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        message = f"{path}:1: could not be written, the file is as it was: {reason}"
        raise SourceError(message) from error
    return backup_of(path)


def restore(path: Path) -> None:
    """Exchange a file with its backup; doing it twice changes nothing.

    Raises
    ------
    SourceError
        If there is no backup.
    """
    backup = backup_of(path)
    if not backup.is_file() or backup.is_symlink():
        message = f"{backup}:1: no such file; nothing was exported into {path.name}"
        raise SourceError(message)
    _refuse_link(path)
    former, current = read_original(backup), read_original(path)
    like = path.stat()
    try:
        # Of the two only the backup cannot be made again, so until the file holds what the backup
        # held the backup is not touched.
        _put(path, former, like)
        _put(backup, current, like)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        message = f"{path}:1: could not be put back as a whole: {reason}"
        raise SourceError(message) from error


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        message = f"{path}:1: is a symbolic link; name the file it points to: {path.readlink()}"
        raise SourceError(message)


def _put(path: Path, content: bytes, like: os.stat_result | None) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(_PRIVATE if like is None else stat.S_IMODE(like.st_mode))
        if like is not None and hasattr(os, "chown"):
            made = temporary.stat()
            if (made.st_uid, made.st_gid) != (like.st_uid, like.st_gid):
                os.chown(temporary, like.st_uid, like.st_gid)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    # The file has been replaced by now. Where a folder cannot be opened (Windows) or synced, only
    # a power cut in the next moments could undo it, and then to the old content as a whole.
    with contextlib.suppress(OSError, AttributeError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
