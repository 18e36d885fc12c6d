"""Evaluation cases into the lab: ids resolved, splits drawn, nothing lost without a word.

In: a case file and the memories of the lab. Out: rows of ``eval_case`` and ``label``, and a
report that counts what was assumed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import polars as pl

from recalltune.errors import ContractError, ParameterError, SourceError
from recalltune.evaluate.case_file import EvalCase, in_utc, listed, read_case_file
from recalltune.evaluate.case_ids import flat_targets, with_full_ids
from recalltune.evaluate.splits import Split, hold_out
from recalltune.ingest.reader import file_digest
from recalltune.store import (
    EvalCaseRow,
    IngestFile,
    Lab,
    Label,
    Row,
    forget_file,
    insert_rows,
    latest_event_at,
    read_table,
)

__all__ = ["CaseReport", "load_cases"]

FORMAT = "eval-cases"
Role = Literal["target", "hard_negative", "expected_order"]


@dataclass(frozen=True)
class CaseReport:
    """What one case file brought, and what was assumed about it."""

    case_set: str
    file: str
    cases: int
    labels: int
    sessions: int
    """Clusters: sessions, and cases without one."""
    tune: int
    held_out: int
    without_time: int
    """Cases asked just after the newest event of the data."""
    newest_event_us: int | None
    """That event, microseconds since 1970 UTC; none if the data have no time."""
    expects_nothing: tuple[str, ...]
    """Cases that say nothing that could be judged."""
    kinds: Mapping[str, int]

    def __str__(self) -> str:
        lines = [
            f"{self.cases} cases with {self.labels} labels from {self.file} into "
            f"{self.case_set!r}: {self.tune} to tune on, {self.held_out} held out, "
            f"{self.sessions} sessions"
        ]
        if self.without_time:
            lines.append(f"{self.without_time} without a time: asked just after the newest event")
        if self.expects_nothing:
            lines.append(f"{len(self.expects_nothing)} expect nothing that could be judged")
        return "\n".join(lines)


def load_cases(lab: Lab, path: str | PathLike[str], *, case_set: str) -> CaseReport:
    """Read a case file into the lab; loading the same file again replaces its cases.

    Parameters
    ----------
    lab
        An open lab that holds the memories the cases name.
    path
        A JSON array of cases, see `EvalCase`.
    case_set
        Name of the set the cases belong to.

    Returns
    -------
    CaseReport
        Counts, also of what was assumed.

    Raises
    ------
    SourceError
        With ``file:line:`` for every problem: format, names used twice, ids that name no memory
        or several, a session in both splits.
    ParameterError
        If ``case_set`` is empty.
    """
    if not case_set:
        raise ParameterError("case_set must be a name of at least one character, got ''")
    file = Path(path)
    if not file.is_file():
        msg = f"{file}:1: is not a file"
        raise SourceError(msg)
    entries = read_case_file(file)
    # One file may serve several sets; the key says which rows a second load replaces.
    key = f"{file.resolve().as_posix()}#{case_set}"
    with lab.reading() as con:
        memory_ids = sorted(read_table(con, "memory")["memory_id"].to_list())
        spans = read_table(con, "memory_span")
        there = read_table(con, "eval_case", case_set=case_set).rows(named=True)
        newest = latest_event_at(con)
    others = [row for row in there if row["file"] != key]

    told = spans.filter(~pl.col("gated") | pl.col("told_at").is_not_null())["memory_id"]
    unnamed = set(memory_ids) - set(told.to_list())
    taken = {row["case_id"] for row in others}
    resolved = _resolved(file, entries, memory_ids, taken, unnamed)
    splits = _splits(file, resolved, others)
    rows: list[Row] = []
    for case, split in zip(resolved, splits, strict=True):
        rows.append(_case_row(case, split, case_set, key))
        rows.extend(_labels(case, case_set, key))
    with lab.writing() as con:
        forget_file(con, key)
        insert_rows(con, [*rows, _file_row(file, key, case_set, len(resolved))])
    return CaseReport(
        case_set=case_set,
        file=file.name,
        cases=len(resolved),
        labels=len(rows) - len(resolved),
        sessions=len({_cluster(case) for case in resolved}),
        tune=splits.count("tune"),
        held_out=splits.count("held_out"),
        without_time=sum(case.at is None for case in resolved),
        newest_event_us=newest,
        expects_nothing=tuple(case.name for case in resolved if case.expects_nothing),
        kinds=dict(sorted(Counter(case.kind or "none" for case in resolved).items())),
    )


def _resolved(
    file: Path,
    entries: Sequence[tuple[int, EvalCase]],
    memory_ids: list[str],
    taken: set[str],
    unnamed: set[str],
) -> list[EvalCase]:
    cases, problems = [], []
    for line, case in entries:
        try:
            if case.name in taken:
                msg = "name is used already by another file of this case set"
                raise ParameterError(msg)
            cases.append(with_full_ids(case, memory_ids, unnamed=unnamed))
        except ParameterError as error:
            problems.append(f"{file}:{line}: case {case.name!r}: {error}")
    if problems:
        raise SourceError(listed(problems))
    return cases


def _cluster(case: EvalCase) -> str:
    # A case without a session stands for itself; the prefix keeps it off a session of that name.
    return f"session {case.session}" if case.session else f"case {case.name}"


def _splits(
    file: Path, cases: Sequence[EvalCase], others: Sequence[Mapping[str, Any]]
) -> list[Split]:
    sessions = [_cluster(case) for case in cases]
    given: list[Split | None] = [case.split for case in cases]
    for row in others:
        sessions.append(f"session {row['session']}" if row["session"] else f"case {row['case_id']}")
        given.append(row["split"])
    try:
        return hold_out(sessions, given)[: len(cases)]
    except ContractError as error:
        msg = f"{file}:1: {error}"
        raise SourceError(msg) from None


def _case_row(case: EvalCase, split: Split, case_set: str, key: str) -> EvalCaseRow:
    expectations: dict[str, Any] = {"expectTopK": case.expect_top_k}
    optional = {
        "expectContentAny": case.expect_content_any,
        "forbid": case.forbid,
        "notes": case.notes,
        "alternatives": [target for target in case.targets if not isinstance(target, str)],
    }
    for name, value in optional.items():
        if value:
            expectations[name] = value if isinstance(value, str) else _lists(value)
    return EvalCaseRow(
        case_set=case_set,
        case_id=case.name,
        query=case.query,
        asked_at=in_utc(case.at),
        scope=case.scope,
        profile=case.profile,
        top_k=case.limit,
        session=case.session,
        kind=case.kind,
        lang=case.lang,
        split=split,
        expectations=expectations,
        file=key,
    )


def _labels(case: EvalCase, case_set: str, key: str) -> Iterator[Label]:
    def label(memory: str, role: Role, grade: int, place: int | None = None) -> Label:
        return Label(
            case_set=case_set,
            case_id=case.name,
            memory_id=memory,
            role=role,
            grade=grade,
            place=place,
            file=key,
        )

    for memory in flat_targets(case):
        yield label(memory, "target", case.grades.get(memory, 1))
    for memory in case.hard_negatives:
        yield label(memory, "hard_negative", 0)
    for place, memory in enumerate(case.expect_order, 1):
        yield label(memory, "expected_order", 0, place)


def _file_row(file: Path, key: str, case_set: str, cases: int) -> IngestFile:
    return IngestFile(
        path=key,
        sha256=file_digest(file),
        format=FORMAT,
        settings=f"case_set={case_set}",
        records=cases,
        kept=cases,
        dropped=0,
    )


def _lists(value: Any) -> Any:
    return [_lists(item) for item in value] if isinstance(value, list | tuple) else value
