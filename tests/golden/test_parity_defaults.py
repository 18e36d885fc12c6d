"""Constants the golden answers use without a preset: defaults of primitives, SQLite's BM25.

Which of them no golden case notices at one percent is computed and compared with a list; what is
on the list is pinned by hand in tests/primitives.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from recalltune.pipeline.config import preset
from recalltune.production.golden import hel847
from recalltune.production.golden.registry import GROUPS
from recalltune.production.parity import TOLERANCE, compare
from recalltune.rank import substring

pytestmark = [pytest.mark.shared, pytest.mark.slow]

# Pinned in tests/primitives/test_recallnest_primitives.py; the threshold in test_repeats.py, since
# every case of its group states it.
DEFAULTS_BY_HAND = {
    "composite_tier_move.core_accesses",
    "composite_tier_move.core_composite",
    "composite_tier_move.core_importance",
    "composite_tier_move.low_composite",
    "composite_tier_move.old_days",
    "composite_tier_move.working_accesses",
    "composite_tier_move.working_composite",
    "survivors.threshold",
    "tier_move.stale_days",
}
# Pinned in tests/primitives/test_substring.py: the probe prints ids and no score.
SUBSTRING_BY_HAND = {"_B", "_K1", "_LEAST_IDF"}


@pytest.fixture(scope="module")
def cases(shared: Path) -> dict[str, list[Any]]:
    found = {}
    for file in sorted((shared / "golden").glob("*.json")):
        for name, group in json.loads(file.read_text(encoding="utf-8"))["groups"].items():
            if name in GROUPS:
                found[name] = list(GROUPS[name].cases({**group, "file": str(file)}))
    return found


def differs(cases: dict[str, list[Any]], name: str) -> bool:
    group = GROUPS[name]
    setting = preset(group.preset)
    pairs = ((group.expected(case), group.given(case)) for case in cases[name])
    return any(not compare(out, group.answer(it, setting)) <= TOLERANCE for out, it in pairs)


def defaults() -> Iterator[tuple[Callable[..., Any], str, list[str]]]:
    """Each primitive an answer calls itself, a number it has a default for, and these groups."""
    users: dict[Callable[..., Any], list[str]] = {}
    for name, group in GROUPS.items():
        code = inspect.unwrap(group.answer)
        called = [getattr(code, "__globals__", {}).get(used) for used in code.__code__.co_names]
        for one in called:
            if getattr(one, "__module__", "").startswith("recalltune.rank."):
                users.setdefault(inspect.unwrap(one), []).append(name)
    for primitive, names in users.items():
        for field, value in (getattr(primitive, "__kwdefaults__", None) or {}).items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                yield primitive, field, names


def test_the_defaults_no_case_notices_are_those_on_the_list(cases: dict[str, list[Any]]) -> None:
    unnoticed, looked_at = set(), 0
    for primitive, field, names in defaults():
        looked_at += 1
        value = primitive.__kwdefaults__[field]
        try:
            primitive.__kwdefaults__[field] = value + 1 if isinstance(value, int) else value * 1.01
            if not any(differs(cases, name) for name in names):
                unnoticed.add(f"{primitive.__name__}.{field}")
        finally:
            primitive.__kwdefaults__[field] = value
    assert looked_at > len(unnoticed)
    assert unnoticed == DEFAULTS_BY_HAND


def test_the_constants_of_sqlite_no_case_notices_are_those_on_the_list(
    cases: dict[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (group,) = hel847.GROUPS
    numbers = [name for name, value in vars(substring).items() if isinstance(value, float)]
    unnoticed = set()
    for name in numbers:
        with monkeypatch.context() as patch:
            patch.setattr(substring, name, getattr(substring, name) * 1.01)
            hel847._seen.cache_clear()
            if not differs(cases, group):
                unnoticed.add(name)
    hel847._seen.cache_clear()
    assert unnoticed == SUBSTRING_BY_HAND
