"""OpenClaw's golden group of tokens: the set of our two variants of its tokeniser.

In: the text of one golden case. Out: the tokens of each variant, each once, in code point order.
"""

from __future__ import annotations

from collections.abc import Mapping

from recalltune.pipeline.config import RankingConfig
from recalltune.production.golden.group import Case, Golden
from recalltune.rank.tokens import TOKENIZERS

__all__ = ["GROUPS", "variants"]

_VARIANTS = {"release": "openclaw_release", "unicode_words": "openclaw_main"}


def variants(case: Case, config: RankingConfig) -> dict[str, list[str]]:
    """Tokens of a text by upstream's name of the variant."""
    del config
    return {
        theirs: sorted(set(TOKENIZERS[ours](case["text"]))) for theirs, ours in _VARIANTS.items()
    }


def _whole(case: Case) -> Case:
    return case


def _expected(case: Case) -> dict[str, list[str]]:
    return {name: case[name] for name in _VARIANTS}


GROUPS: Mapping[str, Golden] = {
    "tokenize": Golden(variants, given=_whole, expected=_expected),
}
