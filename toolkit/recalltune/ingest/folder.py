"""Paths the user names to files to read: nothing outside them, nothing through a link.

In: files and folders. Out: regular files in a fixed order, each with a name that starts at the
given folder and says nothing of the machine above it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from recalltune.errors import ParameterError
from recalltune.ingest.moments import dated_name

__all__ = ["Source", "find_sources", "gone_files"]

_SUFFIX_OF = {
    "claude_code": {".jsonl"},
    "search_log": {".jsonl"},
    "connector_v1": {".json"},
    "locomo": {".json"},
    "markdown_folder": {".md", ".markdown"},
}
_SUFFIXES = set().union(*_SUFFIX_OF.values())


@dataclass(frozen=True)
class Source:
    """One file to read."""

    path: Path
    inside: str
    """Path relative to the given folder, with forward slashes."""
    file: str
    """The given folder's own name and `inside`: how the lab knows the file."""
    named: bool
    """The user named the file itself, so that it holds nothing readable is an error."""


def find_sources(
    paths: Iterable[str | os.PathLike[str]], format: str, notes: Counter[str]
) -> list[Source]:
    """Files behind the given paths, in the order given, folders walked by name.

    Parameters
    ----------
    paths
        Files and folders.
    format
        ``auto``, or the format whose files alone are taken from folders.
    notes
        Counter that receives one count per link, special file or other file passed over.

    Raises
    ------
    ParameterError
        If a path does not exist, is a symbolic link, or is neither file nor folder.
    """
    found: dict[Path, Source] = {}
    for given in paths:
        path = Path(given)
        if path.is_symlink():
            msg = f"path must not be a symbolic link, got {path}; give {path.readlink()} itself"
            raise ParameterError(msg)
        path = path.resolve()
        if path.is_file():
            file = _portable(f"{path.parent.name}/{path.name}")
            found.setdefault(path, Source(path, _portable(path.name), file, named=True))
        elif path.is_dir():
            for source in _walk(path, format, notes):
                found.setdefault(source.path, source)
        else:
            kind = "neither file nor folder" if path.exists() else "not there"
            msg = f"path must be a file or a folder, got {given} ({kind})"
            raise ParameterError(msg)
    _refuse_namesakes(found.values())
    return list(found.values())


def gone_files(
    paths: Iterable[str | os.PathLike[str]], sources: Iterable[Source], known: Collection[str]
) -> list[str]:
    """Return the files that the given folders held at an earlier import and hold no more, by name.

    Parameters
    ----------
    paths
        Files and folders, as `find_sources` took them. Only folders are looked into: who names a
        file says nothing of its neighbours.
    sources
        What was found there.
    known
        Names of all files that were ever imported.
    """
    here = {source.file for source in sources}
    gone = set[str]()
    for folder in (path for path in map(Path, paths) if path.is_dir()):
        root = folder.resolve()
        start = f"{_portable(root.name)}/"
        earlier = {file for file in known if file.startswith(start)} - here
        # A file that another format passes over is still there.
        gone |= {file for file in earlier if not os.path.lexists(root / file[len(start) :])}
    return sorted(gone)


def _refuse_namesakes(sources: Iterable[Source]) -> None:
    seen: dict[str, Path] = {}
    for source in sources:
        other = seen.setdefault(source.file, source.path)
        if other != source.path:
            msg = (
                f"paths {other} and {source.path} would both be known as {source.file}; "
                "give a folder that holds both, or import them into two labs"
            )
            raise ParameterError(msg)


def _walk(root: Path, format: str, notes: Counter[str]) -> Iterator[Source]:
    for folder, folders, files in os.walk(root, followlinks=False):
        here = Path(folder)
        links = [name for name in folders if (here / name).is_symlink()]
        notes["symbolic link passed over"] += len(links)
        folders[:] = sorted(set(folders) - set(links))
        for name in sorted(files):
            path = here / name
            inside = path.relative_to(root).as_posix()
            if path.is_symlink():
                notes["symbolic link passed over"] += 1
            elif not path.is_file():
                notes["special file passed over"] += 1
            elif not _wanted(path, inside, root, format):
                notes["file of another kind passed over"] += 1
            else:
                inside = _portable(inside)
                yield Source(path, inside, f"{_portable(root.name)}/{inside}", named=False)


def _wanted(path: Path, inside: str, root: Path, format: str) -> bool:
    suffix = path.suffix.lower()
    if format != "auto":
        return suffix in _SUFFIX_OF[format]
    if suffix not in _SUFFIX_OF["markdown_folder"]:
        return suffix in _SUFFIXES
    # An agent's folder holds other Markdown as well: rules, persona, read-me files.
    parts = (root.name, *Path(inside).parts[:-1])
    return (
        path.name == "MEMORY.md"
        or "memory" in parts
        or dated_name(path.name, Counter()) is not None
    )


def _portable(name: str) -> str:
    """Name as valid Unicode; a file system may hold bytes that are not."""
    return name.encode("utf-8", "replace").decode()
