"""widgets: what notebooks show: an explorer that rescores while a parameter moves, and tables.

In: a candidate table and a config. Out: an explorer, live in JupyterLab and still everywhere else,
and frames and tables for the notebooks. The explorer decides nothing: held-out cases never appear
in it.
"""

from __future__ import annotations

from recalltune.widgets.bench import Bench, corpus_folder, demo_bench
from recalltune.widgets.companions import Shelf, companion_shelf
from recalltune.widgets.controls import Control
from recalltune.widgets.fading import (
    curves,
    half_life_names,
    optimism,
    shape_curves,
    tier_curves,
    worst_loss,
)
from recalltune.widgets.fusing import (
    by_language,
    dead_knobs,
    fused_elsewhere,
    mixed_question,
    reach,
)
from recalltune.widgets.fusion_configs import (
    arms_alone,
    boosted,
    fusions,
    weighted,
    with_fusion,
    word_searches,
)
from recalltune.widgets.gates import (
    blocks_beside,
    gate_claim,
    gate_table,
    joined_pairs,
    marked_block,
    paths_table,
    spending,
)
from recalltune.widgets.grids import ListGrid
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
from recalltune.widgets.replaying import (
    Agreement,
    agreement,
    churn_table,
    flattered,
    ledger_table,
    most_flattered,
    proof_table,
    turns_as_read,
)
from recalltune.widgets.score_scales import arm_scores, rank_curves, rank_steps
from recalltune.widgets.snapshot import Snapshot
from recalltune.widgets.step_slider import StepSlider, StepSnapshot, step_slider
from recalltune.widgets.tables import Table
from recalltune.widgets.variety import (
    SIZES,
    flooding,
    importance_grid,
    likeness,
    mmr_steps,
    most_flooded,
    with_deferral,
    without_the_weakest,
)

__all__ = [
    "EXPLORER_METRICS",
    "SIZES",
    "Agreement",
    "Bench",
    "Control",
    "Explorer",
    "ListGrid",
    "Panel",
    "Readiness",
    "Shelf",
    "Snapshot",
    "StepSlider",
    "StepSnapshot",
    "Table",
    "agreement",
    "answer",
    "arm_scores",
    "arms_alone",
    "asked_span",
    "blocks_beside",
    "boosted",
    "by_language",
    "by_target_layer",
    "case_matrix",
    "chart_stamp",
    "churn_table",
    "companion_shelf",
    "corpus_folder",
    "curves",
    "dead_knobs",
    "demo_bench",
    "dropped",
    "evidence_ages",
    "explorer",
    "flattered",
    "flooding",
    "fused_elsewhere",
    "fusions",
    "gate_claim",
    "gate_table",
    "half_life_names",
    "import_table",
    "importance_grid",
    "joined_pairs",
    "layer_shares",
    "layer_verdicts",
    "ledger_table",
    "lengths",
    "likeness",
    "marked_block",
    "mixed_question",
    "mmr_steps",
    "moment",
    "most_flattered",
    "most_flooded",
    "optimism",
    "paths_table",
    "proof_table",
    "question",
    "rank_curves",
    "rank_steps",
    "reach",
    "readiness",
    "reading_list",
    "replaced",
    "shape_curves",
    "some_rounds",
    "spending",
    "stamp",
    "step_slider",
    "tier_curves",
    "turns_as_read",
    "weighted",
    "with_deferral",
    "with_fusion",
    "with_none",
    "without_the_weakest",
    "word_searches",
    "worst_loss",
]
