"""A folder that is one source: a Lance table, told by its name alone (``memories.lance``).

In: a path. Out: its size and digest, over all its files for such a folder. Links in it are never
followed, and its reader refuses it for them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from recalltune.errors import UnreadableError
from recalltune.ingest.reader import MAX_FILE_BYTES, file_digest

__all__ = ["is_store_folder", "refuse_links", "source_digest", "source_size"]

_SUFFIX = ".lance"
_MAX_FILES = 100_000


def is_store_folder(path: Path) -> bool:
    """Whether a path is a folder that is read as a whole."""
    return path.suffix.lower() == _SUFFIX and path.is_dir()


def source_size(path: Path) -> int:
    """Bytes of a file, or of all files of a folder that is one source."""
    if not path.is_dir():
        return path.stat().st_size
    return sum(one.stat().st_size for one in _files(path))


def source_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, or of the sorted names and digests of a folder's files, in hex.

    Raises
    ------
    SourceError
        If it is too large, or a folder of too many files.
    """
    if not path.is_dir():
        return file_digest(path)
    files = list(_files(path))
    size = sum(one.stat().st_size for one in files)
    if size > MAX_FILE_BYTES or len(files) > _MAX_FILES:
        msg = (
            f"{path}:1: table must be at most {MAX_FILE_BYTES:,} bytes in {_MAX_FILES:,} files, "
            f"got {size:,} in {len(files):,}"
        )
        raise UnreadableError(msg)
    whole = hashlib.sha256()
    for one in files:
        name = one.relative_to(path).as_posix().encode("utf-8", "surrogateescape")
        whole.update(name + b"\0" + file_digest(one).encode() + b"\n")
    return whole.hexdigest()


def refuse_links(path: Path, file: str) -> None:
    """Refuse a folder in which anything leads out of it.

    Raises
    ------
    SourceError
        If there is a symbolic link or a special file, ``file`` being the folder's name in it.
    """
    for one in sorted(path.rglob("*")):
        if one.is_symlink() or not (one.is_file() or one.is_dir()):
            msg = f"{file}:1: table must hold nothing but files and folders, got {one.name}"
            raise UnreadableError(msg)


def _files(folder: Path) -> Iterator[Path]:
    return (one for one in sorted(folder.rglob("*")) if not one.is_symlink() and one.is_file())
