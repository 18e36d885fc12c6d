"""What a step slider is without its widgets: every step of a replay as HTML, and its timeline.

Everything is written out when the model is made, so that a step answers at once. Texts of the data
come from the candidate table only, which holds no untold span, and every one is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from recalltune.charts import Stamp, compiled, patch, quota_account
from recalltune.charts.ordering import ordered
from recalltune.errors import ParameterError
from recalltune.evaluate.query_views import memories_then
from recalltune.evaluate.shown import rank
from recalltune.rank.order import rank_order
from recalltune.replay.fate_views import NOT_THERE
from recalltune.replay.fates import fates
from recalltune.replay.step_views import (
    UNNAMED_FATES,
    injected,
    numbered,
    targets_by_step,
)
from recalltune.replay.steps import Replay
from recalltune.version import code_digest
from recalltune.widgets.step_slider_html import Line, dropped_by, list_table, turn_part

__all__ = ["StepModel"]

NEXT = 3
"""Candidates without a place that are listed: those with the highest scores."""


class StepModel:
    """The steps of a replay by time, each with its question, its list and its place in time.

    Parameters
    ----------
    replay
        From `rt.replay`.
    gloss
        Id of a memory or question -> English, shown beside a text in another language.

    Raises
    ------
    ParameterError
        If the replay has no step.
    """

    def __init__(self, replay: Replay, *, gloss: Mapping[str, str] | None = None) -> None:
        if not replay.steps.height:
            raise ParameterError("replay must hold at least one step, got none")
        self.replay = replay
        self.steps = numbered(replay)
        self._gloss = gloss or {}
        self._following = _followers(replay)
        rows = list(self.steps.iter_rows(named=True))
        self._turns = [self._turn(row) for row in rows]
        self._lists = [self._list(row) for row in rows]
        self._compiled = compiled(self.chart())

    @property
    def count(self) -> int:
        """Number of steps; they are numbered from 1."""
        return self.steps.height

    def turn_html(self, step: int) -> str:
        """Return the question of a step and what could be seen when it was asked."""
        return self._turns[self._checked(step) - 1]

    def list_html(self, step: int) -> str:
        """Return the list of a step with layers, scores and marks, and what came next to it."""
        return self._lists[self._checked(step) - 1]

    def spec(self, *steps: int) -> dict[str, Any]:
        """Return the timeline as Vega-Lite, with a cursor at some steps."""
        cursor = [{"round": self._checked(step)} for step in steps]
        return patch(self._compiled, {"cursor": cursor})

    def chart(self) -> Any:
        """Return the timeline without a cursor, built anew."""
        targets = targets_by_step(self.replay)
        select = next((s for s in self.replay.config.stages if s.kind == "select"), None)
        return quota_account(
            injected(self.replay),
            form="timeline",
            budget_tokens=None if select is None else select.budget_tokens,
            targets=targets if targets.height else None,
            round_name="recall step",
            stamp=Stamp(
                config=self.replay.config.fingerprint,
                data=self.replay.stamp.data,
                encoder=self.replay.stamp.vectors,
                code=code_digest(),
            ),
        )

    def chosen(self) -> dict[str, int]:
        """Return the three steps of the still form: the first, the largest drop, the last."""
        # Of several with the largest drop, the first.
        return {
            "first": 1,
            "largest drop": int(self.steps["dropped"].arg_max() or 0) + 1,
            "last": self.count,
        }

    def heading(self) -> str:
        """Return one line: config, steps, sessions, data."""
        sessions = self.steps["session"].n_unique()
        return (
            f"config {self.replay.config.name} {self.replay.config.fingerprint}, {self.count} "
            f"recall step{'' if self.count == 1 else 's'} in {sessions} "
            f"session{'' if sessions == 1 else 's'}, data {self.replay.stamp.data[:4]}"
        )

    def _checked(self, step: int) -> int:
        if not 1 <= step <= self.count:
            message = f"step must be a whole number in [1, {self.count}], got {step!r}"
            raise ParameterError(message)
        return step

    def _turn(self, step: Mapping[str, Any]) -> str:
        table = self.replay.candidates
        text = str(table.queries["text"][table.position(step["query_id"])])
        layers = self.replay.accounts.filter(
            (pl.col("query_id") == step["query_id"]) & (pl.col("candidates") > 0)
        )
        order = {name: place for place, name in enumerate(ordered(layers["layer"]))}
        layers = layers.sort(pl.col("layer").replace_strict(order, return_dtype=pl.Int64))
        return turn_part(step, self.count, text, self._gloss.get(step["query_id"], ""), layers)

    def _list(self, step: Mapping[str, Any]) -> str:
        query_id = step["query_id"]
        hits = self.replay.hits.filter(pl.col("query_id") == query_id).sort("rank")
        mine = self.replay.fates.filter(pl.col("query_id") == query_id)
        targets = mine.filter(~pl.col("fate").is_in([*NOT_THERE, *UNNAMED_FATES]))
        lost = targets.filter(pl.col("fate") != "shown").sort("memory_id")
        wanted = set(targets["memory_id"].to_list())
        following = [
            row for row in self._following.get(query_id, []) if row["memory_id"] not in wanted
        ]
        ids = [*hits["memory_id"], *lost["memory_id"], *(row["memory_id"] for row in following)]
        facts = memories_then(self.replay.candidates, query_id, ids)
        lines = [
            Line(
                rank=row.get("rank"),
                marks=_marks(row, wanted, facts[row["memory_id"]]),
                text=self._said(row["memory_id"], facts),
                layer=facts[row["memory_id"]]["layer"],
                score=row.get("score"),
                tokens=row.get("tokens"),
                why="" if row.get("rank") else dropped_by(row["fate"], row["stage"]),
            )
            for row in (*hits.to_dicts(), *lost.to_dicts(), *following)
        ]
        return list_table(
            lines,
            invalid=mine.filter(pl.col("fate").is_in(NOT_THERE)).height,
            withheld=mine.filter(pl.col("fate").is_in(UNNAMED_FATES)).height,
        )

    def _said(self, memory_id: str, facts: Mapping[str, Mapping[str, Any]]) -> str:
        english = self._gloss.get(memory_id)
        text = str(facts[memory_id]["text"])
        return f"{text} ({english})" if english else text


def _marks(row: Mapping[str, Any], wanted: set[str], fact: Mapping[str, Any]) -> tuple[str, ...]:
    """What is to be said of one memory of a list, or of one that is not in it."""
    marks = ["target"] if row["memory_id"] in wanted else []
    if fact["superseded"]:
        marks.append("superseded")
    if row.get("rank") is None:
        marks.append("dropped")
    return tuple(marks)


def _followers(replay: Replay) -> dict[str, list[dict[str, Any]]]:
    """Query -> the candidates with the highest scores that got no place, and what took it."""
    table, shown = replay.candidates, rank(replay.candidates, replay.config)
    rows = []
    for row, query_id in enumerate(table.queries["query_id"]):
        free = table.valid[row].copy()
        listed = shown.order[row]
        free[listed[listed >= 0]] = False
        best = rank_order(shown.score[row], free)[: min(NEXT, int(free.sum()))]
        for one in best.tolist():
            score = float(shown.score[row, one])
            rows.append((query_id, table.memory_id(row, one), score))
    schema = {"query_id": pl.String, "memory_id": pl.String, "score": pl.Float64}
    wanted = pl.DataFrame(rows, schema=schema, orient="row")
    told = fates(table, replay.config, wanted.drop("score"), rescue=False)
    joined = wanted.join(
        told.select("query_id", "memory_id", "fate", "stage"),
        on=["query_id", "memory_id"],
        maintain_order="left",
    )
    return {
        str(query_id): part.to_dicts()
        for (query_id,), part in joined.group_by("query_id", maintain_order=True)
    }
