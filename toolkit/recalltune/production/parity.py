"""Parity with production: golden vectors against the stages the pipeline runs.

In: golden files. Out: one line per group with its cases and its largest relative error; `python
-m recalltune.production.parity` exits 1 where an error exceeds 1e-9 or an order differs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recalltune.errors import RecalltuneError, SourceError
from recalltune.pipeline.config import RankingConfig, preset
from recalltune.production.golden.group import Golden
from recalltune.production.golden.registry import GROUPS, LATER

__all__ = ["TOLERANCE", "GroupParity", "compare", "golden_files", "main", "parity", "table"]

TOLERANCE = 1e-9
"""Largest relative error that still counts as equal."""
_LARGEST_FILE = 20_000_000


@dataclass(frozen=True)
class GroupParity:
    """How one golden group came out."""

    file: str
    group: str
    cases: int
    largest_error: float | None
    """Largest relative error; None where the group is not mapped yet."""
    differing: tuple[int, ...] = ()
    """Cases, from 0, that are off by more than the tolerance or in another order."""
    translated: tuple[str, ...] = ()
    """Inputs production accepts and we refuse, and what stands for them."""
    later: str = ""
    """The work a group that is not mapped belongs to; empty where nothing names it."""

    @property
    def verdict(self) -> str:
        """`same`, `differs`, `later: ...`, or `missing` where no work is named."""
        if self.largest_error is None:
            return f"later: {self.later}" if self.later else "missing"
        return "differs" if self.differing else "same"


def parity(
    files: Iterable[str | Path], *, configs: Mapping[str, RankingConfig] | None = None
) -> list[GroupParity]:
    """Return the outcome of every group of every golden file.

    Parameters
    ----------
    files
        Golden files: JSON with `groups`.
    configs
        Preset name -> the RankingConfig whose stages answer in its place.

    Raises
    ------
    SourceError
        If a file cannot be read as a golden file.
    """
    configs = configs or {}
    outcomes = []
    for file in files:
        for name, group in _groups(Path(file)).items():
            golden = GROUPS.get(name)
            if golden is None:
                size = len(group.get("cases", ()))
                outcome = GroupParity(Path(file).name, name, size, None, later=LATER.get(name, ""))
            else:
                config = configs.get(golden.preset) or preset(golden.preset)
                outcome = _outcome(Path(file).name, name, golden, group, config)
            outcomes.append(outcome)
    return outcomes


def _outcome(
    file: str, name: str, golden: Golden, group: Mapping[str, Any], config: RankingConfig
) -> GroupParity:
    cases = golden.cases(group)
    errors = []
    for case in cases:
        try:
            errors.append(compare(golden.expected(case), golden.answer(golden.given(case), config)))
        except RecalltuneError:
            # A config that cannot even take the input does not reproduce production.
            errors.append(math.inf)
    differing = tuple(number for number, error in enumerate(errors) if not error <= TOLERANCE)
    worst = max(errors, default=0.0)
    return GroupParity(file, name, len(cases), worst, differing, golden.translated)


def compare(expected: Any, actual: Any) -> float:
    """Return the largest relative error between two outputs; infinity where they differ in kind.

    Examples
    --------
    >>> compare([["m1", 0.5]], [["m1", 0.5]]), compare([0, 1], [1, 0])
    (0.0, inf)
    """
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        if set(expected) != set(actual):
            return math.inf
        return max((compare(expected[key], actual[key]) for key in expected), default=0.0)
    if isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            return math.inf
        pairs = zip(expected, actual, strict=True)
        return max((compare(one, other) for one, other in pairs), default=0.0)
    if isinstance(expected, float | int) and isinstance(actual, float | int):
        if isinstance(expected, int) and isinstance(actual, int):
            return 0.0 if expected == actual else math.inf
        return abs(actual - expected) / (abs(expected) or 1.0)
    return 0.0 if expected == actual else math.inf


def _groups(file: Path) -> dict[str, Mapping[str, Any]]:
    if not file.is_file():
        message = f"{file}:1: no such golden file"
        raise SourceError(message)
    if file.stat().st_size > _LARGEST_FILE:
        message = f"{file}:1: a golden file may hold {_LARGEST_FILE:,} bytes"
        raise SourceError(message)
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        # A group may need what lies beside its file, such as the corpus it was recorded on.
        return {name: {**group, "file": str(file)} for name, group in content["groups"].items()}
    except json.JSONDecodeError as error:
        message = f"{file}:{error.lineno}: not JSON: {error.msg}"
        raise SourceError(message) from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        message = f"{file}:1: not a golden file: groups with cases are expected ({error!r})"
        raise SourceError(message) from None


def golden_files() -> list[Path]:
    """Return the files to check: $GOLDEN, else those of $RECALLTUNE_SHARED or ../shared."""
    if named := os.environ.get("GOLDEN", "").split():
        return [Path(name) for name in named]
    shared = Path(os.environ.get("RECALLTUNE_SHARED") or Path("..") / "shared")
    return sorted((shared / "golden").glob("*.json"))


def table(outcomes: Sequence[GroupParity]) -> str:
    """Return the outcomes as text: group, cases, largest relative error, verdict."""
    width = max((len(outcome.group) for outcome in outcomes), default=5)
    lines = [f"{'group':{width}}  cases  largest error  verdict"]
    for outcome in outcomes:
        error = "-" if outcome.largest_error is None else f"{outcome.largest_error:.1e}"
        lines.append(f"{outcome.group:{width}}  {outcome.cases:5d}  {error:>13}  {outcome.verdict}")
        lines += [f"{'':{width}}    case {number} differs" for number in outcome.differing[:5]]
    lines += ["", "Translated inputs:"]
    lines += [f"  {o.group}: {what}" for o in outcomes for what in o.translated]
    mapped = [outcome for outcome in outcomes if outcome.largest_error is not None]
    differing = [outcome.group for outcome in mapped if outcome.differing]
    cases = sum(outcome.cases for outcome in mapped)
    verdict = f"{len(differing)} groups differ: {', '.join(differing)}" if differing else "all same"
    lines += ["", f"{len(mapped)} groups, {cases} cases compared: {verdict}"]
    lines.append(f"{sum(bool(outcome.later) for outcome in outcomes)} groups later")
    missing = [outcome.group for outcome in outcomes if outcome.verdict == "missing"]
    if missing:
        lines.append(f"{len(missing)} groups missing: {', '.join(missing)}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 0 where all is the same, 1 where not, 2 on bad input."""
    parser = argparse.ArgumentParser(prog="python -m recalltune.production.parity")
    parser.add_argument("--golden", nargs="+", metavar="FILE", help="golden files to check")
    named = parser.parse_args(arguments).golden
    files = [Path(name) for name in named] if named else golden_files()
    if not files:
        sys.stderr.write("no golden files; name them with --golden or $GOLDEN\n")
        return 2
    try:
        outcomes = parity(files)
    except SourceError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(table(outcomes) + "\n")
    return 1 if any(o.differing or o.verdict == "missing" for o in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
