"""widgets: what notebooks show: an explorer that rescores while a parameter moves, and tables.

In: a candidate table and a config. Out: an explorer, live in JupyterLab and still everywhere else,
and frames and tables for the notebooks. The explorer decides nothing: held-out cases never appear
in it.
"""

from __future__ import annotations

from recalltune.widgets.bench import Bench, demo_bench
from recalltune.widgets.controls import Control
from recalltune.widgets.fading import (
    curves,
    half_life_names,
    optimism,
    shape_curves,
    tier_curves,
    worst_loss,
)
from recalltune.widgets.looks import answer, asked_span, import_table, moment, question, replaced
from recalltune.widgets.model import EXPLORER_METRICS, Explorer
from recalltune.widgets.panel import Panel, explorer
from recalltune.widgets.places import (
    by_target_layer,
    layer_shares,
    layer_verdicts,
    some_rounds,
    with_none,
)
from recalltune.widgets.readiness import (
    Readiness,
    case_matrix,
    dropped,
    evidence_ages,
    lengths,
    readiness,
)
from recalltune.widgets.reading import chart_stamp, reading_list, stamp
from recalltune.widgets.snapshot import Snapshot
from recalltune.widgets.tables import Table

__all__ = [
    "EXPLORER_METRICS",
    "Bench",
    "Control",
    "Explorer",
    "Panel",
    "Readiness",
    "Snapshot",
    "Table",
    "answer",
    "asked_span",
    "by_target_layer",
    "case_matrix",
    "chart_stamp",
    "curves",
    "demo_bench",
    "dropped",
    "evidence_ages",
    "explorer",
    "half_life_names",
    "import_table",
    "layer_shares",
    "layer_verdicts",
    "lengths",
    "moment",
    "optimism",
    "question",
    "readiness",
    "reading_list",
    "replaced",
    "shape_curves",
    "some_rounds",
    "stamp",
    "tier_curves",
    "with_none",
    "worst_loss",
]
