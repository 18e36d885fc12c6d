"""Charts: sixteen forms, one theme, titles computed from what is drawn.

In: tidy polars frames. Out: Altair charts with title, alt text, stamp and source table. No
statistics and no data logic here; intervals arrive as columns.
"""

from __future__ import annotations

from recalltune.charts.account import quota_account, quota_account_drawing
from recalltune.charts.ages import age_strata
from recalltune.charts.canvas import Drawing, Stamp
from recalltune.charts.churn import churn
from recalltune.charts.curves import decay_curves, decay_curves_drawing
from recalltune.charts.difference import difference
from recalltune.charts.feedback import exposure_share, feedback_drift
from recalltune.charts.findings import Finding, verdict_of
from recalltune.charts.flips import case_flips, case_flips_drawing
from recalltune.charts.flow import rank_flow
from recalltune.charts.heatmap import sweep_heatmap
from recalltune.charts.lockup import lockup_phase
from recalltune.charts.look import using
from recalltune.charts.losses import loss_stages
from recalltune.charts.measures import Measure
from recalltune.charts.pareto import pareto_quality_tokens
from recalltune.charts.presets import preset_dots
from recalltune.charts.profile import profile
from recalltune.charts.render import compiled, patch, save_png, svg
from recalltune.charts.setup import setup
from recalltune.charts.sweeps import sweep_line
from recalltune.charts.waterfall import score_waterfall

__all__ = [
    "Drawing",
    "Finding",
    "Measure",
    "Stamp",
    "age_strata",
    "case_flips",
    "case_flips_drawing",
    "churn",
    "compiled",
    "decay_curves",
    "decay_curves_drawing",
    "difference",
    "exposure_share",
    "feedback_drift",
    "lockup_phase",
    "loss_stages",
    "pareto_quality_tokens",
    "patch",
    "preset_dots",
    "profile",
    "quota_account",
    "quota_account_drawing",
    "rank_flow",
    "save_png",
    "score_waterfall",
    "setup",
    "svg",
    "sweep_heatmap",
    "sweep_line",
    "using",
    "verdict_of",
]
