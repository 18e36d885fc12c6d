"""What a notebook starts from: the demo corpus, imported once and used by all of them.

The lab is built under another name and moved into place when it is whole, so that two notebooks
started together never meet in a half-filled file, and it is built again when the data or the code
that reads them have changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from recalltune.candidates.build import candidates
from recalltune.candidates.table import Candidates
from recalltune.errors import ParameterError
from recalltune.evaluate.cases import load_cases
from recalltune.evaluate.run import Evaluation, evaluate, in_split
from recalltune.ingest import ImportReport, ingest
from recalltune.pipeline.config import RankingConfig, preset
from recalltune.store import Lab, open
from recalltune.version import code_digest

__all__ = ["CASES", "Bench", "corpus_folder", "demo_bench"]

CASES = "demo"
"""Name of the case set."""
SOURCES = ("connector", "memory", "transcripts", "search_log")
_CASE_FILE = Path("cases") / "demo.json"
_LARGEST_NOTE = 10_000_000


@dataclass(frozen=True, eq=False)
class Bench:
    """The demo lab and what its import said."""

    lab: Lab = field(repr=False)
    imported: ImportReport = field(repr=False)
    cases_told: str
    """What came with the case file, in words."""
    gloss: dict[str, str] = field(repr=False)
    """Id of a Chinese memory or case -> English."""
    out: Path = field(repr=False)
    """Folder for everything a notebook writes."""

    _tables: dict[str, Candidates] = field(default_factory=dict, repr=False)

    def candidates(self, config: RankingConfig) -> Candidates:
        """Return the candidate table of the cases to tune on, for a config's admit and arms."""
        return in_split(self.all_cases(config), "tune")

    def all_cases(self, config: RankingConfig) -> Candidates:
        """Return the table of every demo case; what was held out is for `rt.choose` alone."""
        if config.setup not in self._tables:
            self._tables[config.setup] = candidates(self.lab, CASES, config)
        return self._tables[config.setup]

    def runs(self, configs: Mapping[str, RankingConfig]) -> dict[str, Evaluation]:
        """Return name -> evaluation of each config on the cases to tune on."""
        return {name: evaluate(self.candidates(config), config) for name, config in configs.items()}


def demo_bench(data: Path | str | None = None, out: Path | str | None = None) -> Bench:
    """Return the demo corpus in a lab, ready to be ranked.

    Parameters
    ----------
    data
        Folder of the demo corpus; by default ``data`` here or in a folder above.
    out
        Folder to write to; by default ``out`` beside ``data``.

    Raises
    ------
    ParameterError
        If the corpus is not found.
    """
    corpus = corpus_folder() if data is None else Path(data)
    if not (corpus / _CASE_FILE).is_file():
        message = f"data must be the folder of the demo corpus with {_CASE_FILE} in it, got {data}"
        raise ParameterError(message)
    folder = (corpus.parent / "out" if out is None else Path(out)) / "notebooks"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = _key(corpus)
    note = folder / "demo.json"
    said = _said(note)
    if said.get("key") != key or not (folder / "demo.duckdb").is_file():
        said = {"key": key, **_build(corpus, folder)}
        _place(note, json.dumps(said, ensure_ascii=False))
    return Bench(
        lab=open(folder / "demo.duckdb"),
        imported=ImportReport(
            pl.DataFrame(said["files"], infer_schema_length=None),
            pl.DataFrame(said["dropped"], infer_schema_length=None),
            pl.DataFrame(said["parts"], infer_schema_length=None),
            pl.DataFrame(said["redacted"], infer_schema_length=None),
            tuple(said["notices"]),
        ),
        cases_told=str(said["cases"]),
        gloss=_gloss(corpus / "gloss.jsonl"),
        out=folder,
    )


def corpus_folder() -> Path:
    """Return the folder of the demo corpus, here or in a folder above.

    Raises
    ------
    ParameterError
        If there is none.
    """
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / "data" / _CASE_FILE).is_file():
            return folder / "data"
    message = f"no folder data/{_CASE_FILE} here or above; give data="
    raise ParameterError(message)


def _key(corpus: Path) -> str:
    """Digest of the corpus and of the code that reads it."""
    digest = hashlib.sha256(code_digest().encode())
    files = [path for name in (*SOURCES, "cases") for path in (corpus / name).rglob("*")]
    for path in sorted(path for path in files if path.is_file() and not path.is_symlink()):
        digest.update(f"{path.relative_to(corpus).as_posix()}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _said(note: Path) -> dict[str, Any]:
    """What the last build said; empty where there is none that can be read."""
    if not note.is_file() or note.stat().st_size > _LARGEST_NOTE:
        return {}
    try:
        said = json.loads(note.read_text(encoding="utf-8"))
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _build(corpus: Path, folder: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        db = Path(scratch) / "demo.duckdb"
        lab = open(db)
        report = ingest(lab, [corpus / name for name in SOURCES])
        told = load_cases(lab, corpus / _CASE_FILE, case_set=CASES)
        # Vectors are computed here, once; no notebook writes to the lab afterwards.
        candidates(lab, CASES, preset("textbook"))
        db.replace(folder / "demo.duckdb")
    return {
        "files": report.frame.to_dicts(),
        "dropped": report.dropped.to_dicts(),
        "parts": report.parts.to_dicts(),
        "redacted": report.redacted.to_dicts(),
        "notices": list(report.notices),
        "cases": str(told),
    }


def _place(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    Path(name).replace(path)


def _gloss(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    return {row["id"]: row["en"] for row in rows}
