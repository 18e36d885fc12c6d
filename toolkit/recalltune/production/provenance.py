"""What an export rests on: fingerprints and the figures that decided.

In: stamps and metrics. Out: one model that holds no clock, no NaN and no undefined figure
without a reason.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, model_validator

from recalltune.candidates.table import Stamp
from recalltune.errors import ParameterError, Settings, checked
from recalltune.pipeline.address import addresses
from recalltune.pipeline.config import RankingConfig
from recalltune.version import VERSION, code_digest

__all__ = ["MARK", "Provenance", "evidence_text"]

MARK = "recalltune_evidence"
"""The key by which a file is known as ours; its value is the format's number."""
_FORMAT = 1


class Provenance(Settings):
    """Where a chosen config comes from."""

    data: str = Field(min_length=1, max_length=100)
    """Digest of the store's content and of the vectors used."""
    encoder: str = Field(min_length=1, max_length=300)
    """encoder_id, or 'lexical only'."""
    code: str = Field(min_length=1, max_length=100)
    """Digest of the package's source."""
    metrics: dict[str, float | None] = Field(default_factory=dict)
    """Name -> value; None where it is undefined, with its reason in `undefined`."""
    undefined: dict[str, str] = Field(default_factory=dict)
    """Name -> why there is no value."""
    chosen_over: str = Field(default="", max_length=100)
    """Fingerprint of the config it was compared with; empty = none."""
    verdict: str = Field(default="", max_length=2_000)
    """The decision's sentence."""

    @model_validator(mode="after")
    def _reasons(self) -> Self:
        missing = {name for name, value in self.metrics.items() if value is None}
        if missing != set(self.undefined):
            message = (
                f"undefined must give a reason for exactly the metrics that are None: "
                f"{sorted(missing)}, got {sorted(self.undefined)}"
            )
            raise ValueError(message)
        return self

    @classmethod
    def of(cls, stamp: Stamp, **figures: Any) -> Provenance:
        """Return the provenance of a candidate table's stamp and the running code.

        Parameters
        ----------
        stamp
            `Candidates.stamp`, or the stamp of a sweep.
        figures
            metrics, undefined, chosen_over, verdict.
        """
        known = {"data": stamp.data, "encoder": stamp.encoder, "code": code_digest()}
        return checked(cls, {**known, **figures}, where="provenance")


def evidence_text(config: RankingConfig, provenance: Provenance) -> str:
    """Return the JSON text of a config with its evidence; the same for the same input.

    Raises
    ------
    ParameterError
        If a value is not finite.
    """
    values = {a: v for a, v in addresses(config).items() if not isinstance(v, Mapping)}
    content = {
        MARK: _FORMAT,
        "recalltune": VERSION,
        "name": config.name,
        "fingerprints": {
            "config": config.fingerprint,
            "setup": config.setup,
            "data": provenance.data,
            "encoder": provenance.encoder,
            "code": provenance.code,
            "chosen_over": provenance.chosen_over,
        },
        "verdict": provenance.verdict,
        "metrics": provenance.metrics,
        "undefined": provenance.undefined,
        "values": values,
        "config": config.canonical(),
    }
    try:
        text = json.dumps(content, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        message = f"evidence must hold finite numbers only: {error}"
        raise ParameterError(message) from None
    return text + "\n"
