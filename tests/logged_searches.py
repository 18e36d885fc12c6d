"""Search logs as tests write them down, and what they are replayed under."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recalltune.errors import checked
from recalltune.pipeline.config import RankingConfig
from recalltune.store import Lab, SearchLogEntry, insert_rows
from small_lab import instant


@dataclass(frozen=True)
class Search:
    """One logged search; time in days after START, None = the log does not say."""

    query_id: str
    shown: tuple[str, ...]
    day: float | None = 5.0
    query: str = "tea"
    scope: str | None = "team"


def log_searches(lab: Lab, searches: Sequence[Search]) -> None:
    """Add searches to the log of a lab."""
    rows = [
        SearchLogEntry(
            query_id=one.query_id,
            query=one.query,
            asked_at=instant(one.day),
            scope=one.scope,
            shown=one.shown,
            file="log.jsonl",
        )
        for one in searches
    ]
    with lab.writing() as con:
        insert_rows(con, rows)


def ranking(*stages: dict[str, Any], top_k: int = 3, **parts: Any) -> RankingConfig:
    """Words alone, length left out of account; then the stages, then the places."""
    whole = [{"kind": "rrf"}, *stages, {"kind": "select", "top_k": top_k}]
    arms = {"lexical": {"b": 0.0}}
    return checked(RankingConfig, {"arms": arms, "stages": whole, **parts})
