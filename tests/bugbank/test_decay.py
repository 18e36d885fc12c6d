"""Bug bank F39, F41-F44, F46, G48, G49: ages, half-lives, and what salience may be."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import recalltune as rt
from fused_lists import config, shown, table
from recalltune.errors import ParameterError
from recalltune.evaluate.run import Evaluation
from recalltune.pipeline.stages import Decay
from recalltune.rank import exponential, importance_weight, mean_life, salience_multiplier
from recalltune.report.terminal import evaluation_lines
from recalltune.store import Lab, Memory, MemorySpan, insert_rows, put_texts, read_spans
from small_lab import Ask, Note, WordEncoder, make_lab

NOW = datetime(2026, 8, 2, tzinfo=UTC)
NOON = 1_772_366_400  # 2026-03-01T12:00:00Z, in seconds


def record(memory_id: str, text: str = "tea", **fields: Any) -> dict[str, Any]:
    # What two records say letter by letter is shown once.
    return {"id": memory_id, "text": f"{text} {memory_id}", **fields}


def imported(lab: Lab, folder: Path, *records: dict[str, Any]) -> tuple[str, ...]:
    """Import one payload written at `NOW`; what was noticed."""
    payload = {"version": "connector-v1", "source": "notes", "scope": "team", "records": records}
    path = folder / "payload.json"
    path.write_text(json.dumps({**payload, "producedAt": NOW.isoformat()}), encoding="utf-8")
    return rt.ingest(lab, path).notices


def weights(lab: Lab, at: datetime, **decay: Any) -> dict[str, float]:
    """The decay factor of every memory that holds the word tea, asked at an instant."""
    setting = config({"kind": "rrf"}, {"kind": "decay", **decay}, arms={"lexical": {}})
    found = rt.ask(lab, "tea", setting, at=int(at.timestamp() * 1e6))
    scale = setting.stage("decay").affine(found).scale[0]
    return {found.memory_id(0, column): float(weight) for column, weight in enumerate(scale)}


# --- F39 ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_seconds_and_milliseconds_in_one_import_are_the_same_instant(lab, tmp_path):
    """F39. Kind: seconds read as milliseconds."""
    notices = imported(
        lab,
        tmp_path,
        record("s", timestamp=1767225600),
        record("ms", timestamp=1767225600000),
        record("1970", timestamp=1767225),
        record("2150", timestamp="2150-01-01T00:00:00Z"),
    )
    with lab.reading() as con:
        born = dict(read_spans(con).select("memory_id", "event_at").iter_rows())
    new_year = 1767225600 * 10**6
    assert born == {"s": new_year, "ms": new_year, "1970": None, "2150": None}
    assert "timestamp in epoch seconds: 1" in notices
    assert "timestamp in epoch milliseconds: 1" in notices
    assert "timestamp before 2000 or after 2099 in every epoch unit, not used: 1" in notices
    assert "timestamp before 1971 or after 2099, not used: 1" in notices
    aged = weights(lab, datetime(2026, 1, 31, tzinfo=UTC))
    assert aged == {"s": 0.5, "ms": 0.5, "1970": 1.0, "2150": 1.0}


# --- F41 ------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [0.0, -5.0, math.nan])
def test_a_half_life_that_is_not_positive_is_refused_by_its_name(bad):
    """F41. Kind: half-life zero or negative."""
    with pytest.raises(ParameterError, match=r"half_life_days must lie in \(0, inf\], got"):
        exponential([1.0], half_life_days=bad)
    with pytest.raises(ParameterError, match=r"half_life_days .*got (0\.0|-5\.0|nan)"):
        Decay().with_(half_life_days=bad)
    with pytest.raises(ParameterError, match=r"stages\.1\.decay\.half_life_days .*got"):
        config({"kind": "rrf"}, {"kind": "decay", "half_life_days": bad})


@pytest.mark.parametrize("field", ["mean_life_days", "rate_days", "stability_days"])
@pytest.mark.parametrize("bad", [0.0, -5.0, math.nan])
def test_no_other_number_of_days_may_be_nought_either(field, bad):
    """F41. Kind: half-life zero or negative."""
    with pytest.raises(ParameterError, match=field):
        Decay().with_(**{field: bad})


def test_an_infinite_half_life_or_the_family_none_is_a_factor_of_exactly_one():
    """F41. Kind: half-life zero or negative."""
    assert exponential([0.0, 7.0, 1e9], half_life_days=math.inf).tolist() == [1.0, 1.0, 1.0]
    off = Decay(family="none").affine(table({"dense": ["a"]}))
    assert (off.scale, off.shift, off.clamp) == (1.0, 0.0, None)
    with pytest.raises(ParameterError, match=r"half_life_days .*finite number, got inf"):
        Decay().with_(half_life_days=math.inf)


# --- F42 ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_hours_count(lab, tmp_path):
    """F42. Kind: age truncated to whole units."""
    hours = {"h12": 12, "h18": 18}
    records = [
        record(name, timestamp=(NOW - timedelta(hours=age)).isoformat())
        for name, age in hours.items()
    ]
    imported(lab, tmp_path, *records)
    found = weights(lab, NOW, half_life_days=1.0)
    assert found == pytest.approx({"h12": 0.707107, "h18": 0.594604}, abs=5e-7)


# --- F43 ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_age_counts_from_what_happened_and_not_from_the_import(lab, tmp_path):
    """F43. Kind: import time used instead of event time."""
    said = NOW - timedelta(days=365)
    notices = imported(lab, tmp_path, record("said", timestamp=said.isoformat()), record("undated"))
    found = weights(lab, NOW)
    assert found["said"] == pytest.approx(2 ** (-365 / 30), rel=1e-12)
    assert found["said"] == pytest.approx(0.000218, abs=5e-7)
    # Without a time of its own a memory has no age: it is not as young as its import.
    assert found["undated"] == 1.0
    assert "memory without an event time (always there, no age): 1" in notices


@pytest.mark.slow
@pytest.mark.parametrize("files", [1, 12])
def test_a_day_that_nearly_all_memories_share_is_told(lab, tmp_path, files):
    """F43. Kind: import time used instead of event time."""
    records = [record(f"m{n}", timestamp=NOW.isoformat()) for n in range(12)]
    head = {"version": "connector-v1", "source": "notes", "scope": "team"}
    folder = tmp_path / "exported"
    folder.mkdir()
    for number in range(files):
        body = {**head, "producedAt": NOW.isoformat(), "records": records[number::files]}
        (folder / f"{number}.json").write_text(json.dumps(body), encoding="utf-8")
    told = [note for note in rt.ingest(lab, folder).notices if "a day of export?" in note]
    whole = "its file" if files == 1 else "this import"
    assert told == [f"memory dated 2026-08-02, as over 90 % of {whole}: a day of export?: 12"]


# --- F44 ------------------------------------------------------------------------------------


def evaluated(folder: Path, *stages: dict[str, Any]) -> Evaluation:
    """The relevant memory is 242 days old and matches; the other is new and hardly does."""
    old = Note("old", "tea tea tea", 0.0)
    new = Note("new", "tea server backup garden release sensor", 241.9)
    lab = make_lab(folder / "lab.duckdb", [old, new], [Ask("q", "tea", 242.0, ("old",))])
    fused = {"kind": "weighted", "calibration": {"lexical": "min_max"}}
    setting = config(fused, *stages, {"kind": "select", "top_k": 1}, arms={"lexical": {}})
    return rt.evaluate(rt.candidates(lab, "s", setting), setting, split="all")


BURIED = {"kind": "decay", "family": "mean_life", "mean_life_days": 1 / 0.03}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("decay", "lost"),
    [(BURIED, 1), ({**BURIED, "floor": 0.3}, 0), ({"kind": "decay", "half_life_days": 14.0}, 1)],
)
def test_relevant_memories_that_only_their_age_hides_are_counted_and_told(tmp_path, decay, lost):
    """F44. Kind: decay buries everything old."""
    found = evaluated(tmp_path, decay)
    assert found.counts["relevant_lost_to_decay"] == lost
    assert found.hits["memory_id"].to_list() == (["new"] if lost else ["old"])
    told = [line for line in evaluation_lines(found) if "lost to decay" in line]
    assert told == (["relevant items lost to decay: 1"] if lost else [])


@pytest.mark.slow
def test_what_is_lost_without_decay_is_not_laid_at_its_door(tmp_path):
    """F44. Kind: decay buries everything old."""
    found = evaluated(tmp_path, {"kind": "threshold", "min_score": 2.0}, BURIED)
    assert found.hits.is_empty()
    assert found.counts["relevant_lost_to_decay"] == 0


def test_the_numbers_of_the_case_and_the_floor_that_mends_it():
    """F44. Kind: decay buries everything old."""
    weight = mean_life(242.0, mean_life_days=1 / 0.03)
    assert 0.95 * weight == pytest.approx(0.000668, abs=5e-7)
    floored = 0.3 + 0.7 * weight
    assert 0.95 * floored == pytest.approx(0.285, abs=1e-3)
    assert 0.95 * floored > 0.05 > 0.95 * weight


# --- F46 ------------------------------------------------------------------------------------


@pytest.mark.stress
@pytest.mark.slow
@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Shanghai"])
def test_an_instant_is_stored_as_it_is_whatever_the_zone_of_the_machine(tmp_path, zone):
    """F46. Kind: naive/aware time zones, session-zone shift."""
    done = subprocess.run(
        [sys.executable, "-c", STORING, str(tmp_path / "lab.duckdb")],
        env={**os.environ, "TZ": zone},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == [[NOON * 10**6] * 3, "UTC"]


STORING = """
import json, sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from recalltune import store
lab = store.open(Path(sys.argv[1]))
noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
east, west = (noon.astimezone(timezone(timedelta(hours=h))) for h in (8, -5))
with lab.writing() as con:
    [text] = store.put_texts(con, ["tea"])
    for n, at in enumerate((noon, east, west)):
        known = dict(memory_id=str(n), text_hash=text)
        span = store.MemorySpan(**known, event_at=at, known_at=at)
        store.insert_rows(con, [store.Memory(**known), span])
