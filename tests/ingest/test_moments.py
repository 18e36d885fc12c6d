"""Instants as sources write them, and what is counted about each."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune.ingest.moments import dated_name, read_moment

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


def _read(value: object) -> tuple[datetime | None, list[str]]:
    notes = Counter[str]()
    return read_moment(value, notes, what="t"), list(notes)


@pytest.mark.parametrize(
    ("value", "unit"),
    [
        (1767225600, "seconds"),
        (1767225600.0, "seconds"),
        ("1767225600", "seconds"),
        (1767225600000, "milliseconds"),
        ("1767225600000", "milliseconds"),
        (1767225600000000, "microseconds"),
    ],
)
def test_bug_39_epoch_units_are_told_apart_by_plausibility_and_counted(value: object, unit: str):
    assert _read(value) == (NEW_YEAR, [f"t in epoch {unit}"])


@pytest.mark.parametrize("value", [0, 1, 86_400, -5, 1767225, 10**18, 4_102_444_800, float(10**11)])
def test_bug_39_a_number_that_fits_no_unit_is_not_used_and_counted(value: float):
    moment, notes = _read(value)
    assert moment is None
    assert notes == ["t before 2000 or after 2099 in every epoch unit, not used"]


@pytest.mark.parametrize(
    "value",
    ["2026-01-01T00:00:00Z", "2026-01-01T08:00:00+08:00", "2025-12-31T19:00:00.000000-05:00"],
)
def test_a_zone_is_honoured_and_nothing_is_counted(value: str):
    assert _read(value) == (NEW_YEAR, [])


def test_bug_46_an_instant_without_a_zone_is_utc_and_counted():
    assert _read("2026-01-01T00:00:00") == (NEW_YEAR, ["t without a zone, taken as UTC"])


def test_a_bare_date_is_its_midnight_and_counted():
    assert _read("2026-01-01") == (NEW_YEAR, ["t without a time, taken as midnight UTC"])


@pytest.mark.parametrize("value", [None, "", True])
def test_bug_47_no_value_is_no_instant_and_no_complaint(value: object):
    assert _read(value) == (None, [])


@pytest.mark.parametrize("value", ["yesterday", "2026-13-40", "NaN", [1], {}, "2026-02-30T00:00Z"])
def test_bug_47_a_bad_date_is_counted_and_not_used(value: object):
    assert _read(value) == (None, ["t unreadable, not used"])


@pytest.mark.parametrize("value", ["1970-01-01T00:00:00Z", "2100-01-01", "0001-01-01T00:00:00Z"])
def test_bug_39_a_date_out_of_this_world_is_not_used(value: str):
    moment, notes = _read(value)
    assert moment is None
    assert "t before 1971 or after 2099, not used" in notes


@given(
    st.datetimes(datetime(2001, 1, 1), datetime(2099, 12, 30)),  # noqa: DTZ001
    st.integers(-14, 14),
)
def test_the_same_instant_is_read_from_every_zone(moment: datetime, hours: int):
    there = moment.replace(tzinfo=UTC).astimezone(timezone(timedelta(hours=hours)))
    assert _read(there.isoformat()) == (there.astimezone(UTC), [])


@pytest.mark.parametrize(
    "name",
    [
        "memory/2026-05-14.md",
        "memory/a/b/2026-05-14.md",
        "memory/2026-05-14-notes.md",
        "memory/2026-05-14-1530.md",
        "memory\\2026-05-14.md",
        "memory\\a\\b\\2026-05-14-notes.md",
    ],
)
def test_bug_40_a_dated_name_gives_its_day_with_either_slash(name: str):
    notes = Counter[str]()
    assert dated_name(name, notes) == datetime(2026, 5, 14, tzinfo=UTC)
    assert not notes


@pytest.mark.parametrize(
    "name", ["MEMORY.md", "memory/topic.md", "memory/2026-05-1.md", "x2026-05-14.md"]
)
def test_bug_40_other_names_are_undated(name: str):
    notes = Counter[str]()
    assert dated_name(name, notes) is None
    assert not notes


def test_bug_40_an_impossible_date_is_undated_and_counted():
    notes = Counter[str]()
    assert dated_name("memory/2026-13-40.md", notes) is None
    assert notes == {"file name with an impossible date, taken as undated": 1}
