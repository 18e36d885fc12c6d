"""The arms for a whole batch of queries: what each proposes, and the union with every score.

In: what is searched, the arms that are on, the queries. Out: one row per (query, memory) that some
arm proposes, in memory_id order, with the score of every arm and the rank in those that propose it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recalltune.candidates.asked import Asked
from recalltune.candidates.corpus import Corpus
from recalltune.candidates.settings import Arms, DenseArm, LexicalArm, SubstringArm
from recalltune.rank.bm25 import PostingIndex
from recalltune.rank.dated_postings import DatedPostings
from recalltune.rank.nearest import cosine_pairs, nearest_rows
from recalltune.rank.ragged import places_within, pointers
from recalltune.rank.substring import MODES
from recalltune.rank.walk import Proposable, walk

__all__ = ["propose"]

_LONG_GONE = np.iinfo(np.int64).min


@dataclass(frozen=True, eq=False)
class _Found:
    """What one arm proposes: parallel arrays, one entry per (query, row)."""

    query: NDArray[np.int64]
    row: NDArray[np.int64]
    score: NDArray[np.float64]
    rank: NDArray[np.float64]
    """NaN: the arm knows the score and does not propose the row."""

    @classmethod
    def of(cls, rows: NDArray[np.int64], scores: NDArray[np.float64]) -> _Found:
        """From (Q, W) arrays, best first, -1 after the last."""
        query, place = np.nonzero(rows >= 0)
        return cls(query, rows[query, place], scores[query, place], place.astype(np.float64) + 1.0)

    def keys(self, spans: int) -> NDArray[np.int64]:
        """One number for each (query, row), rising with both."""
        return self.query * spans + self.row


def propose(
    corpus: Corpus, arms: Arms, asked: Asked
) -> tuple[NDArray[np.int64], dict[str, NDArray[Any]]]:
    """Return the union of what the arms propose, (Q, C) rows, and a score and rank per arm.

    Columns rise in each row, -1 is padding. A score is NaN where an arm can give none, a rank
    where the arm does not propose the row.
    """
    spans, queries = corpus.worlds.until.size, asked.at.size
    found: dict[str, _Found] = {}
    extra: dict[str, NDArray[Any]] = {}
    if arms.dense is not None:
        found["dense"] = _dense(corpus, arms.dense, asked)
    if arms.substring is not None:
        found["substring"], extra["substring_mode"] = _substring(corpus, arms.substring, asked)
    before = _union(found, spans)
    peeked = np.zeros(before.size)
    if arms.lexical is not None:
        found["lexical"], peeked = _lexical(corpus, arms.lexical, asked, before)
    union = _union(found, spans)
    query, row = np.divmod(union, max(spans, 1))
    table: dict[str, NDArray[Any]] = {}
    for arm in arms.names:
        mine = found[arm]
        score, rank = np.full(union.size, np.nan), np.full(union.size, np.nan)
        if arm == "lexical":
            score[:] = 0.0
            score[np.searchsorted(union, before)] = peeked
        _, here, there = np.intersect1d(
            union, mine.keys(spans), assume_unique=True, return_indices=True
        )
        score[here], rank[here] = mine.score[there], mine.rank[there]
        if arm == "dense":
            _fill_cosines(corpus, asked, query, row, score)
        table |= {f"{arm}_score": score, f"{arm}_rank": rank}
    counts = np.bincount(query, minlength=queries)
    column = places_within(counts)
    shape = queries, int(counts.max(initial=0))
    span = np.full(shape, -1, dtype=np.int64)
    span[query, column] = row
    features = {}
    for name, values in table.items():
        features[name] = np.full(shape, np.nan)
        features[name][query, column] = values
    for name, by_query in extra.items():
        features[name] = np.where(span >= 0, by_query[:, None], -1)
    return span, features


def _union(found: Mapping[str, _Found], spans: int) -> NDArray[np.int64]:
    nothing = np.array([], dtype=np.int64)
    proposed = [one.keys(spans)[~np.isnan(one.rank)] for one in found.values()]
    return np.unique(np.concatenate([nothing, *proposed]))


def _fill_cosines(
    corpus: Corpus,
    asked: Asked,
    query: NDArray[np.int64],
    row: NDArray[np.int64],
    score: NDArray[np.float64],
) -> None:
    """Give the rows of other arms their cosine, where both sides have a direction."""
    if asked.vectors is None or corpus.vectors is None:
        return
    lacks = np.flatnonzero(np.isnan(score))
    lacks = lacks[corpus.directed[row[lacks]] & np.any(asked.vectors, axis=1)[query[lacks]]]
    score[lacks] = cosine_pairs(asked.vectors, corpus.vectors, query[lacks], row[lacks])


def _by_scopes(asked: Asked) -> Iterator[tuple[NDArray[np.int64] | None, NDArray[np.intp]]]:
    """Queries that search the same scopes."""
    groups: dict[bytes | None, list[int]] = {}
    for query, scopes in enumerate(asked.scopes):
        groups.setdefault(None if scopes is None else scopes.tobytes(), []).append(query)
    for queries in groups.values():
        yield asked.scopes[queries[0]], np.array(queries, dtype=np.intp)


def _proposable(asked: Asked, until: NDArray[np.int64], places: NDArray[np.int64]) -> Proposable:
    """What each query may be proposed of the spans at some ``places`` of the timeline."""
    hidden = [np.sort(places[rows]) for rows in asked.withheld]
    hidden = [one[one >= 0] for one in hidden]
    ends = pointers(np.array([one.size for one in hidden], dtype=np.int64))
    nothing = np.array([], dtype=np.int64)
    return Proposable(asked.at, until, np.concatenate([nothing, *hidden]), ends)


def _dense(corpus: Corpus, arm: DenseArm, asked: Asked) -> _Found:
    """A zero vector has no direction: its row, or the whole arm, abstains."""
    worlds, queries = corpus.worlds, asked.at.size
    width = min(arm.proposed(), worlds.until.size)
    if asked.vectors is None or corpus.vectors is None:
        return _Found.of(np.full((queries, 0), -1), np.zeros((queries, 0)))
    line, code = worlds.timeline, worlds.scopes[1]
    until = np.where(corpus.directed, worlds.until, _LONG_GONE)
    rows, scores = np.full((queries, width), -1, np.int64), np.full((queries, width), np.nan)
    for scopes, mine in _by_scopes(asked):
        able = mine[np.any(asked.vectors[mine], axis=1)]
        part = asked.take(able)
        inside = np.arange(line.rows.size)
        if scopes is not None:
            inside = np.flatnonzero(np.isin(code[line.rows], scopes))
        row_of = line.rows[inside]
        places = np.full(until.size, -1, dtype=np.int64)
        places[row_of] = np.arange(row_of.size)
        assert part.vectors is not None
        nearest = nearest_rows(
            part.vectors,
            corpus.vectors[row_of],
            row_of,
            np.searchsorted(inside, part.instants.entered),
            _proposable(part, until[row_of], places),
            width=max(width, 1),
            min_cosine=arm.min_cosine,
        )
        rows[able, : nearest.rows.shape[1]] = nearest.rows
        scores[able, : nearest.rows.shape[1]] = nearest.scores
    return _Found.of(rows, scores)


def _lexical(
    corpus: Corpus, arm: LexicalArm, asked: Asked, peek: NDArray[np.int64]
) -> tuple[_Found, NDArray[np.float64]]:
    """Return what the arm proposes, and its scores at keys (query, row) of other arms."""
    assert corpus.index is not None
    queries, spans = asked.at.size, corpus.worlds.until.size
    width = min(arm.width, spans)
    rows, scores = np.full((queries, width), -1, np.int64), np.zeros((queries, width))
    peeked = np.zeros(peek.size)
    index, looked = corpus.index, [corpus.index.asked(text) for text in asked.texts["lexical"]]
    scoped = np.array([scopes is not None for scopes in asked.scopes], dtype=np.bool_)
    for postings in dict.fromkeys([index.postings, index.every_word]):
        for by_scope in (False, True):
            chosen = scoped == by_scope
            chosen &= np.array([one is postings for one, _ in looked], dtype=np.bool_)
            mine = np.flatnonzero(chosen)
            if postings is None or not mine.size:
                continue
            words = [looked[query][1] for query in mine.tolist()]
            at = np.flatnonzero(chosen[peek // max(spans, 1)])
            keys = np.searchsorted(mine, peek[at] // spans) * spans + peek[at] % spans
            part = asked.take(mine)
            told = _walked(corpus, postings, arm, part, words, keys, by_scope=by_scope)
            peeked[at] = told[2]
            rows[mine, : told[0].shape[1]], scores[mine, : told[1].shape[1]] = told[:2]
    return _Found.of(rows, scores), peeked


def _walked(
    corpus: Corpus,
    postings: PostingIndex,
    arm: LexicalArm,
    asked: Asked,
    words: Sequence[Sequence[str]],
    peek: NDArray[np.int64],
    *,
    by_scope: bool,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return rows, scores and what was peeked at, for queries of one kind."""
    worlds, queries = corpus.worlds, asked.at.size
    line, spans = worlds.timeline, worlds.until.size
    index = DatedPostings.build(postings, line, worlds.scopes[1] if by_scope else None)
    scopes = [one for one in asked.scopes if one is not None] if by_scope else None
    stretches = index.stretches(words, asked.instants, scopes)
    # A store counts words over all rows it holds, whoever asks.
    everywhere = worlds.admit.statistics == "store"
    statistics = index.statistics(stretches, asked.instants, scopes, everywhere=everywhere)
    may = _proposable(asked, worlds.until[line.rows], line.places)
    width = max(min(arm.width, spans), 1)
    every = None if arm.match == "any" else stretches.distinct
    ends = np.searchsorted(peek, np.arange(queries + 1) * spans)
    found = walk(
        index, stretches, statistics, may, width=width, k1=arm.k1, b=arm.b, every=every,
        peek=line.places[peek % max(spans, 1)], peek_ptr=ends,
    )  # fmt: skip
    if arm.match == "all_then_any":
        few = (found.rows >= 0).sum(axis=1) < arm.width
        some = walk(
            index, stretches, statistics, may, width=width, k1=arm.k1, b=arm.b,
            every=np.where(few, 0, stretches.distinct),
        )  # fmt: skip
        return some.rows, some.scores, found.peeked
    return found.rows, found.scores, found.peeked


