"""A small world that two imports may differ in, and everything a question is shown of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import recalltune as rt
from recalltune.pipeline.config import RankingConfig, parse_config
from recalltune.pipeline.present import present

LATER = "2026-05-01T00:00:00+00:00"
Record = dict[str, Any]
Make = Callable[..., rt.Lab]


@pytest.fixture(scope="session")
def lexical() -> RankingConfig:
    return parse_config(
        """
        arms.lexical = {}
        stages = [
            {kind = "rrf"},
            {kind = "decay", family = "exponential"},
            {kind = "salience", salience_weight = 0.5},
            {kind = "select"},
        ]
        """,
        "lexical",
    )


def record(memory_id: str, text: str, *, day: str = "2026-01-01", **said: Any) -> Record:
    found = {"id": memory_id, "text": text, "timestamp": f"{day}T00:00:00Z"}
    if "importance" in said:
        found["importanceHint"] = said.pop("importance")
    return found | {"sourceMetadata": said}


@pytest.fixture
def world(tmp_path: Path) -> Make:
    """Lab of some payloads, one file each, imported in their order."""
    made = 0

    def make(*payloads: list[Record], scope: str = "s") -> rt.Lab:
        nonlocal made
        made += 1
        folder = tmp_path / f"world{made}"
        folder.mkdir()
        lab = rt.open(folder / "lab.duckdb")
        for number, records in enumerate(payloads):
            write(folder / f"{number}.json", records, scope=scope)
            rt.ingest(lab, folder / f"{number}.json")
        return lab

    return make


def write(
    path: Path, records: list[Record], *, scope: str = "s", produced: str = "2026-07-01"
) -> None:
    head = {"version": "connector-v1", "source": "src", "producedAt": f"{produced}T00:00:00Z"}
    path.write_text(json.dumps({**head, "scope": scope, "records": records}), encoding="utf-8")


def shown(
    lab: rt.Lab, config: RankingConfig, *, at: str | None = LATER, scope: str | None = None
) -> dict[str, Any]:
    """The list, every score behind it and the account, for the query "alpha"."""
    asked = None if at is None else int(datetime.fromisoformat(at).timestamp()) * 1_000_000
    table = rt.ask(lab, "alpha", config, at=asked, scope=scope)
    ranked = rt.rank(table, config)
    return {
        "list": present(table, ranked.order, 0, layers=config.layers).to_dicts(),
        "evidence": rt.explain(table, config, "query").to_dicts(),
        "account": ranked.accounts.to_dicts(),
    }
