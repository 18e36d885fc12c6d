"""What may become a candidate (admit) and who proposes it (arms)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from recalltune.errors import Settings

__all__ = ["Admit", "Arms", "DenseArm", "LexicalArm"]


class Admit(Settings):
    """Which spans a query may see, before any arm ranks.

    Time, scope and telling bound the world and with it the lexical statistics; the status filters
    act inside every arm and leave the statistics alone.
    """

    audience: str = "everyone"
    """Whose eyes the list is for, beside what everyone may see; untold spans are never seen."""
    scope_match: Literal["exact", "family"] = "exact"
    """exact: scope equal. family: a scope without ':' matches as a prefix, as RecallNest does."""
    superseded: Literal["show", "hide"] = "show"
    """hide: entries superseded before the query's time are filtered inside every arm."""
    retracted: Literal["show", "hide"] = "show"
    """hide: the same for entries retracted before the query's time."""
    statistics: Literal["world", "store"] = "world"
    """world: N, document frequency and average length over the query's world only. store: over
    all spans alive, as production indexes do; it includes rows the query may not see."""


class LexicalArm(Settings):
    """BM25 over the query's world."""

    k1: float = Field(default=1.2, ge=0, le=10)
    """>= 0. Saturation of the term frequency; 0 counts presence only."""
    b: float = Field(default=0.75, ge=0, le=1)
    """[0, 1]. Strength of the length normalisation."""
    tokeniser: Literal["words_cjk_bigrams", "plain"] = "words_cjk_bigrams"
    """One tokeniser for both sides."""
    width: int = Field(default=200, ge=1, le=100_000)
    """>= 1. How many rows the arm proposes; independent of top_k."""


class DenseArm(Settings):
    """Exact cosine over the query's world."""

    width: int = Field(default=200, ge=1, le=100_000)
    """>= 1. How many rows the arm proposes; independent of top_k."""
    min_cosine: float = Field(default=-1.0, ge=-1, le=1)
    """[-1, 1]. Rows below it are not proposed."""


class Arms(Settings):
    """Who proposes candidates. An arm that is absent is off; at least one is needed."""

    lexical: LexicalArm | None = None
    dense: DenseArm | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The arms that are on, in the fixed order sums are taken in."""
        return tuple(name for name in ("dense", "lexical") if getattr(self, name) is not None)
