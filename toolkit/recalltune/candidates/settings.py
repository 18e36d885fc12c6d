"""What may become a candidate (admit) and who proposes it (arms)."""

from __future__ import annotations

import math
from typing import Any, Literal

from pydantic import Field, field_validator

from recalltune.errors import Settings

__all__ = ["Admit", "Arms", "DenseArm", "Expansion", "LexicalArm", "SubstringArm"]


_LONGEST_TERM = 200
"""Characters."""


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
    duplicates: Literal["show", "hide"] = "hide"
    """hide: of entries that say the same (``memory.duplicate_of``), the first one that may be shown
    is proposed, the others are filtered inside every arm."""
    in_prompt: Literal["show", "hide_turns", "hide_session"] = "show"
    """What the prompt holds already is not proposed again. hide_turns: memories taken from the last
    `prompt_turns` turns of the query's session. hide_session: from any turn of that session."""
    prompt_turns: int = Field(default=20, ge=1, le=100_000)
    """Turns, >= 1. Read by hide_turns alone."""
    statistics: Literal["world", "store"] = "world"
    """world: N, document frequency and average length over the query's world only. store: over
    all spans alive, as production indexes do; it includes rows the query may not see."""

    def unread(self) -> set[str]:
        """Return the fields that have no effect beside the values of the others."""
        return set() if self.in_prompt == "hide_turns" else {"prompt_turns"}

    def canonical(self) -> dict[str, Any]:
        """Return the fields that have an effect; two models with equal ones admit alike."""
        return self.model_dump(mode="json", exclude=self.unread())


class Arm(Settings):
    """Base of the arms that propose rows by a score of their own."""

    width: int = Field(default=200, ge=1, le=100_000)
    """>= 1. How many rows the arm proposes; independent of top_k."""

    def attainable(self) -> tuple[float, float]:
        """Return the lowest and highest raw score of a row the arm proposes."""
        return -math.inf, math.inf

    def proposed(self) -> int:
        """Return how many rows the arm proposes at most."""
        return self.width


class LexicalArm(Arm):
    """BM25 over the query's world."""

    k1: float = Field(default=1.2, ge=0, le=10)
    """>= 0. Saturation of the term frequency; 0 counts presence only."""
    b: float = Field(default=0.75, ge=0, le=1)
    """[0, 1]. Strength of the length normalisation."""
    tokeniser: Literal[
        "words_cjk_bigrams", "plain", "openclaw_release", "openclaw_main", "probe", "porter"
    ] = "words_cjk_bigrams"
    """One tokeniser for both sides, and for the token sets that diversity compares."""
    match: Literal["any", "all", "all_then_any"] = "any"
    """Which rows it may propose. any: with one token of the query. all: with every token.
    all_then_any: with every token where those rows fill the width, else with one."""

    def attainable(self) -> tuple[float, float]:
        """Return the bounds of BM25: a row without a word of the query is not proposed."""
        return 0.0, math.inf


class DenseArm(Arm):
    """Exact cosine over the query's world."""

    min_cosine: float = Field(default=-1.0, ge=-1, le=1)
    """[-1, 1]. Rows below it are not proposed."""
    store_limit: int | None = Field(default=None, ge=1, le=100_000)
    """Rows, >= 1. A store that returns no more, whatever the width; None has no such limit."""

    def attainable(self) -> tuple[float, float]:
        """Return the bounds of the cosine."""
        return self.min_cosine, 1.0

    def proposed(self) -> int:
        """Return the width, as the store cuts it."""
        return self.width if self.store_limit is None else min(self.width, self.store_limit)


class SubstringArm(Arm):
    """Memories that hold the query's words letter by letter, in text or gist."""

    tokeniser: Literal[
        "words_cjk_bigrams", "plain", "openclaw_release", "openclaw_main", "probe"
    ] = "probe"
    """What makes the token sets that diversity compares, where the lexical arm is off."""
    snippet_chars: int = Field(default=160, ge=1, le=100_000)
    """Characters, >= 1. How much of the gist, or else of the text, these token sets are made of."""

    def attainable(self) -> tuple[float, float]:
        """Return the bounds of a count of occurrences."""
        return 0.0, math.inf


class Expansion(Settings):
    """Terms that are added to a query which holds a trigger, as RecallNest's alias map does."""

    trigger: str = Field(min_length=1, max_length=200)
    """1 to 200 characters. Looked for anywhere in the query, whatever its case."""
    terms: tuple[str, ...] = Field(min_length=1, max_length=20)
    """1 to 20 terms, appended to what the arms search with."""
    arms: tuple[Literal["dense", "lexical", "substring"], ...] = ("lexical",)
    """Which arms read the terms. RecallNest's own rules reach the vectors too, its map does not."""
    longest_query_chars: int = Field(default=100, ge=1, le=100_000)
    """Characters, >= 1. A longer query is left as it is."""

    @field_validator("terms", "arms", mode="before")
    @classmethod
    def _as_tuple(cls, given: Any) -> Any:
        return tuple(given) if isinstance(given, list) else given

    @field_validator("terms")
    @classmethod
    def _some_words(cls, terms: tuple[str, ...]) -> tuple[str, ...]:
        if any(not term.strip() or len(term) > _LONGEST_TERM for term in terms):
            message = f"every term needs 1 to {_LONGEST_TERM} characters, not only space"
            raise ValueError(message)
        return terms


class Arms(Settings):
    """Who proposes candidates. An arm that is absent is off; at least one is needed."""

    lexical: LexicalArm | None = None
    dense: DenseArm | None = None
    substring: SubstringArm | None = None
    expansions: tuple[Expansion, ...] = Field(default=(), max_length=1_000)
    """What is added to a query before the arms see it; at most 1,000."""

    @field_validator("expansions", mode="before")
    @classmethod
    def _as_tuple(cls, given: Any) -> Any:
        return tuple(given) if isinstance(given, list) else given

    def unread(self) -> set[str]:
        """Return the fields that have no effect: none."""
        return set()

    def canonical(self) -> dict[str, Any]:
        """Return what decides the candidates; no expansions are the same as none declared."""
        unused = set() if self.expansions else {"expansions"}
        return self.model_dump(mode="json", exclude=unused)

    @property
    def names(self) -> tuple[str, ...]:
        """The arms that are on, in the fixed order sums are taken in."""
        arms = ("dense", "lexical", "substring")
        return tuple(name for name in arms if getattr(self, name) is not None)
