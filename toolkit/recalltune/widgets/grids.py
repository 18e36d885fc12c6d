"""Lists side by side: one cell a pair of settings, what is said twice outlined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from recalltune.charts import Finding
from recalltune.charts.figures import tried
from recalltune.widgets.markup import escaped

__all__ = ["ListGrid"]

_CELL = "padding:6px 14px 6px 0;vertical-align:top;text-align:left"
_LINE = "white-space:nowrap;padding:1px 6px;margin:1px 0;border:1.5px solid "
_AGAIN, _ONCE = "#C4500F", "transparent"
_MUTED = "#5F6368"
_COLUMNS = 64
_TOLD = "Outlined: memories that say what another candidate says."


@dataclass(frozen=True)
class ListGrid:
    """The lists of one question, a row an importance and a column a lambda; one or more such."""

    parts: Sequence[tuple[Finding, pl.DataFrame]] = field(repr=False)
    """What the counts say, and the frame of `evaluate.ablation.ablation`."""

    def _repr_html_(self) -> str:
        return "".join(_grid(finding, frame) for finding, frame in self.parts)

    def __str__(self) -> str:
        lines = [line for finding, frame in self.parts for line in _lines(finding, frame)]
        return "\n".join([*lines, "* says what another candidate says"])

    __repr__ = __str__


def _grid(finding: Finding, frame: pl.DataFrame) -> str:
    lambdas = _distinct(frame, "lambda_")
    head = "".join(f"<th style='{_CELL}'>{escaped(_named(one))}</th>" for one in lambdas)
    rows = [f"<tr><th style='{_CELL}'>importance</th>{head}</tr>"]
    for importance in _distinct(frame, "importance"):
        cells = "".join(
            f"<td style='{_CELL}'>{''.join(map(_line, _places(frame, importance, one)))}</td>"
            for one in lambdas
        )
        name = f"<th style='{_CELL};white-space:nowrap'>{escaped(importance)}</th>"
        rows.append(f"<tr>{name}{cells}</tr>")
    return (
        f"<div style='margin-top:8px'><b>{escaped(str(finding), 200)}</b></div>"
        f"<div style='color:{_MUTED};font-size:12px'>{_TOLD}</div>"
        f"<table style='border-collapse:collapse;font-size:13px'>{''.join(rows)}</table>"
    )


def _line(row: dict[str, Any]) -> str:
    text = escaped(f"{row['place']}. {row['label']}", _COLUMNS)
    if row["english"]:
        said = escaped(row["english"], _COLUMNS)
        text += f"<div style='color:{_MUTED};font-size:11px'>{said}</div>"
    return f"<div style='{_LINE}{_AGAIN if row['same_as'] else _ONCE}'>{text}</div>"


def _lines(finding: Finding, frame: pl.DataFrame) -> Sequence[str]:
    cells = [
        (importance, one, _places(frame, importance, one))
        for importance in _distinct(frame, "importance")
        for one in _distinct(frame, "lambda_")
    ]
    return [
        str(finding),
        *(
            f"importance {importance}, {_named(one)}: "
            + ", ".join(f"{row['memory_id']}{'*' if row['same_as'] else ''}" for row in places)
            for importance, one, places in cells
        ),
    ]


def _distinct(frame: pl.DataFrame, column: str) -> Sequence[Any]:
    return frame[column].unique(maintain_order=True).to_list()


def _places(frame: pl.DataFrame, importance: str, lambda_: float) -> list[dict[str, Any]]:
    mine = (pl.col("importance") == importance) & (pl.col("lambda_") == lambda_)
    return frame.filter(mine).sort("place").to_dicts()


def _named(lambda_: float) -> str:
    return "without MMR (lambda 1)" if lambda_ == 1.0 else f"MMR, lambda {tried(lambda_)}"
