"""The case book: each case with what was asked, what was expected, and both lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from recalltune.candidates.table import Candidates
from recalltune.candidates.world import DAY_US
from recalltune.charts import figures
from recalltune.evaluate.query_views import listed, memories_then, withheld
from recalltune.evaluate.run import Evaluation
from recalltune.evaluate.views import rank_gain
from recalltune.pipeline.explain import explain
from recalltune.report.html import Content, Html, details, el, join, table
from recalltune.report.story import Journey
from recalltune.report.text import plain

__all__ = ["MOST_OPENED", "case_book", "moment"]

MOST_OPENED = 40
MEMORY_COLUMNS = 170
LISTED = 10
LANGUAGES = ("en", "zh")
SPACE = Html(" ")


def moment(microseconds: int | None) -> str:
    """A time as it stands in tables, UTC to the minute; a dash where there is none."""
    if microseconds is None:
        return "-"
    return figures.instant(microseconds)


def case_book(journey: Journey) -> Html:
    """Changed cases first, at most forty to open, the rest as rows of one table."""
    frame = _ordered(journey)
    opened = frame.head(MOST_OPENED)
    parts = [_case(journey, row) for row in opened.iter_rows(named=True)]
    rest = frame.slice(MOST_OPENED)
    if rest.height:
        rows = [
            [row["case_id"], _query(row), row["kind"], row["lang"], _move(row), _passed(row)]
            for row in rest.iter_rows(named=True)
        ]
        heads = ["case", "query", "kind", "language", "rank of the first target", "passes"]
        parts.append(details(f"{rest.height} further cases as a table", table(heads, rows)))
    return join(parts)


def _ordered(journey: Journey) -> pl.DataFrame:
    """All tuning cases, by the size of the change of the first target's reciprocal rank."""
    queries = journey.candidates.queries.select(
        pl.col("query_id").alias("case_id"), "text", "asked_at", "kind", "lang", "scope"
    )
    run = journey.contender or journey.default
    judged = pl.DataFrame(
        {
            "case_id": journey.default.cases["query_id"],
            "passed_a": journey.default.cases["passed"],
            "passed_b": run.cases["passed"],
            "reason": run.cases["reason"],
        }
    )
    frame = queries.join(judged, on="case_id", how="left", maintain_order="left")
    ranks = journey.flips
    if ranks is None:
        empty = pl.lit(None, pl.Int64)
        frame = frame.with_columns(empty.alias("rank_a"), empty.alias("rank_b"))
    else:
        frame = frame.join(
            ranks.select("case_id", "rank_a", "rank_b"),
            on="case_id", how="left", maintain_order="left",
        )  # fmt: skip
    turned = (pl.col("passed_a") != pl.col("passed_b")).fill_null(value=False)
    return frame.with_columns(rank_gain().alias("gain"), turned.alias("turned")).sort(
        "turned", pl.col("gain").abs(), "passed_b", "case_id",
        descending=[True, True, False, False], nulls_last=True,
    )  # fmt: skip


def _case(journey: Journey, row: Mapping[str, Any]) -> Html:
    query_id = row["case_id"]
    candidates = journey.candidates
    summary = join(
        [
            _verdict_word(row), SPACE, _query(row), SPACE,
            el("span", f"{row['kind'] or 'no kind'}, {row['lang'] or 'no language'}, "
                       f"rank {_move(row)}", class_="note"),
        ]
    )  # fmt: skip
    facts = [
        ("case", query_id),
        ("asked", f"{moment(row['asked_at'])}, scope {row['scope'] or 'any'}"),
        ("passes", _passed(row)),
        ("expected", _expected(candidates, query_id)),
        ("smallest fix", _fix(journey, query_id)),
    ]
    told = el("dl", *(join([el("dt", name), el("dd", text)]) for name, text in facts))
    lists = [el("h3", f"List under {journey.default_name}, the current default")]
    lists.append(_list(candidates, journey.default, query_id))
    if journey.contender is not None:
        lists.append(el("h3", f"List under the {journey.contender_name} setting"))
        lists.append(_list(candidates, journey.contender, query_id))
    return details(summary, told, *lists, _stages(journey, query_id))


def _expected(candidates: Candidates, query_id: str) -> Html:
    labels = candidates.labels.filter(pl.col("query_id") == query_id)
    parts: list[Content] = []
    for role, name, noun in (
        ("target", "target", "target"),
        ("hard_negative", "not in the top", "hard negative"),
    ):
        mine = labels.filter(pl.col("role") == role).unique("memory_id", maintain_order=True)
        ids = mine.filter(pl.col("exists"))["memory_id"].to_list()
        facts = memories_then(candidates, query_id, ids)
        parts += [
            el("div", join([el("em", name), SPACE, _memory(facts[memory_id]["text"])]))
            for memory_id in ids
        ]
        if unknown := mine.height - len(ids):
            parts.append(el("div", withheld(unknown, noun)))
    return join(parts) if parts else join(["an empty list, or what the case says in words"])


def _list(candidates: Candidates, run: Evaluation, query_id: str) -> Html:
    frame = listed(candidates, run, query_id)
    if not frame.height:
        return el("p", "Nothing is shown.", class_="note")
    asked = int(candidates.queries["asked_at"][candidates.position(query_id)])
    rows = [
        [
            str(row["rank"]),
            _memory(row["text"], strong=row["role"] == "target"),
            row["layer"] or "-",
            "" if row["role"] == "other" else row["role"],
            _age(asked, row["event_at"]),
            f"{row['score']:.4g}",
            str(row["tokens"]),
        ]
        for row in frame.head(LISTED).iter_rows(named=True)
    ]
    heads = ["rank", "memory", "layer", "role", "age", "score", "tokens"]
    return table(heads, rows, numeric=(4, 5, 6))


