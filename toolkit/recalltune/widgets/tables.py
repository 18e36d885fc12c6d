"""A frame as a table a stranger can read: escaped texts, numbers in one format, no type row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from recalltune.charts.figures import MINUS
from recalltune.widgets.markup import escaped

__all__ = ["Table"]

TEXT_COLUMNS = 190
MOST_ROWS = 50
_NEVER_BROKEN = 24
_CELL = "padding:2px 14px 2px 0;vertical-align:top;text-align:"


@dataclass(frozen=True)
class Table:
    """A frame with a heading.

    Examples
    --------
    >>> print(Table(pl.DataFrame({"layer": ["log"], "share": [0.25]}), "Places"))
    Places
    layer  share
    log    0.250
    """

    frame: pl.DataFrame = field(repr=False)
    title: str = ""
    decimals: Mapping[str, int] = field(default_factory=dict)
    """column -> decimals of its numbers; three unless given."""

    def _repr_html_(self) -> str:
        shown = self.frame.head(MOST_ROWS)
        sides = ["right" if dtype.is_numeric() else "left" for dtype in shown.dtypes]
        head = "".join(
            f"<th style='{_CELL}{side}'>{escaped(name.replace('_', ' '))}</th>"
            for name, side in zip(shown.columns, sides, strict=True)
        )
        body = "".join(
            "<tr>"
            + "".join(
                f"<td style='{_CELL}{side}{_wrap(text)}'>{escaped(text, TEXT_COLUMNS)}</td>"
                for text, side in zip(row, sides, strict=True)
            )
            + "</tr>"
            for row in self._rows()
        )
        title = f"<div><b>{escaped(self.title, 200)}</b></div>" if self.title else ""
        left = self.frame.height - shown.height
        more = f"<div>… {left:,} more rows</div>" if left > 0 else ""
        style = "border-collapse:collapse;font-size:13px"
        return f"{title}<table style='{style}'><tr>{head}</tr>{body}</table>{more}"

    def __str__(self) -> str:
        rows = [[name.replace("_", " ") for name in self.frame.columns], *self._rows()]
        widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        return "\n".join([self.title, *lines] if self.title else lines)

    __repr__ = __str__

    def _rows(self) -> list[list[str]]:
        names = self.frame.columns
        return [
            [self._cell(name, value) for name, value in zip(names, row, strict=True)]
            for row in self.frame.head(MOST_ROWS).iter_rows()
        ]

    def _cell(self, name: str, value: Any) -> str:
        if value is None:
            return ""
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, float):
            return f"{value:,.{self.decimals.get(name, 3)}f}".replace("-", MINUS)
        if isinstance(value, int):
            return f"{value:,}".replace("-", MINUS)
        return str(value)


def _wrap(text: str) -> str:
    return ";white-space:nowrap" if len(text) <= _NEVER_BROKEN else ""
