"""Small corpora of a companion, each in a lab of its own, asked at their own instant."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from recalltune.candidates.build import ask
from recalltune.candidates.table import Candidates
from recalltune.errors import ParameterError, nearest
from recalltune.ingest.companion import Companion, read_companion, write_companion
from recalltune.pipeline.config import RankingConfig
from recalltune.store import Lab, open
from recalltune.widgets.bench import corpus_folder

__all__ = ["Shelf", "companion_shelf"]


@dataclass(frozen=True, eq=False)
class Shelf:
    """One companion's memory in a lab."""

    lab: Lab = field(repr=False)
    companion: Companion = field(repr=False)
    gate: Mapping[str, int]
    """Reason -> memories: *told*, or why they are never shown."""
    english: Mapping[str, str] = field(repr=False)
    """memory_id -> what it says in English, where it says it in another language."""

    def ask(self, query: str, config: RankingConfig) -> Candidates:
        """Return the candidates of one question; its query_id is ``query``."""
        return ask(self.lab, query, config, at=round(self.companion.now.timestamp() * 1_000_000))


def companion_shelf(
    name: str, *, data: Path | str | None = None, out: Path | str | None = None
) -> Shelf:
    """Return a corpus of ``data/companion`` in a lab made anew.

    Parameters
    ----------
    name
        Name of its file, without ``.json``.
    data
        Folder that holds ``companion``; by default ``data`` here or in a folder above.
    out
        Folder of the lab; by default ``out/notebooks`` beside ``data``.

    Raises
    ------
    ParameterError
        If there is no such corpus.
    """
    corpus = corpus_folder() if data is None else Path(data)
    known = [path.stem for path in (corpus / "companion").glob("*.json")]
    if name not in known:
        message = f"no corpus {name!r} in {corpus / 'companion'}; {nearest(name, known)}"
        raise ParameterError(message)
    companion = read_companion(corpus / "companion" / f"{name}.json")
    folder = corpus.parent / "out" / "notebooks" if out is None else Path(out)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{name}.duckdb"
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        built = open(Path(scratch) / path.name)
        gate = write_companion(built, companion, file=f"companion/{name}.json")
        built.path.replace(path)
    return Shelf(open(path), companion, gate, dict(companion.english()))
