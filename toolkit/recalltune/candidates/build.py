"""From the store to a candidate table, every query against the memory as it stood then."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.arms import propose
from recalltune.candidates.asked import Asked
from recalltune.candidates.corpus import corpus_of
from recalltune.candidates.expand import expanded
from recalltune.candidates.features import features_of, use_times
from recalltune.candidates.in_prompt import held_back, rows_in_prompt
from recalltune.candidates.labels import judgeable, of_queries, spoken_for, without_memory
from recalltune.candidates.settings import Admit, Arms
from recalltune.candidates.table import (
    DEGRADED,
    NO_DENSE_ARM,
    QUERY_COLUMNS,
    Candidates,
    Stamp,
)
from recalltune.candidates.world import SpanTable, Worlds, in_scope
from recalltune.encode import Encoder, resolve, vectors_for
from recalltune.errors import ParameterError, nearest
from recalltune.rank.nearest import pad_lanes
from recalltune.rank.substring import MODES
from recalltune.rank.text_index import TextIndex
from recalltune.store import (
    Lab,
    data_digest,
    latest_event_at,
    read_accesses,
    read_cases,
    read_labels,
    read_spans,
    read_turns,
)

__all__ = ["ask", "candidates", "candidates_for", "refuse_empty_scope"]


class Setup(Protocol):
    """What a candidate table needs of a config."""

    @property
    def admit(self) -> Admit: ...
    @property
    def arms(self) -> Arms: ...
    @property
    def setup(self) -> str: ...


def candidates(
    lab: Lab, cases: str, config: Setup, *, encoder: Encoder | str | None = None
) -> Candidates:
    """Return the candidate table of a case set: one row per (case, memory), as of the case's time.

    Parameters
    ----------
    lab
        An open lab.
    cases
        Name of a case set in it.
    config
        Its admit and arms decide; its stages are not read.
    encoder
        An encoder or its name; None takes the best one installed.

    Raises
    ------
    ContractError
        If there is no such case set.
    ParameterError
        If a dense-only config finds no encoder.
    """
    with lab.reading() as con:
        frame = read_cases(con, cases)
        labels = read_labels(con, cases)
        newest = (latest_event_at(con) or 0) + 1
    queries = frame.select(
        pl.col("case_id").alias("query_id"),
        pl.col("query").alias("text"),
        # A case without a time of its own is asked just after the newest event.
        pl.col("asked_at").fill_null(newest),
        *(pl.col(name) for name in list(QUERY_COLUMNS)[3:]),
    ).sort("query_id")
    expectations = {
        row["case_id"]: json.loads(row["expectations"] or "{}") for row in frame.to_dicts()
    }
    labels = labels.rename({"case_id": "query_id"})
    return candidates_for(
        lab, queries, config, encoder=encoder, labels=labels, expectations=expectations
    )


def ask(
    lab: Lab,
    text: str,
    config: Setup,
    *,
    at: int | None = None,
    scope: str | None = None,
    encoder: Encoder | str | None = None,
) -> Candidates:
    """Return the candidate table of one typed query.

    Parameters
    ----------
    lab, config, encoder
        As in `candidates`.
    text
        What is asked.
    at
        Microseconds since 1970 UTC; by default just after the newest event of the data.
    scope
        Scope that is searched; None searches every scope.

    Returns
    -------
    Candidates
        One row, with the query_id ``query``.

    Raises
    ------
    ParameterError
        If a dense-only config finds no encoder, or no told memory is in the scope.
    """
    if at is None:
        with lab.reading() as con:
            at = (latest_event_at(con) or 0) + 1
    row: dict[str, Any] = dict.fromkeys(QUERY_COLUMNS)
    row |= {"query_id": "query", "text": text, "asked_at": at, "scope": scope}
    queries = pl.DataFrame([row], schema=dict(QUERY_COLUMNS))
    if not text.strip():
        raise ParameterError("text must ask something, got nothing but space")
    for name, given in (("text", text), ("scope", scope or "")):
        if not given.isprintable() and any("\ud800" <= one <= "\udfff" for one in given):
            message = f"{name} must be Unicode text; it holds bytes that are not UTF-8"
            raise ParameterError(message)
    table = candidates_for(lab, queries, config, encoder=encoder)
    refuse_empty_scope(table, scope, config)
    return table


def refuse_empty_scope(table: Candidates, scope: str | None, config: Setup) -> None:
    """Refuse a scope in which no memory was ever told to anyone.

    Raises
    ------
    ParameterError
        If there is none; the message names the nearest scope.
    """
    if scope is None:
        return
    known = table.spans["scope"].drop_nulls().unique().to_list()
    if not in_scope(np.array(known, dtype=np.str_), scope, config.admit.scope_match).any():
        message = f"scope {scope!r} holds no memory; {nearest(scope, known)}"
        raise ParameterError(message)


def candidates_for(
    lab: Lab,
    queries: pl.DataFrame,
    config: Setup,
    *,
    encoder: Encoder | str | None = None,
    labels: pl.DataFrame | None = None,
    expectations: Mapping[str, Any] | None = None,
) -> Candidates:
    """Return the candidate table of any queries.

    Parameters
    ----------
    lab, config, encoder
        As in `candidates`.
    queries
        Q rows with the columns of QUERY_COLUMNS; ``asked_at`` is set in each.
    labels
        query_id, memory_id, role, grade, place: what the queries should, and should not, find.
        Labels of a query that is not asked are left out and counted.
    expectations
        query_id -> what is expected beyond labels.
    """
    labels, of_no_case = of_queries(labels, queries)
    with lab.reading() as con:
        spans = SpanTable.of(read_spans(con), config.admit.audience)
        accesses = _seen_by(config.admit.audience, read_accesses(con))
        hides_turns = config.admit.in_prompt == "hide_turns"
        turns = read_turns(con) if hides_turns else pl.DataFrame()
        data = data_digest(con)
    worlds = Worlds(spans, config.admit)
    labels, of_copies = spoken_for(labels, queries, worlds)
    chosen = _encoder(encoder, config.arms)
    corpus = corpus_of(lab, worlds, config.arms, chosen)
    read = _read(config.arms, queries["text"].to_list())
    asked, unkept = None, corpus.notices.get("vectors_not_kept", 0)
    if chosen is not None and corpus.vectors is not None:
        encoded = vectors_for(lab, chosen, read["dense"], "query")
        asked, unkept = pad_lanes(encoded.vectors), unkept + encoded.unkept
    in_prompt = rows_in_prompt(config.admit, spans.frame, queries, turns)
    as_asked = Asked.of(worlds, queries, read, in_prompt, asked)
    span, table = propose(corpus, config.arms, as_asked)
    at = np.broadcast_to(as_asked.at[:, None], span.shape)
    features, codes, notices = features_of(spans, span, at, accesses)
    if config.arms.substring is not None:
        codes["substring_mode"] = MODES
    notices |= {
        "abstained_queries": _abstained(asked, queries.height),
        "wordless_queries": _wordless(corpus.index, queries["text"].to_list()),
        "expanded_queries": _widened(read, queries["text"].to_list()),
        "labels_of_no_memory": without_memory(labels, queries, spans),
        "labels_of_copies": of_copies,
        "same_instant": worlds.same_instant(as_asked.at, as_asked.scopes),
        "store_statistics": _counting_others(worlds, as_asked),
        "in_prompt": held_back(in_prompt, worlds, as_asked.at, as_asked.scopes),
    }
    return Candidates(
        queries=queries,
        spans=spans.frame,
        span=span,
        features={**table, **features},
        codes=codes,
        vectors=corpus.vectors,
        corpus=corpus,
        asked=asked,
        in_prompt=in_prompt,
        token_sets=corpus.token_sets,
        uses=use_times(spans.frame, accesses),
        labels=judgeable(labels, queries, spans),
        expectations=expectations or {},
        stamp=Stamp(
            setup=config.setup,
            data=data[:8],
            encoder=_told(chosen, config.arms),
            vectors="" if asked is None else _sha(asked, corpus.vectors),
        ),
        corpus_notices=corpus.notices
        | {"vectors_not_kept": unkept, "labels_of_no_case": of_no_case},
        query_notices=notices,
    )


def _encoder(encoder: Encoder | str | None, arms: Arms) -> Encoder | None:
    if arms.dense is None:
        return None
    chosen, reason = (encoder, "") if not isinstance(encoder, str | None) else resolve(encoder)
    if chosen is None and arms.names == ("dense",):
        message = f"arms.dense is the only arm and no encoder can run: {reason}"
        raise ParameterError(message)
    return chosen


def _abstained(asked: NDArray[np.float32] | None, queries: int) -> NDArray[np.int64]:
    """Shape (Q,), 1 where a query has no direction and so no dense proposal."""
    silent = np.zeros(queries, dtype=np.int64)
    if asked is not None:
        silent[~asked.any(axis=1)] = 1
    return silent


def _counting_others(worlds: Worlds, asked: Asked) -> NDArray[np.int64]:
    """Shape (Q,), 1 where words are counted over scopes that are not searched."""
    told = zip(asked.at.tolist(), asked.scopes, strict=True)
    return np.array([worlds.counts_others(at, scopes) for at, scopes in told], dtype=np.int64)


def _read(arms: Arms, texts: Sequence[str]) -> dict[str, list[str]]:
    """Arm -> the texts it searches with."""
    return {arm: [expanded(text, arms.expansions, arm=arm) for text in texts] for arm in arms.names}


def _widened(read: Mapping[str, Sequence[str]], texts: Sequence[str]) -> NDArray[np.int64]:
    """Shape (Q,), 1 where some arm searches with more than the query."""
    by_query = zip(*read.values(), strict=True)
    wider = [any(one != text for one in ones) for ones, text in zip(by_query, texts, strict=True)]
    return np.array(wider, dtype=np.int64)


def _wordless(index: TextIndex | None, queries: Sequence[str]) -> NDArray[np.int64]:
    """Shape (Q,), 1 where a query holds nothing that the lexical arm could look up."""
    silent = [index is not None and not index.asked(text)[1] for text in queries]
    return np.array(silent, dtype=np.int64)


def _seen_by(audience: str, accesses: pl.DataFrame) -> pl.DataFrame:
    """Uses that this audience may know of: who recalled what is private too."""
    return accesses.filter(pl.col("audience").is_in(["everyone", audience]))


def _told(encoder: Encoder | None, arms: Arms) -> str:
    if arms.dense is None:
        return NO_DENSE_ARM
    return DEGRADED if encoder is None else encoder.encoder_id


def _sha(*arrays: NDArray[Any] | None) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(b"" if array is None else array.tobytes())
    return digest.hexdigest()[:8]
