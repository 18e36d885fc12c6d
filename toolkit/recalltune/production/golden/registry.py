"""Every golden group by name: what answers it, or which later work it belongs to."""

from __future__ import annotations

from collections.abc import Mapping

from recalltune.production.golden import ancestor, dsh, hel847, openclaw, recallnest, tokens
from recalltune.production.golden.group import Golden

__all__ = ["GROUPS", "LATER"]

GROUPS: Mapping[str, Golden] = {
    **recallnest.GROUPS,
    **ancestor.GROUPS,
    **openclaw.GROUPS,
    **dsh.GROUPS,
    **hel847.GROUPS,
    **tokens.GROUPS,
}

LATER: Mapping[str, str] = {
    "eval_canary": "choice",
    "eval_retrieval": "choice",
    "r4_quota": "quotas",
    "r4_quota_verdict": "quotas",
    "r4_quota_budget_sweep": "quotas",
    "r4_keep_budget": "quotas",
    "r4_budget_sweep": "quotas",
    "r4_catalog_line": "quotas",
    "context_collapse": "quotas",
    "promotion_components": "not planned",
}
"""Group -> the work it comes with."""
