"""Frames for the question when diversity is worth it: flooding, MMR by hand, and who did it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.table import Candidates
from recalltune.charts import Finding
from recalltune.encode import resolve
from recalltune.evaluate.ablation import IMPORTANCES, ablation, list_of
from recalltune.evaluate.run import Evaluation
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.run import run, start
from recalltune.pipeline.stage import State
from recalltune.pipeline.stages import Block, Defer, Diversify, Select
from recalltune.pipeline.stages.arrange import pool_similarity
from recalltune.rank import jaccard
from recalltune.rank.tokens import TOKENIZERS
from recalltune.widgets.companions import Shelf
from recalltune.widgets.grids import ListGrid
from recalltune.widgets.tables import Table

__all__ = [
    "SIZES",
    "flooding",
    "importance_grid",
    "likeness",
    "mmr_steps",
    "most_flooded",
    "who_acts",
    "with_deferral",
    "without_the_weakest",
]

PLACES = 10
POOL = 50
"""Places that take part in a deferral, as many as in MMR."""
NEAR = 0.85
"""Cosine above which RecallNest defers a memory as a near-duplicate."""
SIZES = ("none", "2 or 3", "4 or more")
"""Sizes of the largest cluster in a list."""
_SIZE_OF = {size: SIZES[(size > 1) + (size > 3)] for size in range(1, PLACES + 1)}
COMPARED = ("words_cjk_bigrams", "openclaw_main", "plain")
"""Tokenisers whose token sets are compared."""


def with_deferral(config: RankingConfig) -> RankingConfig:
    """Return the config with a stage ``defer`` before its selection, at a threshold that is off."""
    at = next(n for n, stage in enumerate(config.stages) if isinstance(stage, Select))
    off = Defer(name="defer", threshold=1.0, pool=POOL)
    return config.with_(stages=(*config.stages[:at], off, *config.stages[at:]))


def flooding(candidates: Candidates, evaluated: Evaluation) -> tuple[pl.DataFrame, Finding]:
    """How many of the first ten places near-duplicates take, as a count of cases.

    Returns
    -------
    tuple[pl.DataFrame, Finding]
        row (kind of question), column (size of the largest cluster, in `SIZES`), n (cases). A
        cluster is a memory with all that are nearer to it than `NEAR`. And the count as a title.
    """
    size = _clusters(candidates, evaluated.config)
    frame = pl.DataFrame(
        {"row": candidates.queries["kind"].fill_null("not said"), "size": size}
    ).filter(pl.col("size") > 0)
    values = {
        "flooded": frame.filter(pl.col("size") > 1).height,
        "cases": frame.height,
        "most": int(frame["size"].max() or 0),  # type: ignore[arg-type]
        "places": PLACES,
    }
    template = (
        "{flooded:count} of {cases:count} lists hold near-duplicates, up to {most:count} of the "
        "first {places:count}"
    )
    counts = (
        frame.with_columns(
            pl.col("size").replace_strict(_SIZE_OF, return_dtype=pl.String).alias("column")
        )
        .group_by("row", "column")
        .agg(pl.len().cast(pl.Int64).alias("n"))
        .sort("row", "column")
    )
    return counts, Finding(template, values, "exact")


def most_flooded(candidates: Candidates, evaluated: Evaluation) -> str:
    """Return the case with the largest cluster of near-duplicates; of equals, the first."""
    size = _clusters(candidates, evaluated.config)
    return str(candidates.queries["query_id"][int(size.argmax())])


def _clusters(candidates: Candidates, config: RankingConfig) -> NDArray[np.int64]:
    order = run(candidates, config).listed()[:, :PLACES]
    there = order >= 0
    near = pool_similarity(candidates, np.maximum(order, 0), "cosine") > NEAR
    near |= np.eye(order.shape[1], dtype=np.bool_)
    near &= there[:, :, None] & there[:, None, :]
    size: NDArray[np.int64] = near.sum(axis=2).max(axis=1, initial=0)
    return size


def mmr_steps(
    candidates: Candidates,
    config: RankingConfig,
    query_id: str,
    *,
    rounds: int = 6,
    gloss: Mapping[str, str] | None = None,
) -> Table:
    """MMR by hand: what each round compares and picks.

    Parameters
    ----------
    candidates
        Made for ``config``.
    config
        With a stage ``mmr`` of lambda below 1.
    query_id
        One case.
    rounds
        How many rounds from the first.
    gloss
        memory_id -> English, shown beside a text in another language.

    Returns
    -------
    Table
        round, rank_before, relevance (min-maxed over the pool), largest_similarity (to anything
        picked), value, picked (text).
    """
    one = candidates.take([candidates.position(query_id)])
    stage = next(stage for stage in config.stages if isinstance(stage, Diversify))
    before = _applied(one, config.stages[: config.stages.index(stage)], start(one))
    pool = before.listed()[0][: stage.pool]
    pool = pool[pool >= 0]
    picked = stage.apply(before, one).listed()[0][: pool.size]
    score = before.score[0][pool]
    relevance = dict(zip(pool.tolist(), _stretched(score).tolist(), strict=True))
    alike = pool_similarity(one, picked[None, :], stage.similarity)[0]
    texts = {column: str(one.spans["text"][int(one.span[0, column])]) for column in pool.tolist()}
    english = {memory_id: f" ({said})" for memory_id, said in (gloss or {}).items()}
    rows = []
    for place, column in enumerate(picked[:rounds].tolist()):
        near = float(alike[place, :place].max()) if place else 0.0
        rows.append(
            {
                "round": place + 1,
                "rank_before": int(np.flatnonzero(pool == column)[0]) + 1,
                "relevance": relevance[column],
                "largest_similarity": near,
                "value": stage.lambda_ * relevance[column] - (1.0 - stage.lambda_) * near,
                "picked": texts[column] + english.get(one.memory_id(0, column), ""),
            }
        )
    title = f"value = {stage.lambda_:g} × relevance − {1 - stage.lambda_:g} × largest similarity"
    return Table(pl.DataFrame(rows), title)


def _stretched(score: NDArray[np.float64]) -> NDArray[np.float64]:
    spread = float(np.ptp(score))
    return (score - score.min()) / spread if spread else np.ones_like(score)


def _applied(candidates: Candidates, stages: Sequence[Any], state: State) -> State:
    for stage in stages:
        state = stage.apply(state, candidates)
    return state


def without_the_weakest(shelf: Shelf, query: str, config: RankingConfig) -> Table:
    """One list with all candidates, and with all but the weakest: place, all, without.

    The weakest is in neither list; what it changes is the range that relevance is stretched over.
    """
    table = shelf.ask(query, config)
    scored = [stage for stage in config.stages if stage.form == "score"]
    score = _applied(table, scored, start(table)).score[0]
    weakest = int(np.where(table.valid[0], score, np.inf).argmin())
    alive = table.valid.copy()
    alive[0, weakest] = False
    listing = [stage for stage in config.stages if not isinstance(stage, Block)]
    state = _applied(table, listing, start(table).then(alive=alive))
    less = [table.memory_id(0, int(column)) for column in state.listed()[0] if column >= 0]
    said = {name: span["gist"] or span["text"] for name, span in table.seen_by(0).items()}
    lists = {"with_all": list_of(table, config, "query"), "without_the_weakest": less}
    places = max(len(ids) for ids in lists.values())
    frame = pl.DataFrame(
        {
            "place": range(1, places + 1),
            **{
                name: [said[one] for one in ids] + [None] * (places - len(ids))
                for name, ids in lists.items()
            },
        }
    )
    return Table(frame, f"The weakest candidate: {said[table.memory_id(0, weakest)]}")


def importance_grid(
    shelf: Shelf, *queries: str, config: RankingConfig, lambdas: Sequence[float] = (0.7, 1.0)
) -> ListGrid:
    """The list of some questions under each importance and each lambda, and which of them acts.

    Parameters
    ----------
    shelf
        A corpus whose repetitions are known.
    queries
        What is asked.
    config
        With the stages ``salience`` and ``mmr``.
    lambdas
        A value below 1, and 1.
    """
    parts = []
    for query in queries:
        table = shelf.ask(query, config)
        frame = ablation(table, config, "query", lambdas=lambdas, english=shelf.english)
        words = shelf.companion.words
        name = f"{query} ({words[query]})" if query in words else query
        parts.append((who_acts(frame, name, lambdas), frame))
    return ListGrid(parts)


def who_acts(frame: pl.DataFrame, query: str, lambdas: Sequence[float]) -> Finding:
    """Say how many repetitions importance and MMR each take out of a list when alone.

    Parameters
    ----------
    frame
        From `evaluate.ablation.ablation`, with the first and the last of `IMPORTANCES`.
    query
        What was asked.
    lambdas
        The two values in ``frame``; the larger one is without MMR.
    """
    mmr, plain = min(lambdas), max(lambdas)
    full, bare = IMPORTANCES[0], IMPORTANCES[-1]

    def again(importance: str, lambda_: float) -> int:
        mine = (pl.col("importance") == importance) & (pl.col("lambda_") == lambda_)
        return frame.filter(mine)["same_as"].drop_nulls().len()

    neither = again(bare, plain)
    values = {
        "query": query,
        "neither": neither,
        "importance": again(full, plain),
        "mmr": again(bare, mmr),
        "both": again(full, mmr),
    }
    if not any(values[name] for name in ("neither", "importance", "mmr", "both")):
        first = frame.filter(pl.col("place") == 1)
        by = {
            "importance": first.filter(pl.col("lambda_") == plain),
            "mmr": first.filter(pl.col("importance") == bare),
        }
        values |= {name: part["memory_id"].n_unique() for name, part in by.items()}
        template = (
            "{query}: {neither:count} repetitions; different first places: {importance:count} over "
            "importance, {mmr:count} over MMR"
        )
        return Finding(template, values, "exact")
    acts = (values["importance"] != neither, values["mmr"] != neither)
    who = {
        (True, False): "importance acts, MMR does not",
        (False, True): "MMR acts, importance does not",
        (True, True): "each acts alone",
        (False, False): "neither acts alone",
    }[acts]
    template = (
        "{query}, repetitions: {neither:count} with neither, {importance:count} with importance, "
        "{mmr:count} with MMR: " + who
    )
    return Finding(template, values, "exact")


def likeness(
    pairs: Mapping[str, tuple[str, str]], *, tokenisers: Sequence[str] = COMPARED
) -> Table:
    """How alike some pairs of texts are, by vectors and by token sets.

    Parameters
    ----------
    pairs
        What a pair is -> two texts.
    tokenisers
        Names in `rank.TOKENIZERS`.

    Returns
    -------
    Table
        pair, one, other, cosine (empty where no encoder can run), and the Jaccard by each
        tokeniser; a pair of which a tokeniser makes nothing is equal to it, 1.
    """
    chosen, _ = resolve(None)
    rows = []
    for pair, (one, other) in pairs.items():
        cosine = None
        if chosen is not None:
            vectors = chosen.encode([one, other], "passage").astype(np.float64)
            cosine = float(vectors[0] @ vectors[1])
        alike = {
            name: float(jaccard([TOKENIZERS[name](one), TOKENIZERS[name](other)])[0, 1])
            for name in tokenisers
        }
        rows.append({"pair": pair, "one": one, "other": other, "cosine": cosine, **alike})
    decimals = dict.fromkeys(["cosine", *tokenisers], 2)
    return Table(pl.DataFrame(rows), "Cosine, and Jaccard by tokeniser", decimals)
