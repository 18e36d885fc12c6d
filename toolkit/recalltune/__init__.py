"""recalltune: tune which memories an agent recalls, in what order, and how many of each kind.

Everything a notebook does is one or two of the calls listed here. Importing the package loads no
embedding model and no charts; those rooms arrive when they are first named.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from recalltune.candidates.build import ask, candidates
from recalltune.candidates.duplicates import mark_near_duplicates
from recalltune.encode import encoder
from recalltune.errors import ContractError, ParameterError, RecalltuneError, SourceError
from recalltune.evaluate.cases import load_cases
from recalltune.evaluate.run import Evaluation, evaluate
from recalltune.evaluate.saving import save_evaluation
from recalltune.evaluate.shown import rank
from recalltune.ingest import ingest
from recalltune.pipeline.address import get, set_many
from recalltune.pipeline.config import RankingConfig, load_config, preset, preset_names
from recalltune.pipeline.explain import explain
from recalltune.pipeline.present import present
from recalltune.production.export import export
from recalltune.replay.fates import fates
from recalltune.replay.proof import prove_no_leak
from recalltune.replay.reinforce import AccessRule, Reinforced, reinforce
from recalltune.replay.search_log import replay_search_log
from recalltune.replay.steps import replay, save_replay
from recalltune.store import Lab, open
from recalltune.sweep.bind import bind
from recalltune.sweep.choose import Choice, choose, difference
from recalltune.sweep.engine import SweepResult, sweep
from recalltune.sweep.looks import record_evaluation, record_look
from recalltune.sweep.saving import load_sweep, save_sweep
from recalltune.sweep.space import Space, load_space
from recalltune.version import VERSION as __version__

if TYPE_CHECKING:
    from recalltune import charts, report, widgets

__all__ = [
    "AccessRule",
    "Choice",
    "ContractError",
    "Evaluation",
    "Lab",
    "ParameterError",
    "RankingConfig",
    "RecalltuneError",
    "Reinforced",
    "SourceError",
    "Space",
    "SweepResult",
    "__version__",
    "ask",
    "bind",
    "candidates",
    "charts",
    "choose",
    "difference",
    "encoder",
    "evaluate",
    "explain",
    "export",
    "fates",
    "get",
    "ingest",
    "load_cases",
    "load_config",
    "load_space",
    "load_sweep",
    "mark_near_duplicates",
    "open",
    "present",
    "preset",
    "preset_names",
    "prove_no_leak",
    "rank",
    "record_evaluation",
    "record_look",
    "reinforce",
    "replay",
    "replay_search_log",
    "report",
    "save_evaluation",
    "save_replay",
    "save_sweep",
    "set_many",
    "sweep",
    "widgets",
]

_LAZY = ("charts", "report", "widgets")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"recalltune.{name}")
    message = f"module 'recalltune' has no attribute {name!r}"
    raise AttributeError(message)
