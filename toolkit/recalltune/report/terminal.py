"""Results as lines of text: at most 100 columns, plain, the same for the shell and for logs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import polars as pl
from tqdm import tqdm

from recalltune.candidates.duplicates import NearDuplicates
from recalltune.candidates.ledger import Hop, ledger_sentences
from recalltune.evaluate.cautions import NOT_INFORMATIVE, UNTRUSTED
from recalltune.evaluate.run import Evaluation
from recalltune.ingest import ImportReport
from recalltune.report.doctor import Finding
from recalltune.report.text import plain, width
from recalltune.sweep.choose import Choice

__all__ = [
    "bar",
    "bytes_bar",
    "choice_lines",
    "copy_lines",
    "degraded_lines",
    "evaluation_lines",
    "finding_lines",
    "import_lines",
    "interval",
    "look_lines",
    "notice_lines",
    "paragraph",
    "table_lines",
    "untrusted_lines",
]

_COLUMNS = 100
SLICED = ("ndcg@10", "recall_all@10", "passed")
"""What a sliced table shows."""


@contextmanager
def bar(total: int, what: str) -> Iterator[Callable[[int], None]]:
    """Show progress on a terminal, nothing elsewhere; hands out the function to advance it."""
    with tqdm(total=total, desc=what, disable=not sys.stderr.isatty(), leave=False) as shown:
        yield lambda done: shown.update(done) and None


@contextmanager
def bytes_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show how many of so many bytes are done; hands out the function that is told both."""
    hidden = not sys.stderr.isatty()
    with tqdm(desc=what, unit="B", unit_scale=True, disable=hidden, leave=False) as shown:

        def reach(done: int, whole: int) -> None:
            shown.total = whole
            shown.update(done - shown.n)

        yield reach


def interval(mean: float | None, lo: float | None, hi: float | None) -> str:
    """Return ``0.602 [0.552, 0.650]``, or a dash where the value is undefined."""
    if mean is None:
        return "-"
    return f"{mean:.3f}" if lo is None or hi is None else f"{mean:.3f} [{lo:.3f}, {hi:.3f}]"


def table_lines(frame: pl.DataFrame, *, limit: int = 60) -> list[str]:
    """Lay out a frame; texts are made harmless and cut so that a line stays within its width."""
    heads = frame.columns
    rows = [[_cell(value) for value in row] for row in frame.head(limit).iter_rows()]
    widths = [
        min(max([width(head), *(width(row[at]) for row in rows)]), 44)
        for at, head in enumerate(heads)
    ]
    right = [dtype.is_numeric() for dtype in frame.dtypes]
    lines = [_line(heads, widths, right), *(_line(row, widths, right) for row in rows)]
    if frame.height > limit:
        lines.append(f"... {frame.height - limit:,} more")
    return lines


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return plain(str(value), columns=44)


def _line(cells: list[str], widths: list[int], right: list[bool]) -> str:
    padded = []
    for cell, wide, to_right in zip(cells, widths, right, strict=True):
        gap = " " * max(wide - width(cell), 0)
        padded.append(gap + cell if to_right else cell + gap)
    return plain("  ".join(padded).rstrip(), columns=160)


def import_lines(report: ImportReport) -> list[str]:
    """Say what an import read, kept and dropped, why, and where to look."""
    total = report.frame.select(pl.col("read", "kept", "dropped", "already").sum()).row(
        0, named=True
    )
    files = "file" if report.frame.height == 1 else "files"
    lines = [
        f"{report.frame.height:,} {files}, {total['read']:,} read = "
        f"{total['kept']:,} kept + {total['dropped']:,} dropped"
        + (f"; {total['already']:,} were in already" if total["already"] else ""),
        "",
        *table_lines(report.by_format()),
    ]
    if report.dropped.height:
        lines += ["", *table_lines(report.reasons())]
    for head, frame in (
        ("parts of what was kept", report.kinds_of_parts()),
        ("secrets redacted", report.redacted),
    ):
        if frame.height:
            told = ", ".join(f"{kind} {count:,}" for kind, count in frame.iter_rows())
            lines += ["", *paragraph(f"{head}: {told}")]
    lines += [""] if report.notices else []
    for notice in report.notices:
        first = report.first_in.get(notice)
        told = f"- {notice}" + (f" (first in {first})" if first else "")
        lines += paragraph(plain(told, columns=40 * _COLUMNS))
    return lines


def paragraph(text: str) -> list[str]:
    """Wrap a text; lines after the first are indented."""
    first, *rest = _wrapped(text, _COLUMNS)
    return [first.strip(), *rest]


def copy_lines(found: NearDuplicates) -> list[str]:
    """Say what a search for near copies found."""
    return paragraph(
        f"near copies: {len(found.pairs):,} of {found.compared:,} memories repeat an earlier one "
        f"and are hidden behind it; {found.kept_apart:,} look alike and differ in a number, a date "
        "or a negation: kept"
    )


