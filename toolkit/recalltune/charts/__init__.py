"""Charts: sixteen forms, one theme, titles computed from what is drawn.

In: tidy polars frames. Out: Altair charts with title, alt text, stamp and source table. No
statistics and no data logic here; intervals arrive as columns. A form arrives when it is first
named: most commands draw nothing, and Altair takes seconds to load.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_HOME = {
    "quota_account": "account",
    "quota_account_drawing": "account",
    "age_strata": "ages",
    "Drawing": "canvas",
    "Stamp": "canvas",
    "churn": "churn",
    "decay_curves": "curves",
    "decay_curves_drawing": "curves",
    "difference": "difference",
    "exposure_share": "feedback",
    "feedback_drift": "feedback",
    "Finding": "findings",
    "verdict_of": "findings",
    "case_flips": "flips",
    "case_flips_drawing": "flips",
    "rank_flow": "flow",
    "sweep_heatmap": "heatmap",
    "lockup_phase": "lockup",
    "using": "look",
    "loss_stages": "losses",
    "Measure": "measures",
    "pareto_quality_tokens": "pareto",
    "preset_dots": "presets",
    "profile": "profile",
    "compiled": "render",
    "patch": "render",
    "save_png": "render",
    "svg": "render",
    "setup": "setup",
    "sweep_line": "sweeps",
    "score_waterfall": "waterfall",
}
"""Name -> the module that defines it."""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        message = f"module 'recalltune.charts' has no attribute {name!r}"
        raise AttributeError(message)
    module = importlib.import_module(f"recalltune.charts.{_HOME[name]}")
    value = getattr(module, name)
    globals()[name] = value
    return value


class _Room(ModuleType):
    """A module named as its form is (``churn``, ``setup``) must not hide the form when it loads."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Room
