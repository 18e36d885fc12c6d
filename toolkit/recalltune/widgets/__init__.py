"""widgets: a panel that scores every tuning case again while a parameter moves.

In: a candidate table and a config. Out: an explorer, live in JupyterLab and still everywhere else.
It explores and decides nothing: held-out cases never appear in it.
"""

from __future__ import annotations

from recalltune.widgets.controls import Control
from recalltune.widgets.model import EXPLORER_METRICS, Explorer
from recalltune.widgets.panel import Panel, explorer
from recalltune.widgets.snapshot import Snapshot

__all__ = ["EXPLORER_METRICS", "Control", "Explorer", "Panel", "Snapshot", "explorer"]
