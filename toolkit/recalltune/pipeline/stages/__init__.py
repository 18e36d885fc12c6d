"""The stages a config may list. In: candidates and a state. Out: the next state."""

from __future__ import annotations

from typing import Annotated, get_args

from pydantic import Field

from recalltune.pipeline.stages.arrange import Defer, Diversify, Select
from recalltune.pipeline.stages.dsh import LayeredFusion
from recalltune.pipeline.stages.fade import ActR, Decay
from recalltune.pipeline.stages.fuse import ReciprocalRank, WeightedSum
from recalltune.pipeline.stages.generative_agents import PaperScore
from recalltune.pipeline.stages.hel847 import Block
from recalltune.pipeline.stages.keep import Threshold
from recalltune.pipeline.stages.lancedb_pro import CompositeDecay, HalfFloorDecay, LanceDbFusion
from recalltune.pipeline.stages.openclaw import OpenClawFuse, OpenClawLegacyFuse
from recalltune.pipeline.stages.openclaw_keep import OpenClawMinimum
from recalltune.pipeline.stages.openclaw_rank import OpenClawRank
from recalltune.pipeline.stages.openclaw_weigh import OpenClawDecay, OpenClawImportance
from recalltune.pipeline.stages.recallnest import (
    Asset,
    Boundary,
    Confidence,
    Importance,
    Length,
    RecencyBoost,
)
from recalltune.pipeline.stages.recallnest_fade import EmotionDecay, EvolutionBlend, TierDecay
from recalltune.pipeline.stages.recallnest_fuse import RecallNestFusion
from recalltune.pipeline.stages.recallnest_gate import ExactTokens, SkipTrivial
from recalltune.pipeline.stages.recallnest_interference import Interference
from recalltune.pipeline.stages.recallnest_keep import (
    Active,
    CategoryMinimum,
    SimilarityMinimum,
    SourceDiversity,
)
from recalltune.pipeline.stages.recallnest_overlap import AnchorBoost, ViewBlend
from recalltune.pipeline.stages.recallnest_rerank import LightRerank, RerankPool
from recalltune.pipeline.stages.recallnest_use import AccessBoost, FrequencyBoost, HotnessBlend
from recalltune.pipeline.stages.recallnest_versions import BestVersion
from recalltune.pipeline.stages.weigh import Recency, Salience, Status

__all__ = [
    "FUSIONS",
    "AccessBoost",
    "ActR",
    "Active",
    "AnchorBoost",
    "AnyStage",
    "Asset",
    "BestVersion",
    "Block",
    "Boundary",
    "CategoryMinimum",
    "CompositeDecay",
    "Confidence",
    "Decay",
    "Defer",
    "Diversify",
    "EmotionDecay",
    "EvolutionBlend",
    "ExactTokens",
    "FrequencyBoost",
    "HalfFloorDecay",
    "HotnessBlend",
    "Importance",
    "Interference",
    "LanceDbFusion",
    "LayeredFusion",
    "Length",
    "LightRerank",
    "OpenClawDecay",
    "OpenClawFuse",
    "OpenClawImportance",
    "OpenClawLegacyFuse",
    "OpenClawMinimum",
    "OpenClawRank",
    "PaperScore",
    "RecallNestFusion",
    "Recency",
    "RecencyBoost",
    "ReciprocalRank",
    "RerankPool",
    "Salience",
    "Select",
    "SimilarityMinimum",
    "SkipTrivial",
    "SourceDiversity",
    "Status",
    "Threshold",
    "TierDecay",
    "ViewBlend",
    "WeightedSum",
]

AnyStage = Annotated[
    ReciprocalRank
    | WeightedSum
    | Decay
    | ActR
    | Recency
    | Salience
    | Status
    | Threshold
    | Diversify
    | Defer
    | Select
    | RecencyBoost
    | Importance
    | Confidence
    | Boundary
    | Asset
    | Length
    | TierDecay
    | EvolutionBlend
    | AccessBoost
    | HotnessBlend
    | FrequencyBoost
    | Active
    | CategoryMinimum
    | SimilarityMinimum
    | SourceDiversity
    | SkipTrivial
    | RecallNestFusion
    | ViewBlend
    | AnchorBoost
    | RerankPool
    | LightRerank
    | EmotionDecay
    | Interference
    | BestVersion
    | ExactTokens
    | LanceDbFusion
    | CompositeDecay
    | HalfFloorDecay
    | OpenClawFuse
    | OpenClawLegacyFuse
    | OpenClawDecay
    | OpenClawImportance
    | OpenClawRank
    | OpenClawMinimum
    | LayeredFusion
    | PaperScore
    | Block,
    Field(discriminator="kind"),
]

FUSIONS = tuple(
    stage.model_fields["kind"].default for stage in get_args(get_args(AnyStage)[0]) if stage.fuses
)
"""Kinds a config can start with."""