def _substring(corpus: Corpus, arm: SubstringArm, asked: Asked) -> tuple[_Found, NDArray[np.int64]]:
    """Return what the arm proposes, and by which of its ways each query was answered."""
    assert corpus.substrings is not None
    worlds, queries = corpus.worlds, asked.at.size
    found: list[_Found] = []
    mode = np.zeros(queries, np.int64)
    for query, (when, scopes) in enumerate(zip(asked.at.tolist(), asked.scopes, strict=True)):
        alive = worlds.alive(when)
        world = alive if scopes is None else alive & np.isin(worlds.scopes[1], scopes)
        allowed = worlds.current(when, world)
        allowed[asked.withheld[query]] = False
        counted = world if worlds.admit.statistics == "world" else alive
        hits = corpus.substrings.search(
            asked.texts["substring"][query], world=counted, allowed=allowed
        )
        mode[query] = MODES.index(hits.mode)
        rank = np.arange(1.0, hits.rows.size + 1)
        rank[arm.width :] = np.nan
        found.append(_Found(np.full(hits.rows.size, query), hits.rows, hits.occurrences, rank))
    return _joined(found), mode


def _joined(found: Sequence[_Found]) -> _Found:
    if not found:
        return _Found.of(np.full((0, 0), -1), np.zeros((0, 0)))
    return _Found(
        np.concatenate([one.query for one in found]),
        np.concatenate([one.row for one in found]),
        np.concatenate([one.score for one in found]),
        np.concatenate([one.rank for one in found]),
    )
