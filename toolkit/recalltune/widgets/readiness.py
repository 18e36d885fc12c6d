"""What is in the memory, and whether it can be judged: frames, and a list of repairs."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from recalltune.candidates.table import Candidates
from recalltune.charts.findings import TOO_FEW
from recalltune.evaluate.views import targets
from recalltune.ingest import ImportReport
from recalltune.widgets.tables import Table

__all__ = ["Readiness", "case_matrix", "dropped", "evidence_ages", "lengths", "readiness"]

_LONGEST_SHARE = 0.5
"""Of the budget: one memory above it leaves room for little else."""


@dataclass(frozen=True)
class Readiness:
    """Checks of data and cases, and what follows."""

    table: Table
    verdict: str
    """*keep* where nothing has to be repaired first, else *cannot decide*."""
    claim: str


def dropped(report: ImportReport) -> Table:
    """What the import left out and why: reason, count, files."""
    frame = (
        report.dropped.group_by("reason")
        .agg(pl.col("count").sum(), pl.col("file").n_unique().cast(pl.Int64).alias("files"))
        .sort("count", "reason", descending=[True, False])
    )
    return Table(frame, "Dropped")


def lengths(candidates: Candidates) -> pl.DataFrame:
    """Tokens of every memory that was told: group (layer), value."""
    return (
        candidates.spans.unique("memory_id", keep="last", maintain_order=True)
        .filter(pl.col("tokens") > 0)
        .select(pl.col("layer").alias("group"), pl.col("tokens").cast(pl.Float64).alias("value"))
    )


def evidence_ages(candidates: Candidates, *, shortest_days: float = 0.04) -> pl.DataFrame:
    """Age of each target when its case was asked: group (kind), value (days), dated ones only.

    An age under ``shortest_days`` (about an hour) stands at it, for a logarithmic axis.
    """
    kinds = candidates.queries.select("query_id", "kind")
    return (
        targets(candidates)
        .join(kinds, on="query_id", how="left", maintain_order="left")
        .filter(pl.col("age_days").is_not_null())
        .select(
            pl.col("kind").fill_null("not said").alias("group"),
            pl.col("age_days").clip(lower_bound=shortest_days).alias("value"),
        )
    )


def case_matrix(candidates: Candidates, columns: str = "lang") -> pl.DataFrame:
    """Cases by kind and another category: row, column, n; every pair, so empty ones show.

    Parameters
    ----------
    columns
        ``lang``, or ``layer`` of the first target.
    """
    cases = candidates.queries.select("query_id", "kind", "lang")
    if columns == "layer":
        first = targets(candidates).group_by("query_id").agg(pl.col("layer").first())
        cases = cases.join(first, on="query_id", how="left")
    counted = cases.select(
        pl.col("kind").fill_null("not said").alias("row"),
        pl.col(columns).fill_null("none").alias("column"),
    )
    grid = counted.select("row").unique().join(counted.select("column").unique(), how="cross")
    sizes = counted.group_by("row", "column").agg(pl.len().cast(pl.Int64).alias("n"))
    return (
        grid.join(sizes, on=["row", "column"], how="left")
        .with_columns(pl.col("n").fill_null(0))
        .sort("row", "column")
    )


def readiness(candidates: Candidates, report: ImportReport, *, budget_tokens: int) -> Readiness:
    """Checks that should be looked at before a parameter is tuned.

    Parameters
    ----------
    budget_tokens
        >= 1. Tokens a query may show; memories over half of it are counted as long.
    """
    latest = candidates.spans.unique("memory_id", keep="last", maintain_order=True)
    cases = candidates.queries
    labels = candidates.labels.filter(pl.col("role") == "target")
    small = (
        cases.group_by("kind").agg(pl.len().alias("n")).filter(pl.col("n") < TOO_FEW).sort("kind")
    )
    lost = report.frame.filter(pl.col("read") != pl.col("kept") + pl.col("dropped")).height
    checks = [
        ("files whose records do not add up", lost, True, "import again; nothing may be lost"),
        ("targets that were not known when asked", labels.filter(~pl.col("exists")).height, True,
         "correct the case or its time"),
        ("times after the question they serve", candidates.notices.get("future_timestamps", 0),
         False, "counted as age zero"),
        ("memories without a time", latest.filter(pl.col("event_at").is_null()).height, False,
         "no age, so decay leaves them alone"),
        ("memories over half of the budget",
         latest.filter(pl.col("tokens") > _LONGEST_SHARE * budget_tokens).height, False,
         "split them, or accept that they crowd out others"),
        ("memories never told", candidates.notices.get("untold_spans", 0), False,
         "withheld from every list"),
        ("kinds with too few cases to compare", small.height, False,
         f"say nothing about {', '.join(str(kind) for kind in small['kind'].to_list())}"),
    ]  # fmt: skip
    frame = pl.DataFrame(
        [{"check": name, "count": count, "what_to_do": do if count else ""}
         for name, count, _, do in checks]
    )  # fmt: skip
    blocking = [name for name, count, stops, _ in checks if stops and count]
    if blocking:
        return Readiness(Table(frame), "cannot decide", f"Repair first: {', '.join(blocking)}.")
    told = f"Ready: {cases.height} cases over {latest.height} memories can be judged."
    return Readiness(Table(frame), "keep", told)
