"""What every chart carries besides marks: title, subtitle, stamp, alt text, table, theme.

A `Drawing` is everything that depends on the data. A chart function makes one, hands it to its
marks, and `finish` joins the two; the explorer makes a new one per slider step and patches it
into the compiled chart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypedDict, cast

import altair as alt
import polars as pl

from recalltune.charts.findings import Finding, as_finding
from recalltune.charts.frames import json_rows
from recalltune.charts.look import config, current
from recalltune.charts.text import clean, cut, display_width, flow
from recalltune.errors import ParameterError, nearest

__all__ = [
    "TABLE_ROWS",
    "About",
    "Chart",
    "Drawing",
    "Stamp",
    "asked",
    "data",
    "draw",
    "finish",
    "layered",
    "panel_title",
    "sentence",
    "subtitle",
]

Chart: TypeAlias = alt.Chart | alt.LayerChart | alt.HConcatChart | alt.VConcatChart

TABLE_ROWS = 50
"""Rows of the source table a chart carries along."""

SUBTITLE_COLUMNS = 95
SUBTITLE_LINES = 3


@dataclass(frozen=True)
class Stamp:
    """Fingerprints of what a chart was made from; full digests, shortened when printed.

    Examples
    --------
    >>> print(Stamp(config="3f9a01c2d4e5", data="77b0e4a1", encoder="a1c4ffee", code="9e02"))
    config 3f9a01c2, data 77b0, encoder a1c4, code 9e02
    """

    config: str = ""
    data: str = ""
    encoder: str = ""
    code: str = ""

    def __str__(self) -> str:
        parts = (("config", 8), ("data", 4), ("encoder", 4), ("code", 4))
        return ", ".join(
            f"{name} {clean(getattr(self, name))[:digits]}"
            for name, digits in parts
            if getattr(self, name)
        )

    def full(self) -> dict[str, str]:
        """The whole digests, for tooltips and tables."""
        parts = ("config", "data", "encoder", "code")
        return {name: clean(getattr(self, name)) for name in parts if getattr(self, name)}


@dataclass(frozen=True)
class Drawing:
    """The part of a chart that follows the data."""

    chart: str
    """Name of the chart function."""
    finding: Finding
    subtitle: tuple[str, ...]
    form: str
    """Kind of chart and its range, as a sentence for readers who cannot see it."""
    rows: Mapping[str, list[dict[str, Any]]]
    """JSON rows of each named data set of the chart."""
    table: pl.DataFrame
    """The frame the marks were made from."""
    table_name: str = ""
    """Where the full table is kept, for example ``out/sweep.parquet``."""
    stamp: Stamp = field(default_factory=Stamp)

    @property
    def description(self) -> str:
        """Alt text: finding, kind of chart and range, where the table is."""
        where = (
            f" Table: {clean(self.table_name)}." if self.table_name else " Table: with the chart."
        )
        return f"{self.finding}. {self.form}{where}"

    @property
    def title(self) -> dict[str, Any]:
        """Vega-Lite title: finding and subtitle."""
        return {"text": list(self.finding.lines), "subtitle": list(self.subtitle)}

    @property
    def usermeta(self) -> dict[str, Any]:
        """Stamp, verdict and source table (first 50 rows), for the report and for readers."""
        table = {
            "name": clean(self.table_name),
            "columns": self.table.columns,
            "rows": json_rows(self.table.head(TABLE_ROWS)),
            "of": self.table.height,
        }
        finding = {"text": str(self.finding), "verdict": self.finding.verdict}
        return {
            "recalltune": {
                "chart": self.chart,
                "finding": finding,
                "stamp": self.stamp.full(),
                "table": table,
            }
        }


class About(TypedDict, total=False):
    """Keywords every chart function takes."""

    finding: Finding | str | None
    """Title; by default the chart's own finding, computed from its frame."""
    detail: str
    """A sentence for the subtitle: which set, which interval, in sample or held out."""
    stamp: Stamp | None
    """Fingerprints."""
    table_name: str
    """Where the full table is kept."""