def finding_lines(found: Iterable[Finding]) -> list[str]:
    """Say what a doctor found, the worst first, each with its remedy."""
    ranks = {"problem": 0, "note": 1, "ok": 2}
    lines = []
    for finding in sorted(found, key=lambda finding: ranks[finding.verdict]):
        lines += paragraph(plain(f"{finding.verdict}: {finding.what}", columns=4 * _COLUMNS))
        if finding.remedy:
            lines += [f"    -> {line}" for line in paragraph(finding.remedy)]
    return lines


def notice_lines(notices: Iterable[str]) -> list[str]:
    """Say what of a config cannot work as it stands."""
    lines = []
    for told in notices:
        lines += paragraph(f"notice: {told}")
    return lines


def untrusted_lines(result: Evaluation) -> list[str]:
    """Say how much of what is shown has an untrusted origin."""
    untrusted, shown = result.counts.get(UNTRUSTED, 0), result.hits.height
    share = f" ({untrusted / shown:.1%})" if shown else ""
    return [f"untrusted: {untrusted:,} of {shown:,} items shown{share}"]


def _settled(result: Evaluation, summary: pl.DataFrame) -> list[pl.Series]:
    """A column of notes where a cutoff covers all candidates, no column where none does."""
    cases = result.cases.height
    counts = [result.counts.get(NOT_INFORMATIVE + metric, 0) for metric in summary["metric"]]
    notes = [f"not informative: k >= candidates ({n}/{cases})" if n else "" for n in counts]
    return [pl.Series("note", notes)] if any(counts) else []


def degraded_lines(hops: Iterable[Hop]) -> list[str]:
    """Say what a run had to do without, one line each."""
    return [plain(f"degraded: {told}", columns=_COLUMNS) for told in ledger_sentences(hops)]


def evaluation_lines(result: Evaluation, *, by: str | None = None) -> list[str]:
    """Say what a config scored: a line a metric, or a line a slice where asked."""
    head = f"{result.config.name}   config {result.config.fingerprint}   data {result.stamp.data}"
    summary = result.summary(by)
    told = pl.Series(
        "value", [interval(*row) for row in summary.select("mean", "lo", "hi").iter_rows()]
    )
    if by is None:
        shown = summary.select("metric", told, "n", "undefined", *_settled(result, summary))
    else:
        rows = summary.with_columns(told).filter(pl.col("metric").is_in(SLICED))
        shown = rows.pivot("metric", index="slice", values="value", maintain_order=True)
        sizes = result.cases.group_by(pl.col(by).cast(pl.String).fill_null("None")).len()
        shown = shown.join(sizes, left_on="slice", right_on=by, how="left", maintain_order="left")
        shown = shown.select(pl.col("slice").alias(by), pl.col("len").alias("cases"), *SLICED)
    shown_above = (UNTRUSTED, NOT_INFORMATIVE) if by is None else (UNTRUSTED,)
    counted = {k: n for k, n in result.counts.items() if n and not k.startswith(shown_above)}
    lost = counted.pop("relevant_lost_to_decay", None)
    faded = [f"relevant items lost to decay: {lost}"] if lost else []
    counts = ", ".join(f"{name} {n}" for name, n in counted.items())
    return [
        head,
        *table_lines(shown),
        *faded,
        *untrusted_lines(result),
        *notice_lines(result.notices),
        *degraded_lines(result.ledger),
        plain(f"counted: {counts or 'nothing'}", columns=4 * _COLUMNS),
    ]


def choice_lines(
    choice: Choice,
    *,
    look: int = 0,
    columns: int = _COLUMNS,
    ties: Collection[str] | None = None,
) -> list[str]:
    """Say what was decided and on which evidence.

    Parameters
    ----------
    choice
        From `choose`.
    look
        From `record_look`: how many decisions these held-out cases have been scored for.
    columns
        Width of a line.
    ties
        Addresses whose tie range is told; None tells all of them.
    """
    lines = ["CHANGE" if choice.changes else "KEEP the default"]
    lines += [
        f"  {address} {_cell(old)} -> {_cell(new)}"
        for address, (old, new) in choice.changes.items()
    ]
    lines += _wrapped(choice.sentence(), columns)
    if look > 1:
        lines += look_lines(look, columns=columns)
    for address, values in choice.tie_ranges.items():
        if ties is None or address in ties:
            told = ", ".join(_cell(value) for value in values)
            lines.append(plain(f"  cannot be told apart: {address} in {told}", columns=columns))
    return lines


def look_lines(look: int, *, columns: int = _COLUMNS) -> list[str]:
    """Say how often these held-out cases have been looked at."""
    return _wrapped(
        f"These held-out cases have now been looked at {look} times; what they confirm wears thin "
        "with each. Cases nobody has looked at prove more.",
        columns,
    )


def _wrapped(text: str, columns: int) -> list[str]:
    lines, line = [], ""
    for word in text.split():
        if line and width(f"{line} {word}") > columns - 2:
            lines.append(f"  {line}")
            line = word
        else:
            line = f"{line} {word}".strip()
    return [*lines, f"  {line}"] if line else lines
