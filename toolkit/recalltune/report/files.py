"""Files a run leaves behind: private, and whole or not there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from recalltune.errors import ParameterError

__all__ = ["write_private"]


def write_private(path: Path, content: str | bytes) -> Path:
    """Write ``content`` with mode 0600, through a temporary file in the same folder.

    Raises
    ------
    ParameterError
        If the path is a symbolic link.
    """
    if path.is_symlink():
        message = f"{path} is a symbolic link; give the file it points to"
        raise ParameterError(message)
    data = content.encode("utf-8") if isinstance(content, str) else content
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return path