def _stages(journey: Journey, query_id: str) -> Html:
    """What each stage did to the first target, as factors and places."""
    config = journey.contender_config or journey.default.config
    wanted = journey.targets.filter(pl.col("query_id") == query_id)["memory_id"].to_list()
    if not wanted:
        return Html("")
    evidence = explain(journey.candidates, config, query_id)
    proposed = set(evidence["memory_id"].to_list())
    found = [memory_id for memory_id in wanted if memory_id in proposed]
    if not found:
        return el("p", "No arm proposed the target, so no stage saw it.", class_="note")
    final = evidence.filter(
        pl.col("memory_id").is_in(found) & (pl.col("step") == evidence["step"].max())
    )
    best = final.sort("rank", "memory_id", nulls_last=True)["memory_id"][0]
    rows = [
        [
            row["stage"],
            _effect(row),
            f"{row['after']:.4g}",
            str(row["rank"]) if row["alive"] else "out",
        ]
        for row in evidence.filter(pl.col("memory_id") == best).sort("step").iter_rows(named=True)
    ]
    name = journey.contender_name if journey.contender is not None else "current default"
    caption = f"The first target's way through the {name} setting"
    return table(["stage", "effect", "score after", "rank after"], rows,
                 caption=caption, numeric=(2, 3))  # fmt: skip


def _effect(row: Mapping[str, Any]) -> str:
    if row["scale"] is None:
        return "moves no score"
    if row["scale"] == 0.0:
        return "sets the score"
    if row["before"] == row["after"]:
        return "no effect"
    told = [] if row["scale"] == 1.0 else [f"× {row['scale']:.3g}"]
    return ", ".join([*told, *([f"{row['shift']:+.3g}"] if row["shift"] else [])])


def _fix(journey: Journey, query_id: str) -> str:
    """The swept setting with the fewest changes to the contender that scores this case higher."""
    if journey.sweep is None or journey.contender_config is None:
        return "no sweep to look in"
    cases = journey.sweep.cases["query_id"].to_list()
    points = journey.sweep.points
    here = np.flatnonzero(points["point_id"].to_numpy() == journey.contender_config.fingerprint)
    values = journey.sweep.values[journey.metric]
    if not here.size or np.isnan(values[0, cases.index(query_id)]):
        return "none: the metric is undefined for this case"
    mine = values[:, cases.index(query_id)]
    better = np.flatnonzero(mine > mine[here[0]] + 1e-12)
    if not better.size:
        return "none needed" if mine[here[0]] >= 1.0 - 1e-12 else "none among the settings tried"
    axes = list(journey.sweep.space.axes)
    changed = np.zeros(points.height, dtype=np.int64)
    for axis in axes:
        column = points[axis].to_numpy()
        changed += column != column[here[0]]
    overall = journey.sweep.means(journey.metric)
    order = np.lexsort((better, -overall[better], changed[better]))
    best = int(better[order[0]])
    told = ", ".join(
        f"{axis} {points[axis][best]}"
        for axis in axes
        if points[axis][best] != points[axis][int(here[0])]
    )
    shift = overall[best] - overall[here[0]]
    return f"{told} (all tuning cases together: {shift:+.3f})"


def _memory(text: str, *, strong: bool = False) -> Html:
    return el("span", plain(text, columns=MEMORY_COLUMNS), class_="t target" if strong else "t")


def _query(row: Mapping[str, Any]) -> Html:
    lang = {"lang": row["lang"]} if row["lang"] in LANGUAGES else {}
    return el("q", row["text"], **lang)


def _verdict_word(row: Mapping[str, Any]) -> Html:
    if row["turned"]:
        return (
            el("span", "▲ now passes", class_="better")
            if row["passed_b"]
            else el("span", "▼ now fails", class_="worse")
        )
    if row["gain"] > 0:
        return el("span", "▲ better", class_="better")
    if row["gain"] < 0:
        return el("span", "▼ worse", class_="worse")
    return el("span", "passes" if row["passed_b"] else "fails", class_="note")


def _move(row: Mapping[str, Any]) -> str:
    return f"{row['rank_a'] or 'none'} → {row['rank_b'] or 'none'}"


def _passed(row: Mapping[str, Any]) -> str:
    def word(passed: bool | None) -> str:
        return "-" if passed is None else ("yes" if passed else "no")

    why = f" ({_reason(row['reason'])})" if row["reason"] and not row["passed_b"] else ""
    return f"{word(row['passed_a'])} → {word(row['passed_b'])}{why}"


def _reason(reason: str) -> str:
    """The verdict's reasons without the words a case expects: they may be an untold item's."""
    parts = [part.strip() for part in reason.split(";")]
    return "; ".join(
        "no expected term shown" if part.startswith("no expected term shown") else part
        for part in parts
    )


def _age(asked: int, event_at: int | None) -> str:
    if event_at is None:
        return "no date"
    days = max(asked - event_at, 0) / DAY_US
    return f"{days:.0f} d" if days >= 10 else f"{days:.1f} d"
