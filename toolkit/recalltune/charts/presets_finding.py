"""The title of `preset_dots`, from the paired differences of its first measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from recalltune.charts import figures
from recalltune.charts.findings import TOO_FEW, Finding, verdict_of
from recalltune.charts.measures import Measure

__all__ = ["presets_finding"]


def presets_finding(
    first: pl.DataFrame, kinds: Sequence[Measure], default_row: str | None, noun: str, rows: int
) -> Finding:
    """Rows that stand apart from the default: none, one by name, or how many."""
    if not kinds:
        return Finding("No {noun} was measured", {"noun": noun})
    kind = kinds[0]
    values: dict[str, Any] = {
        "measure": kind.name,
        "rows": rows,
        "noun": noun,
        "nouns": figures.noun(rows, noun),
    }
    tested = first.drop_nulls(["diff", "diff_lo", "diff_hi", "n"])
    others = [
        {"row": row["row"], "diff": row["diff"], "lo": row["diff_lo"], "hi": row["diff_hi"],
         "n": row["n"], "higher_is_better": kind.higher_is_better}
        for row in tested.sort("row").rows(named=True)
        if row["row"] != default_row
    ]  # fmt: skip
    if not others:
        template = "{measure} of {rows:count} {nouns}, not compared"
        return Finding(template if rows != 1 else "{measure} of one {noun}", values)
    verdicts = [verdict_of(row) for row in others]
    apart = [
        (row, verdict)
        for row, verdict in zip(others, verdicts, strict=True)
        if verdict in ("gains", "costs")
    ]
    if all(verdict == "too few" for verdict in verdicts):
        values |= {"n": max(row["n"] for row in others), "lo": None, "hi": None}
        return Finding("{n:count} cases are too few to compare {nouns}", values, "too few")
    few = min(row["n"] for row in others) < TOO_FEW
    values |= {"tested": len(others), "few": TOO_FEW}
    if not apart and len(others) == 1:
        values |= others[0]
        return Finding("{row} cannot be told from the current default", values, "cannot be told")
    if not apart:
        return Finding(
            "None of {tested:count} {nouns} can be told from the current default", values, "exact"
        )
    if len(apart) == 1:
        row, verdict = apart[0]
        whole = "" if kind.decimals else "0"
        verb = verdict if kind.higher_is_better else {"gains": "lowers", "costs": "raises"}[verdict]
        values |= {**row, "interval": (row["lo"], row["hi"]), "rest": len(others) - 1}
        return Finding(
            f"{{row}} {verb} {{measure}} by {{diff:amount{whole}}} {{interval:interval{whole}}}"
            if not kind.higher_is_better
            else f"{{row}} {verb} {{diff:amount{whole}}} {{interval:interval{whole}}}"
            + ("; no other {noun} can be told from the default" if values["rest"] else ""),
            values,
            verdict,
        )
    values |= {
        "better": sum(verdict == "gains" for _, verdict in apart),
        "worse": sum(verdict == "costs" for _, verdict in apart),
    }
    template = (
        "{better:count} of {tested:count} {nouns} are better than the default"
        " and {worse:count} worse" + (", rows under {few:count} cases aside" if few else "")
    )
    return Finding(template, values, "exact")
