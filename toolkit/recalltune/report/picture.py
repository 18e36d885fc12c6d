"""One chart of the report: its file name, its place, its drawing made once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from recalltune import charts
from recalltune.charts import Measure
from recalltune.evaluate.comparing import higher_is_better
from recalltune.evaluate.views import label_of
from recalltune.report.story import Journey

__all__ = ["NO_CONTENDER", "NO_SWEEP", "Picture", "in_sample", "measure_of"]

NO_SWEEP = "No sweep was run, so there is no other setting to set against the default."
NO_CONTENDER = "No setting of the sweep differs from the default on any case."
_SVG_ID = re.compile(r"""(\bid="|url\(#|href="#)((?:clip|gradient_?)\d{1,9})("|\))""")


@dataclass(frozen=True, eq=False)
class Picture:
    """One chart of the report, or the reason why there is none."""

    name: str
    """Stem of the PNG."""
    section: int
    chart: Any = None
    why: str = ""

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The compiled chart."""
        return charts.compiled(self.chart)

    @cached_property
    def svg(self) -> str:
        """The drawing, made once for the file and for the page."""
        return _renumbered(charts.svg(self.spec))


def _renumbered(drawn: str) -> str:
    """The same drawing with its ids counted from 1: the renderer counts through its whole life."""
    numbers: dict[str, str] = {}

    def fresh(found: re.Match[str]) -> str:
        before, name, after = found.groups()
        return f"{before}{numbers.setdefault(name, f'id{len(numbers) + 1}')}{after}"

    return _SVG_ID.sub(fresh, drawn)


def measure_of(metric: str) -> Measure:
    """A metric as charts name and round it."""
    if metric == "tokens":
        return Measure("tokens", higher_is_better=False, decimals=0, unit="tokens a query")
    return Measure(label_of(metric), higher_is_better=higher_is_better(metric))


def in_sample(journey: Journey) -> str:
    """Say how many of the cases were tuned on; nothing without a choice."""
    if journey.choice is None:
        return ""
    return f"In sample: {journey.choice.tuned_on} of {journey.default.cases.height} cases tuned on."
