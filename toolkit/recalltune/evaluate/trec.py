"""Judgements and runs to the files that trec_eval and its like read.

Both are written whole or not at all, of mode 0600, the same bytes for the same input. Importing
them (`trec_qrels`, `trec_run`) gives the same judgements and the same lists again.

References
----------
NIST, trec_eval: ``query 0 document grade``; ``query Q0 document rank score tag``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl

from recalltune.errors import ContractError, ParameterError
from recalltune.evaluate.run import Evaluation
from recalltune.ingest.formats.trec_run import as_trec_orders
from recalltune.ingest.whole_file import write_whole
from recalltune.store import Lab, read_cases, read_labels

__all__ = ["write_qrels", "write_run"]

_COLUMNS = ("query_id", "rank", "memory_id", "score")


def write_qrels(lab: Lab, case_set: str, path: str | os.PathLike[str]) -> Path:
    """Write the judgements of a case set, by query and document, and return the path.

    A target is written with its grade, a hard negative with 0. A place in an expected order is no
    judgement, and a case without any has no line.

    Parameters
    ----------
    lab
        An open lab.
    case_set
        Name of a case set in it.
    path
        The file, new or to be replaced; its folder is there.

    Raises
    ------
    ContractError
        If there is no such case set, or an id cannot be a field: it holds a blank or a control
        character.
    ParameterError
        If the path is a link, no plain file, or in a folder that is not there.
    """
    with lab.reading() as con:
        read_cases(con, case_set)
        labels = read_labels(con, case_set)
    judged = (
        labels.filter(pl.col("role") != "expected_order")
        .group_by("case_id", "memory_id")
        .agg(pl.col("grade").filter(pl.col("role") == "target").max().fill_null(0))
        .sort("case_id", "memory_id")
    )
    _check("case_id", judged["case_id"])
    _check("memory_id", judged["memory_id"])
    lines = (f"{case} 0 {memory} {grade}\n" for case, memory, grade in judged.iter_rows())
    return write_whole(path, "".join(lines).encode())


def write_run(
    found: Evaluation | pl.DataFrame, path: str | os.PathLike[str], *, tag: str = "recalltune"
) -> Path:
    """Write what every query was shown, by query and rank, and return the path.

    trec_eval reads no ranks: it orders by score. Scores are written as they are if that gives the
    lists that were shown, for all queries; else, as where a stage reordered them or two are equal,
    every score of the file is the number of places from the end of its list.

    Parameters
    ----------
    found
        An evaluation, or hits: query_id, rank (from 1), memory_id, score.
    path
        The file, new or to be replaced; its folder is there.
    tag
        Name of the run.

    Raises
    ------
    ContractError
        If a column is missing, a list shows a memory twice or has a gap in its ranks, or an id
        cannot be a field: it holds a blank or a control character.
    ParameterError
        If the tag cannot be a field, or the path is a link, no plain file, or in a folder that is
        not there.
    """
    if not _is_field(tag):
        msg = f"tag must be one word of printable characters, got {tag!r}; such as 'recalltune'"
        raise ParameterError(msg)
    hits = found.hits if isinstance(found, Evaluation) else found
    if missing := [name for name in _COLUMNS if name not in hits.columns]:
        msg = f"hits must have the columns {', '.join(_COLUMNS)}, got none called {missing[0]}"
        raise ContractError(msg)
    hits = hits.select(_COLUMNS).sort("query_id", "rank")
    _check("query_id", hits["query_id"])
    _check("memory_id", hits["memory_id"])
    lists = list(_lists(hits))
    told = all(_tells_the_order(memories, scores) for _, memories, scores in lists)
    lines = [
        f"{query} Q0 {memory} {place} {score if told else len(memories) - place + 1} {tag}\n"
        for query, memories, scores in lists
        for place, (memory, score) in enumerate(zip(memories, scores, strict=True), start=1)
    ]
    return write_whole(path, "".join(lines).encode())


def _lists(hits: pl.DataFrame) -> Iterator[tuple[str, list[str], list[float | None]]]:
    """Query, its memories best first, their scores."""
    for (query,), part in hits.group_by("query_id", maintain_order=True):
        memories = part["memory_id"].to_list()
        if len(set(memories)) < len(memories):
            again = next(name for name in memories if memories.count(name) > 1)
            msg = f"query {query!r} shows memory {again!r} twice"
            raise ContractError(msg)
        if part["rank"].to_list() != list(range(1, len(memories) + 1)):
            msg = f"ranks of query {query!r} must run from 1 to {len(memories)}"
            raise ContractError(msg)
        yield str(query), memories, part["score"].to_list()


def _tells_the_order(memories: list[str], scores: list[float | None]) -> bool:
    known = {name: score for name, score in zip(memories, scores, strict=True) if score is not None}
    return len(known) == len(memories) and as_trec_orders(known) == memories


def _check(column: str, names: Iterable[str]) -> None:
    for name in names:
        if not _is_field(name):
            msg = (
                f"{column} must be one word of printable characters to be a field of a TREC file, "
                f"got {name!r}"
            )
            raise ContractError(msg)


def _is_field(name: str) -> bool:
    # Control characters include the marks that some readers cut off, and all blanks but one.
    return bool(name) and name.isprintable() and " " not in name
