"""Workload W1: made-up documents with the word statistics of real text, as lists of token texts.

Words follow Zipf-Mandelbrot, 1 / (rank + 2.7)^1.07; lengths are log-normal around 40; a token
repeats an earlier one of its document with probability 0.15, as real texts do.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

VOCABULARY = {1_000: 8_000, 10_000: 25_000, 50_000: 55_000, 100_000: 80_000}
RAREST_COMMON = 30
"""Queries take no word more common than this rank: people search for words that tell."""


def documents(count: int) -> list[list[str]]:
    """The collection of that size, a key of `VOCABULARY`."""
    rng = np.random.default_rng(20_260_101 + count)
    words = np.arange(1, VOCABULARY[count] + 1)
    chance = 1.0 / (words + 2.7) ** 1.07
    size = np.clip(np.rint(rng.lognormal(np.log(40.0), 0.6, count)), 5, 400).astype(np.int64)
    starts = np.concatenate(([0], np.cumsum(size)))
    drawn = rng.choice(words, size=int(size.sum()), p=chance / chance.sum())
    drawn = _bursty(rng, drawn, starts)
    texts = [f"w{word}" for word in range(len(words) + 1)]
    return [[texts[w] for w in drawn[a:b].tolist()] for a, b in pairwise(starts.tolist())]


def _bursty(
    rng: np.random.Generator, drawn: NDArray[np.int64], starts: NDArray[np.int64]
) -> NDArray[np.int64]:
    place = np.arange(len(drawn)) - np.repeat(starts[:-1], np.diff(starts))
    repeats = (rng.random(len(drawn)) < 0.15) & (place > 0)
    earlier = np.arange(len(drawn)) - place + np.floor(rng.random(len(drawn)) * place).astype(int)
    out = drawn.copy()
    # In order, so that a repeat may itself be repeated.
    for at in np.flatnonzero(repeats).tolist():
        out[at] = out[earlier[at]]
    return out


def queries(docs: list[list[str]], count: int = 1_000) -> list[list[str]]:
    """Three to eight distinct words of one document each, none of the commonest thirty."""
    rng = np.random.default_rng(7)
    asked: list[list[str]] = []
    while len(asked) < count:
        doc = docs[int(rng.integers(len(docs)))]
        words = sorted({word for word in doc if int(word[1:]) >= RAREST_COMMON})
        wanted = int(rng.integers(3, 9))
        if len(words) >= 3:
            taken = rng.choice(len(words), size=min(wanted, len(words)), replace=False)
            asked.append([words[at] for at in taken])
    return asked
