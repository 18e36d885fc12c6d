"""Paths the user names to files to read: nothing outside them, nothing through a link.

In: files and folders. Out: regular files in a fixed order, each with a name that starts at the
given folder and says nothing of the machine above it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from recalltune.errors import ParameterError
from recalltune.ingest.format import Format, Source
from recalltune.ingest.store_folder import is_store_folder

__all__ = ["find_sources", "gone_files"]

_OF_A_VAULT = frozenset({".obsidian", ".trash"})


def find_sources(
    paths: Iterable[str | os.PathLike[str]],
    formats: Collection[Format],
    notes: Counter[str],
    passed: list[str],
) -> list[Source]:
    """Files behind the given paths, in the order given, folders walked by name.

    Parameters
    ----------
    paths
        Files and folders.
    formats
        Formats whose files are taken from folders: all of them, or the one the user named.
    notes
        Counter that receives one count per link or special file passed over.
    passed
        List that receives the names of the files of other kinds that were passed over.

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
        if path.is_file() or is_store_folder(path):
            file = _portable(f"{path.parent.name}/{path.name}")
            found.setdefault(path, Source(path, _portable(path.name), file))
        elif path.is_dir():
            for source in _walk(path, formats, notes, passed):
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


def _walk(
    root: Path, formats: Collection[Format], notes: Counter[str], passed: list[str]
) -> Iterator[Source]:
    for folder, folders, files in os.walk(root, followlinks=False):
        here = Path(folder)
        links = [name for name in folders if (here / name).is_symlink()]
        notes["symbolic link passed over"] += len(links)
        whole = {name for name in folders if is_store_folder(here / name)} - set(links)
        folders[:] = sorted(set(folders) - set(links) - whole)
        for name in sorted([*files, *whole]):
            path = here / name
            inside = _portable(path.relative_to(root).as_posix())
            source = Source(
                path, inside, f"{_portable(root.name)}/{inside}", named=False, root=root
            )
            if path.is_symlink():
                notes["symbolic link passed over"] += 1
            elif not path.is_file() and name not in whole:
                notes["special file passed over"] += 1
            elif not _OF_A_VAULT.isdisjoint(inside.split("/")[:-1]):
                notes["file of a vault's settings or trash passed over"] += 1
            elif not any(_takes(format, source) for format in formats):
                passed.append(source.file)
            else:
                yield source


def _takes(format: Format, source: Source) -> bool:
    return source.suffix in format.suffixes and format.wanted(source)


def _portable(name: str) -> str:
    """Name as valid Unicode; a file system may hold bytes that are not."""
    return name.encode("utf-8", "replace").decode()
