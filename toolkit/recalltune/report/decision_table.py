"""A decision as rows to read, plain or HTML, and its costs in words."""

from __future__ import annotations

import polars as pl

from recalltune.charts import figures
from recalltune.charts.findings import TOO_FEW
from recalltune.evaluate.comparing import higher_is_better, paired_runs
from recalltune.evaluate.run import Evaluation
from recalltune.evaluate.views import label_of, slices
from recalltune.pipeline.address import value_text
from recalltune.report.decision_record import (
    Cost,
    DecisionRecord,
    Effect,
    LosingSlice,
    NotDecided,
    ParameterChange,
)
from recalltune.report.html import Html, el, join, long_text, table

__all__ = ["cost_lines", "cost_of", "decision_rows", "decision_table"]

EXAMPLES = 3


def cost_of(default: Evaluation, chosen: Evaluation, metric: str) -> Cost:
    """Tokens, losing slices and flips of one run against another, on all their cases."""
    tokens = paired_runs(default, chosen, "tokens")
    turned = pl.DataFrame(
        {
            "case": default.cases["query_id"],
            "before": default.cases["passed"],
            "after": chosen.cases["passed"],
        }
    )
    failed = turned.filter(pl.col("before") & ~pl.col("after"))["case"].to_list()
    return Cost(
        tokens=tokens.diff,
        tokens_lo=tokens.lo,
        tokens_hi=tokens.hi,
        losing_slices=tuple(_losing(default, chosen, metric)),
        flips_to_failure=len(failed),
        flips_to_pass=turned.filter(~pl.col("before") & pl.col("after")).height,
        examples=tuple(failed[:EXAMPLES]),
    )


def _losing(default: Evaluation, chosen: Evaluation, metric: str) -> list[LosingSlice]:
    frame = slices(default, chosen, metric).filter(pl.col("by") != "all")
    lost = pl.col("hi") < 0 if higher_is_better(metric) else pl.col("lo") > 0
    return [
        LosingSlice(
            by=row["by"],
            slice=row["slice"],
            difference=row["diff"],
            lo=row["lo"],
            hi=row["hi"],
            n=row["n"],
        )
        for row in frame.filter(lost & (pl.col("n") >= TOO_FEW)).to_dicts()
    ]


def decision_rows(record: DecisionRecord) -> list[tuple[str, list[str]]]:
    """The rows of the decision table, as plain lines."""
    return [
        ("Decision", [record.verdict, *(_change_line(change) for change in record.changes),
                      record.claim]),
        ("Effect", _effect_lines(record.effect)),
        ("Cost", cost_lines(record.cost)),
        ("Not decided", _open_lines(record.not_decided)),
        ("Would change it", [record.would_change_it]),
        ("Stamp", [", ".join(f"{name} {value}" for name, value in record.stamp.items())]),
    ]  # fmt: skip


def decision_table(record: DecisionRecord) -> Html:
    """The decision as an HTML table; every text in it is escaped."""
    rows = [
        # JupyterLab sets table cells flush right; sentences read from the left.
        [name, join(el("div", long_text(line), align="left") for line in lines)]
        for name, lines in decision_rows(record)
    ]
    return table(["", record.question], rows)


def _change_line(change: ParameterChange) -> str:
    before, after = value_text(change.default), value_text(change.chosen)
    return f"{change.address}: {before} → {after}{_unit(change)}"


def _unit(change: ParameterChange) -> str:
    name = change.address.rpartition(".")[2]
    units = {"days": " days", "tokens": " tokens", "chars": " characters"}
    return next((unit for end, unit in units.items() if name.endswith(end)), "")


def _effect_lines(effect: Effect | None) -> list[str]:
    if effect is None or effect.difference is None:
        return ["nothing was compared"]
    told = f"{figures.signed(effect.difference)} {figures.bounds(effect.lo, effect.hi)}".strip()
    return [
        f"{label_of(effect.metric)} {told}, n = {effect.n}, {effect.basis}",
        f"correction: {effect.correction}",
        *_bound(effect),
    ]


def _bound(effect: Effect) -> list[str]:
    if effect.at_least is None:
        return []
    told = f"tuning cases: at least {figures.signed(effect.at_least)} in the better direction"
    inside = effect.lo is not None and effect.hi is not None and effect.lo <= 0 <= effect.hi
    if effect.basis == "held out" and inside:
        told += "; the held-out cases alone do not confirm it, their interval holds 0"
    return [told]


def cost_lines(cost: Cost) -> list[str]:
    """What a choice costs, a line each."""
    if cost.tokens is None:
        return ["not measured: no pair of runs was given"]
    bounds = figures.bounds(cost.tokens_lo, cost.tokens_hi, decimals=0)
    told = f"{figures.signed(cost.tokens, decimals=0)} {bounds}".strip()
    lines = [f"{told} tokens a query"]
    lines += [
        f"{lost.by} {lost.slice} loses {figures.amount(lost.difference)} "
        f"{figures.interval(lost.lo, lost.hi)}, n = {lost.n}"
        for lost in cost.losing_slices
    ] or ["no slice loses beyond noise"]
    examples = f" ({', '.join(cost.examples)})" if cost.examples else ""
    lines.append(
        f"{figures.counted(cost.flips_to_failure, 'case')} fail that passed{examples}; "
        f"{figures.counted(cost.flips_to_pass, 'case')} pass that failed"
    )
    return lines


def _open_lines(left: NotDecided) -> list[str]:
    lines = []
    if left.tie_set is not None:
        lines.append(f"{left.tie_set:,} settings cannot be told from the best")
        lines += [
            f"{address}: {', '.join(value_text(value) for value in values)}"
            for address, values in left.tie_ranges.items()
            if len(values) > 1
        ]
    if left.not_binding:
        lines.append(f"does not bind: {', '.join(left.not_binding)}")
    if left.small_slices:
        lines.append(f"too few cases: {', '.join(left.small_slices)}")
    if left.cases_needed is not None:
        lines.append(f"about {left.cases_needed:,} cases needed to see 0.01")
    return lines or ["nothing was left open by this comparison"]
