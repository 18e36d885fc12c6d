"""One frozen model per table that is written row by row: what a row may say, checked at the door.

Instants must carry a zone and are kept in UTC. NumPy scalars are unwrapped; an integer where a
text id belongs is refused by name, because an id that was once a number joins with nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BeforeValidator,
    Field,
    JsonValue,
    ValidationInfo,
    model_validator,
)

from recalltune.errors import ContractError, Settings

__all__ = [
    "Access",
    "EvalCaseRow",
    "Event",
    "IngestFile",
    "Job",
    "Label",
    "LedgerHop",
    "Memory",
    "MemorySpan",
    "Packing",
    "Row",
    "Run",
    "SearchLogEntry",
    "Sharing",
    "Sweep",
    "Turn",
]


def _text_id(value: Any, info: ValidationInfo) -> Any:
    if isinstance(value, int | float):
        msg = f"{info.field_name} must be text, got the number {value!r}: write {str(value)!r}"
        raise ContractError(msg)
    return value


def _to_utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


Id = Annotated[str, BeforeValidator(_text_id), Field(min_length=1)]
Moment = Annotated[AwareDatetime, AfterValidator(_to_utc)]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Meta = dict[str, JsonValue]


_PLAIN = frozenset({str, int, bool, float, type(None), datetime, dict})


class Row(Settings):
    """Base of the row models; ``table`` names the table a row belongs to."""

    table: ClassVar[str]

    @model_validator(mode="before")
    @classmethod
    def _plain_values(cls, values: Any) -> Any:
        return {
            name: value if type(value) in _PLAIN else _plain(value)
            for name, value in values.items()
        }


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return tuple(value.tolist())
    return tuple(map(_plain, value)) if isinstance(value, list) else value


class Turn(Row):
    """One message of a session."""

    table: ClassVar[str] = "turn"

    turn_id: Id
    session_id: Id
    session_kind: Literal["interactive", "cron", "heartbeat", "subagent"] = "interactive"
    seq: int = Field(ge=0)
    role: str
    text_hash: str
    said_at: Moment | None = None
    told_at: Moment | None = None
    scope: str = "global"
    source: str
    file: str = ""
    also_in: tuple[str, ...] = ()
    line: int | None = Field(default=None, ge=1)
    sidechain: bool = False
    meta: Meta = Field(default_factory=dict)


class Memory(Row):
    """The latest state of one memory."""

    table: ClassVar[str] = "memory"

    memory_id: Id
    text_hash: str
    gist: str | None = None
    title: str | None = None
    layer: str = Field(default="log", min_length=1)
    category: str | None = None
    tier: str | None = None
    scope: str = "global"
    project: str | None = None
    subject: str | None = None
    origin: str | None = None
    salience: Fraction | None = None
    confidence: Fraction | None = None
    pinned: bool = False
    status: Literal["current", "superseded", "retracted"] = "current"
    superseded_by: Id | None = None
    superseded_at: Moment | None = None
    retracted_at: Moment | None = None
    reason: str | None = None
    duplicate_of: Id | None = None
    valid_from: Moment | None = None
    valid_until: Moment | None = None
    turn_id: Id | None = None
    session: Id | None = None
    source: str = "manual"
    tags: tuple[str, ...] = ()
    meta: Meta = Field(default_factory=dict)


class MemorySpan(Row):
    """One state of one memory: its text, its scope and what is said of it, over one interval.

    ``gated`` says that telling decides when the audience may see it. A gated span without
    ``told_at`` has never been told; an ungated one enters at ``known_at``. A span without a
    ``layer`` says nothing of the memory's attributes: those in `Memory` hold for it. ``lifted``
    is null unless the newest record says otherwise of the status: then the span's own instants
    stand, and it names the successor, or nothing where the instant was stated.
    """

    table: ClassVar[str] = "memory_span"

    memory_id: Id
    version: int = Field(default=1, ge=1)
    text_hash: str
    scope: str = "global"
    audience: str = "everyone"
    event_at: Moment | None = None
    known_at: Moment | None = None
    gated: bool = False
    told_at: Moment | None = None
    leaves_at: Moment | None = None
    superseded_at: Moment | None = None
    retracted_at: Moment | None = None
    lifted: str | None = None
    gist: str | None = None
    title: str | None = None
    layer: str | None = Field(default=None, min_length=1)
    category: str | None = None
    tier: str | None = None
    project: str | None = None
    subject: str | None = None
    origin: str | None = None
    salience: Fraction | None = None
    confidence: Fraction | None = None
    pinned: bool | None = None
    valid_from: Moment | None = None
    valid_until: Moment | None = None
    turn_id: Id | None = None
    session: Id | None = None
    source: str | None = None
    tags: tuple[str, ...] | None = None
    file: str = ""
    also_in: tuple[str, ...] = ()


class Job(Row):
    """One piece of pending work and its lease."""

    table: ClassVar[str] = "job"

    kind: str
    ref: Id
    state: str
    attempts: int = Field(default=0, ge=0)
    owner: str | None = None
    lease_until: Moment | None = None
    reason: str | None = None


class Event(Row):
    """Something the agent lived through, and when it told of it."""

    table: ClassVar[str] = "event"

    event_id: Id
    scope: str = "global"
    origin: str | None = None
    text_hash: str
    happened_at: Moment | None = None
    told_at: Moment | None = None
    source: str = "manual"
    file: str = ""
    meta: Meta = Field(default_factory=dict)


class Sharing(Row):
    """One attempt to share lived events in a turn, as the gate reads it."""

    table: ClassVar[str] = "sharing"

    sharing_id: Id
    turn_id: Id
    candidates: tuple[Id, ...] = ()
    acknowledged_at: Moment | None = None
    judged_at: Moment | None = None
    state: str
    file: str = ""
    meta: Meta = Field(default_factory=dict)


class Access(Row):
    """One use of one memory."""

    table: ClassVar[str] = "access"

    memory_id: Id
    used_at: Moment
    kind: Literal["recalled", "shown", "cited", "manual"]
    audience: str = "everyone"
    file: str = ""


class SearchLogEntry(Row):
    """One search of the production system: what was asked and what it showed."""

    table: ClassVar[str] = "search_log"

    query_id: Id
    query: str
    asked_at: Moment | None = None
    scope: str | None = None
    shown: tuple[Id, ...] = ()
    scores: tuple[float, ...] = ()
    file: str = ""


class EvalCaseRow(Row):
    """One evaluation case; what it expects beyond its labels is in ``expectations``."""

    table: ClassVar[str] = "eval_case"

    case_set: str
    case_id: Id
    query: str
    asked_at: Moment | None = None
    scope: str | None = None
    profile: str | None = None
    top_k: int = Field(default=8, ge=1)
    session: Id | None = None
    kind: str | None = None
    lang: str | None = None
    split: Literal["tune", "held_out"] | None = None
    expectations: Meta = Field(default_factory=dict)
    file: str = ""


class Label(Row):
    """What one case says about one memory."""

    table: ClassVar[str] = "label"

    case_set: str
    case_id: Id
    memory_id: Id
    role: Literal["target", "hard_negative", "expected_order"] = "target"
    grade: int = Field(default=1, ge=0)
    place: int | None = Field(default=None, ge=1)
    judgement: Literal["judged", "weak"] = "judged"
    file: str = ""


class Run(Row):
    """The head of one evaluation or replay; its hits and metrics follow as frames."""

    table: ClassVar[str] = "run"

    run_id: Id
    kind: str
    config: str
    config_fingerprint: str
    data_digest: str
    encoder_id: str | None = None
    code_version: str
    case_set: str | None = None
    settings: Meta = Field(default_factory=dict)


class Packing(Row):
    """What one list, or one round of a log, took of one layer."""

    table: ClassVar[str] = "packing"

    run_id: Id
    query_id: Id
    layer: str = Field(min_length=1)
    candidates: int = Field(ge=0)
    picked: int = Field(ge=0)
    dropped: int = Field(ge=0)
    oversize: int = Field(default=0, ge=0)
    tokens: int = Field(ge=0)
    cap: int | None = None
    floor: int | None = None


class LedgerHop(Row):
    """One degradation of a run or of a log."""

    table: ClassVar[str] = "ledger"

    run_id: Id
    seq: int = Field(ge=1)
    hop: str
    reason: str
    query_id: Id | None = None
    asked_at: Moment | None = None


class Sweep(Row):
    """The head of one sweep; ``case_ids`` gives the order of every point's ``case_values``."""

    table: ClassVar[str] = "sweep"

    sweep_id: Id
    config: str
    space: str
    config_fingerprint: str
    data_digest: str
    encoder_id: str | None = None
    code_version: str
    case_set: str
    case_ids: tuple[Id, ...]
    settings: Meta = Field(default_factory=dict)


class IngestFile(Row):
    """What the last import of one file read, kept and dropped."""

    table: ClassVar[str] = "ingest_file"

    path: str
    sha256: str
    format: str
    settings: str = ""
    records: int = Field(ge=0)
    kept: int = Field(ge=0)
    dropped: int = Field(ge=0)
    reasons: dict[str, int] = Field(default_factory=dict)