with lab.reading() as con:
    zone = con.sql("select current_setting('TimeZone')").fetchall()[0][0]
    print(json.dumps([store.read_spans(con)["event_at"].to_list(), zone]))
"""


@pytest.mark.slow
def test_a_zone_of_the_session_shifts_nothing(lab):
    """F46. Kind: naive/aware time zones, session-zone shift."""
    there = datetime.fromtimestamp(NOON, timezone(timedelta(hours=-5)))
    with lab.writing() as con:
        con.execute("set TimeZone = 'America/New_York'")
        [text] = put_texts(con, ["tea"])
        known = {"memory_id": "a", "text_hash": text}
        insert_rows(con, [Memory(**known), MemorySpan(**known, known_at=there)])
    with lab.reading() as con:
        assert read_spans(con)["known_at"].to_list() == [NOON * 10**6]


@pytest.mark.slow
def test_a_time_without_a_zone_is_utc_and_counted_and_the_store_takes_none(lab, tmp_path):
    """F46. Kind: naive/aware time zones, session-zone shift."""
    notices = imported(
        lab,
        tmp_path,
        record("naive", timestamp="2026-03-01T12:00:00"),
        record("east", timestamp="2026-03-01T20:00:00+08:00"),
    )
    with lab.reading() as con:
        assert read_spans(con)["event_at"].to_list() == [NOON * 10**6] * 2
    assert "timestamp without a zone, taken as UTC: 1" in notices
    with pytest.raises(ValueError, match="timezone"):
        MemorySpan(memory_id="a", text_hash="x", known_at=datetime(2026, 3, 1))  # noqa: DTZ001


# --- G48, G49 -------------------------------------------------------------------------------


def ranked(saliences: Sequence[float | None], similar: Sequence[float]) -> dict[str, float]:
    """Scores under the factor 1 + salience, by id."""
    import numpy as np

    ids = "abc"[: len(similar)]
    order = sorted(ids, key=lambda one: -similar[ids.index(one)])
    known = {"dense": dict(zip(ids, similar, strict=True))}
    features = {"salience": np.array([[math.nan if s is None else s for s in saliences]])}
    stages = ({"kind": "weighted"}, {"kind": "salience", "salience_weight": 1.0})
    setting = config(*stages, arms={"dense": {}})
    return shown(table({"dense": order}, scores=known, features=features), setting)


def test_a_value_of_a_ten_point_scale_is_refused_with_its_range():
    """G48. Kind: 1-10 value in a 0-1 field."""
    with pytest.raises(ParameterError, match=r"salience must lie in \[0, 1\], got 7.0"):
        ranked([7.0, 0.5], [0.41, 0.55])


@pytest.mark.slow
def test_an_import_leaves_a_ten_point_value_out_and_counts_it(lab, tmp_path):
    """G48. Kind: 1-10 value in a 0-1 field."""
    notices = imported(
        lab, tmp_path, record("a", importanceHint=7), record("b", importanceHint=0.5)
    )
    assert "importanceHint outside [0, 1], not used: 1" in notices
    setting = config({"kind": "rrf"}, {"kind": "salience"}, arms={"lexical": {}})
    found = rt.ask(lab, "tea", setting)
    assert math.isnan(found.feature("salience")[0, 0])
    assert found.feature("salience")[0, 1] == 0.5
    assert found.notices["missing_salience"] == 1
    # Unchecked, 0.41 * (0.5 + 7 / 2) = 1.64 would win; now 0.41 * 1 < 0.55 * 1.5.
    assert list(ranked([None, 0.5], [0.41, 0.55])) == ["b", "a"]


def test_a_missing_salience_is_a_factor_of_exactly_one():
    """G49. Kind: missing salience treated as a value."""
    found = ranked([None, 0.0, 0.5], [0.3, 0.2, 0.1])
    assert found == {"a": 0.3, "b": 0.2, "c": pytest.approx(0.15)}
    # A bonus: nothing said and no salience both earn none, as the formula's page says. Where low
    # importance costs something, saying nothing does not.
    assert salience_multiplier([math.nan, 0.0, 0.5], weight=1.0).tolist() == [1.0, 1.0, 1.5]
    assert importance_weight([math.nan, 0.0, 0.5], base=0.5).tolist() == [1.0, 0.5, 0.75]


@pytest.mark.slow
def test_memories_without_a_salience_are_counted_in_every_run(tmp_path):
    """G49. Kind: missing salience treated as a value."""
    notes = [Note("a", "tea", 1.0), Note("b", "tea", 1.0, salience=0.0)]
    lab = make_lab(tmp_path / "lab.duckdb", notes, [Ask("q", "tea", 9.0, ("a",))])
    setting = config({"kind": "rrf"}, {"kind": "salience", "salience_weight": 0.5})
    run = rt.evaluate(rt.candidates(lab, "s", setting, encoder=WordEncoder()), setting, split="all")
    assert run.counts["missing_salience"] == 1
    assert "missing_salience 1" in evaluation_lines(run)[-1]
