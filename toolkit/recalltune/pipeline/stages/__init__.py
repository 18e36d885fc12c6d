"""The stages a config may list. In: candidates and a state. Out: the next state."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from recalltune.pipeline.stages.arrange import Defer, Diversify, Select
from recalltune.pipeline.stages.fuse import ReciprocalRank, WeightedSum
from recalltune.pipeline.stages.keep import Threshold
from recalltune.pipeline.stages.recallnest import (
    AccessBoost,
    Asset,
    Boundary,
    Confidence,
    FrequencyBoost,
    HotnessBlend,
    Importance,
    Length,
    RecencyBoost,
)
from recalltune.pipeline.stages.recallnest_fade import EvolutionBlend, TierDecay
from recalltune.pipeline.stages.recallnest_keep import Active, CategoryMinimum, SourceDiversity
from recalltune.pipeline.stages.weigh import Decay, Recency, Salience, Status

__all__ = [
    "AccessBoost",
    "Active",
    "AnyStage",
    "Asset",
    "Boundary",
    "CategoryMinimum",
    "Confidence",
    "Decay",
    "Defer",
    "Diversify",
    "EvolutionBlend",
    "FrequencyBoost",
    "HotnessBlend",
    "Importance",
    "Length",
    "Recency",
    "RecencyBoost",
    "ReciprocalRank",
    "Salience",
    "Select",
    "SourceDiversity",
    "Status",
    "Threshold",
    "TierDecay",
    "WeightedSum",
]

AnyStage = Annotated[
    ReciprocalRank
    | WeightedSum
    | Decay
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
    | SourceDiversity,
    Field(discriminator="kind"),
]