def draw(
    chart: str,
    default: Finding,
    *,
    sentences: Sequence[str],
    form: str,
    rows: Mapping[str, list[dict[str, Any]]],
    table: pl.DataFrame,
    about: About,
    gaps: str = "",
) -> Drawing:
    """The drawing of a chart function; ``about`` is what its caller passed on.

    ``gaps`` says what is not drawn; it stands early, where a long subtitle is never cut.

    Raises
    ------
    ParameterError
        If a keyword is unknown, or the finding a caller gave is not allowed to say what it says.
    """
    for name in about:
        if name not in About.__annotations__:
            msg = f"{chart} has no option {name!r}; {nearest(name, About.__annotations__)}"
            raise ParameterError(msg)
    given = about.get("finding")
    stamp = about.get("stamp") or Stamp()
    measured, *further = sentences
    return Drawing(
        chart=chart,
        finding=default if given is None else as_finding(given),
        subtitle=subtitle(measured, gaps, about.get("detail", ""), *further, stamp=stamp),
        form=clean(form),
        rows=rows,
        table=table,
        table_name=about.get("table_name", ""),
        stamp=stamp,
    )


def subtitle(*sentences: str, stamp: Stamp | None = None) -> tuple[str, ...]:
    """Subtitle lines of at most 95 columns; the stamp is never cut, the sentences may be.

    Examples
    --------
    >>> subtitle("Dots: means.", "", stamp=Stamp(data="77b0"))
    ('Dots: means. data 77b0',)
    """
    tail = str(stamp) if stamp else ""
    text = " ".join(clean(sentence) for sentence in sentences if sentence)
    room = SUBTITLE_COLUMNS * SUBTITLE_LINES - display_width(tail) - 40
    words = cut(text, room).split(" ") if text else []
    # A stamp breaks between parts only, so that a name never parts from its digits.
    parts = tail.replace(", ", ",\n").split("\n") if tail else []
    return flow([*words, *parts], SUBTITLE_COLUMNS)


def data(name: str) -> alt.NamedData:
    """A data set of the chart by name, so that it can be replaced after compiling."""
    return alt.NamedData(name=name)


def panel_title(text: str) -> alt.TitleParams:
    """Heading of one panel among several."""
    return alt.TitleParams(text, fontSize=12, offset=8, anchor="start")


def asked(query: str) -> str:
    """The query of a chart about one question, as its subtitle says it; nothing without one."""
    return f'Query "{cut(query, 60)}".' if query else ""


def layered(*layers: Any) -> alt.LayerChart:
    """Layers from bottom to top."""
    return cast(alt.LayerChart, alt.layer(*layers))


def finish(body: Chart, drawing: Drawing) -> Chart:
    """Join marks and drawing into a chart that needs nothing else to be shown.

    Raises
    ------
    ParameterError
        If two parts of the drawing disagree on the data set names.
    """
    for name in drawing.rows:
        if not name.isidentifier():
            msg = f"data set names must be identifiers, got {name!r}"
            raise ParameterError(msg)
    whole = body.properties(
        title=drawing.title,
        description=drawing.description,
        usermeta=drawing.usermeta,
        datasets=dict(drawing.rows),
    )
    return cast(Chart, whole.configure(**config()))


def sentence(drawing: Drawing, text: str, *, width: int = 520, height: int = 60) -> Chart:
    """The chart of a frame with nothing to draw: its title and one sentence saying so."""
    rows = {"nothing": [{"text": clean(text)}]}
    body = (
        alt.Chart(data("nothing"), width=width, height=height)
        .mark_text(align="left", color=current().muted, fontSize=12)
        .encode(x=alt.value(0), y=alt.value(height / 2), text=alt.Text("text:N"))
    )
    empty = Drawing(
        chart=drawing.chart,
        finding=drawing.finding,
        subtitle=drawing.subtitle,
        form=clean(text),
        rows=rows,
        table=drawing.table,
        table_name=drawing.table_name,
        stamp=drawing.stamp,
    )
    return finish(body, empty)
