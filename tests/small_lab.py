"""Small labs with deliberate coincidences in time, and an encoder that needs no model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from recalltune import store
from recalltune.store import (
    EvalCaseRow,
    Lab,
    Label,
    Memory,
    MemorySpan,
    insert_rows,
    put_texts,
    settle_duplicates,
    text_hash,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = ("tea", "server", "backup", "garden", "release", "sensor", "备份", "会议", "发布")


def instant(days: float | None) -> datetime | None:
    return None if days is None else START + timedelta(days=days)


@dataclass(frozen=True)
class Note:
    """One memory as a test writes it down; times in days after START."""

    memory_id: str
    text: str
    day: float | None = 0.0
    scope: str = "team"
    layer: str = "log"
    leaves: float | None = None
    superseded: float | None = None
    told: float | None = None
    gated: bool = False
    salience: float | None = None


@dataclass(frozen=True)
class Ask:
    """One case as a test writes it down."""

    case_id: str
    query: str
    day: float
    targets: tuple[str, ...] = ()
    negatives: tuple[str, ...] = ()
    scope: str | None = "team"
    session: str = "s0"
    split: str | None = None
    profile: str | None = None
    kind: str = "single_fact"
    top_k: int = 8


def make_lab(
    path: Path, notes: Sequence[Note], asks: Sequence[Ask], *, duplicates: bool = False
) -> Lab:
    lab = store.open(path)
    rows: list[store.Row] = []
    for note in notes:
        digest = text_hash(note.text)
        rows.append(
            Memory(
                memory_id=note.memory_id,
                text_hash=digest,
                layer=note.layer,
                scope=note.scope,
                salience=note.salience,
                status="current" if note.superseded is None else "superseded",
            )
        )
        rows.append(
            MemorySpan(
                memory_id=note.memory_id,
                text_hash=digest,
                scope=note.scope,
                event_at=instant(note.day),
                known_at=instant(note.day),
                leaves_at=instant(note.leaves),
                superseded_at=instant(note.superseded),
                gated=note.gated,
                told_at=instant(note.told),
            )
        )
    for ask in asks:
        rows.append(
            EvalCaseRow(
                case_set="s",
                case_id=ask.case_id,
                query=ask.query,
                asked_at=instant(ask.day),
                scope=ask.scope,
                session=ask.session,
                split=ask.split,  # type: ignore[arg-type]
                profile=ask.profile,
                kind=ask.kind,
                lang="en",
                top_k=ask.top_k,
            )
        )
        rows += [Label(case_set="s", case_id=ask.case_id, memory_id=m) for m in ask.targets]
        rows += [
            Label(case_set="s", case_id=ask.case_id, memory_id=m, role="hard_negative", grade=0)
            for m in ask.negatives
        ]
    with lab.writing() as con:
        put_texts(con, sorted({note.text for note in notes}))
        insert_rows(con, rows)
        if duplicates:
            settle_duplicates(con, ())
    return lab


class WordEncoder:
    """Unit vectors from the hashes of a text's words; equal texts are equal vectors."""

    encoder_id = "words@1"
    dim = 24

    def id_of(self, kind: str) -> str:
        return self.encoder_id

    def lengths(self, texts: Sequence[str], kind: str) -> None:
        return None

    def encode(self, texts: Sequence[str], kind: str) -> np.ndarray:
        out = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.split():
                seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "little")
                out[row] += np.random.default_rng(seed).normal(size=self.dim)
        norm = np.linalg.norm(out, axis=1, keepdims=True)
        return np.divide(out, norm, out=np.zeros_like(out), where=norm > 0)
