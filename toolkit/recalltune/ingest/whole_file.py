"""Bytes to a file that is there whole or not at all, and nobody else's to read."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from recalltune.errors import ParameterError

__all__ = ["write_whole"]


def write_whole(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write a file of mode 0600 that is there whole or, after any failure, as it was.

    Parameters
    ----------
    path
        The file, new or to be replaced; its folder is there.
    content
        All of its bytes.

    Raises
    ------
    ParameterError
        If the path is a link, no plain file, or in a folder that is not there.
    """
    path = Path(path)
    if path.is_symlink() or (path.exists() and not path.is_file()):
        msg = f"path must be a plain file or a new one, got {path}; give a file name"
        raise ParameterError(msg)
    if not path.parent.is_dir():
        msg = f"path must be in a folder that is there, got {path}"
        raise ParameterError(msg)
    # A file made so is of mode 0600.
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    return path
