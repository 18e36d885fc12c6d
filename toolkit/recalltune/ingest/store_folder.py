"""A folder that is one source: a Lance table, told by its name alone (``memories.lance``).

In: a path. Out: its size and digest, over all its files for such a folder. Nothing in it may lead
out of it: a link or a special file inside refuses the whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from recalltune.errors import SourceError
from recalltune.ingest.reader import MAX_FILE_BYTES, file_digest

__all__ = ["is_store_folder", "source_digest", "source_size"]

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
        If it is too large, or holds a link, a special file or too many files.
    """
    if not path.is_dir():
        return file_digest(path)
    if (size := source_size(path)) > MAX_FILE_BYTES:
        msg = f"{path}:1: table must be at most {MAX_FILE_BYTES:,} bytes, got {size:,}"
        raise SourceError(msg)
    whole = hashlib.sha256()
    for one in _files(path):
        name = one.relative_to(path).as_posix().encode("utf-8", "surrogateescape")
        whole.update(name + b"\0" + file_digest(one).encode() + b"\n")
    return whole.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    for count, one in enumerate(sorted(folder.rglob("*")), start=1):
        if one.is_symlink() or not (one.is_file() or one.is_dir()):
            msg = f"{folder}:1: table must hold nothing but files and folders, got {one.name}"
            raise SourceError(msg)
        if count > _MAX_FILES:
            msg = f"{folder}:1: table must hold at most {_MAX_FILES:,} files"
            raise SourceError(msg)
        if one.is_file():
            yield one
