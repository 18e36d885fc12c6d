"""Case files: what is read, what is refused with its line, how sessions are split."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune import store
from recalltune.errors import ContractError, ParameterError, SourceError
from recalltune.evaluate.case_file import EvalCase, case_schema, read_case_file
from recalltune.evaluate.case_ids import resolve_id
from recalltune.evaluate.cases import load_cases
from recalltune.evaluate.splits import hold_out

IDS = ("aa11-0000", "aa22-0000", "bb11-0000", "bb11-0000-long", "cc33-0000")


@pytest.fixture
def lab(tmp_path: Path) -> store.Lab:
    lab = store.open(tmp_path / "lab.duckdb")
    with lab.writing() as con:
        told = datetime(2026, 3, 1, tzinfo=UTC)
        rows: list[store.Row] = []
        for memory_id, text_hash in zip(IDS, store.put_texts(con, list(IDS)), strict=True):
            rows.append(store.Memory(memory_id=memory_id, text_hash=text_hash))
            rows.append(
                store.MemorySpan(
                    memory_id=memory_id, text_hash=text_hash, event_at=told, known_at=told
                )
            )
        store.insert_rows(con, rows)
    return lab


def written(folder: Path, *cases: dict[str, Any], name: str = "cases.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(list(cases), indent=1, ensure_ascii=False), encoding="utf-8")
    return path


def case(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "query": f"what about {name}?", **more}


def test_a_case_becomes_one_row_and_its_labels(lab: store.Lab, tmp_path: Path) -> None:
    path = written(
        tmp_path,
        case(
            "tea",
            targets=["aa1", ["aa2", "cc"]],
            hardNegatives=["bb11-0000-l"],
            expectOrder=["aa1", "aa2"],
            grades={"aa11": 3},
            expectContentAny=["green"],
            expectTopK=2,
            limit=5,
            at="2026-03-02T10:00:00+02:00",
            session="s1",
            kind="update",
            lang="en",
            scope="p",
        ),
    )
    report = load_cases(lab, path, case_set="demo")
    assert (report.cases, report.labels, report.sessions) == (1, 6, 1)
    with lab.reading() as con:
        row = store.read_cases(con, "demo").row(0, named=True)
        labels = store.read_labels(con, "demo").rows()
    ten_oclock_in_oslo = datetime(2026, 3, 2, 8, tzinfo=UTC)
    assert row["asked_at"] == int(ten_oclock_in_oslo.timestamp()) * 1_000_000
    assert (row["case_id"], row["top_k"], row["session"], row["kind"]) == ("tea", 5, "s1", "update")
    assert json.loads(row["expectations"]) == {
        "expectTopK": 2,
        "expectContentAny": ["green"],
        "alternatives": [["aa22-0000", "cc33-0000"]],
    }
    assert [(memory, role, grade, place) for _, memory, role, grade, place, _ in labels] == [
        ("aa11-0000", "expected_order", 0, 1),
        ("aa22-0000", "expected_order", 0, 2),
        ("bb11-0000-long", "hard_negative", 0, None),
        ("aa11-0000", "target", 3, None),
        ("aa22-0000", "target", 1, None),
        ("cc33-0000", "target", 1, None),
    ]


def test_a_case_without_a_time_is_counted_beside_the_newest_event(
    lab: store.Lab, tmp_path: Path
) -> None:
    report = load_cases(lab, written(tmp_path, case("a"), case("b")), case_set="demo")
    assert report.without_time == 2
    assert report.newest_event_us == int(datetime(2026, 3, 1, tzinfo=UTC).timestamp()) * 1_000_000
    assert report.expects_nothing == ("a", "b")
    assert "2 without a time: asked just after the newest event" in str(report)


def test_loading_a_file_again_replaces_its_cases_and_no_others(
    lab: store.Lab, tmp_path: Path
) -> None:
    first = written(tmp_path, case("a", targets=["cc"]), case("b"), name="one.json")
    load_cases(lab, written(tmp_path, case("z"), name="two.json"), case_set="demo")
    load_cases(lab, first, case_set="demo")
    written(tmp_path, case("a", targets=["aa1"]), name="one.json")
    load_cases(lab, first, case_set="demo")
    with lab.reading() as con:
        assert store.read_cases(con, "demo")["case_id"].to_list() == ["a", "z"]
        assert store.read_labels(con, "demo")["memory_id"].to_list() == ["aa11-0000"]


def test_a_full_id_wins_over_longer_ids_that_begin_with_it() -> None:
    assert resolve_id("bb11-0000", sorted(IDS)) == "bb11-0000"
    with pytest.raises(ParameterError, match="'bb' is ambiguous: bb11-0000, bb11-0000-long"):
        resolve_id("bb", sorted(IDS))
    with pytest.raises(ParameterError, match="'ab' names no memory; nearest: aa22-0000, bb11-0000"):
        resolve_id("ab", sorted(IDS))
    with pytest.raises(ParameterError, match="nearest: none, no memories"):
        resolve_id("ab", [])


@given(st.sets(st.text("ab", min_size=1, max_size=5), min_size=1), st.text("ab", min_size=1))
def test_an_id_is_resolved_iff_it_is_exact_or_the_only_one(ids: set[str], prefix: str) -> None:
    begins = [memory for memory in ids if memory.startswith(prefix)]
    expected = prefix if prefix in ids else begins[0] if len(begins) == 1 else None
    try:
        found: str | None = resolve_id(prefix, sorted(ids))
    except ParameterError:
        found = None
    assert found == expected


def test_all_problems_of_a_file_come_at_once_with_their_lines(
    lab: store.Lab, tmp_path: Path
) -> None:
    path = tmp_path / "cases.json"
    path.write_text(
        '[{"name": "a", "query": "q", "targets": ["zz"]},\n'
        ' {"name": "b", "query": "q"},\n'
        ' {"name": "c", "query": "q",\n  "targets": ["aa"]}]'
    )
    with pytest.raises(SourceError) as error:
        load_cases(lab, path, case_set="demo")
    lines = str(error.value).splitlines()
    assert lines[0].startswith(f"{path}:1: case 'a': id 'zz' names no memory; nearest: ")
    assert lines[1].startswith(f"{path}:3: case 'c': id 'aa' is ambiguous: aa11-0000, aa22-0000")
    assert len(lines) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1: must hold a JSON array of cases"),
        ("{}", ":1: must hold a JSON array of cases"),
        ('[\n{"name": "a", "query": "q",}]', ":2: is not JSON"),
        ('[{"name": "a", "query": "q"},\n]', ":2: comma before the closing"),
        ('[{"name": "a", "query": "q"}\n{"name": "b"}]', ":2: expected , or ]"),
        ('[{"name": "a", "query": "q"}', ":1: expected , or ]"),
        ('[{"name": "a", "query": "q"}]\nmore', ":2: text after the closing ]"),
        ("[\n5]", ":2: case 1 must be an object, got int"),
        ('[{"name": "a", "name": "b", "query": "q"}]', "key 'name' occurs twice"),
        ('[{"name": "a", "query": "q", "limit": NaN}]', "NaN is not JSON"),
        ('[{"query": "q"}]', ":1: case 1: name is missing"),
        ('[{"name": "a", "query": "q", "hardNegative": []}]', "nearest: 'hardNegatives'"),
        ('[{"name": "a", "query": "q", "hard_negatives": []}]', "nearest: 'hardNegatives'"),
        ('[{"name": "a", "query": "q", "limit": 0}]', "limit should be greater than or equal to 1"),
        (
            '[{"name": "a", "query": "q", "kind": "facts"}]',
            "kind cannot be 'facts'; nearest: 'single_fact'",
        ),
        ('[{"name": "a", "query": "q", "at": "2026-03-01T00:00"}]', "at should have timezone"),
        ('[{"name": "a", "query": "q", "at": "soon"}]', "Invalid isoformat string: 'soon'"),
        ('[{"name": "a", "query": "q", "targets": [5]}]', "targets.0"),
        ('[{"name": "a", "query": "q", "targets": [[]]}]', "empty list of alternatives"),
        ('[{"name": "a", "query": "q", "grades": {"x": 4}}]', "less than or equal to 3"),
        ('[{"name": "a", "query": "q", "expectOrder": ["x"]}]', "at least two memories"),
        (
            '[{"name": "a", "query": "q", "kind": "nothing_to_find", "targets": ["x"]}]',
            "targets must be empty where kind is nothing_to_find",
        ),
        (
            '[{"name": "a", "query": "q"},\n{"name": "a", "query": "q"}]',
            ":2: name 'a' is used already at line 1",
        ),
        ("[" * 100_000, ":1: "),
    ],
)
def test_a_broken_file_is_refused_with_file_and_line(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "cases.json"
    path.write_text(text)
    with pytest.raises(SourceError) as error:
        read_case_file(path)
    assert str(error.value).startswith(f"{path}:")
    assert message in str(error.value)


def test_bytes_that_are_not_utf8_name_their_line(tmp_path: Path) -> None:
    path = tmp_path / "cases.json"
    path.write_bytes(b'[\n{"name": "\xff"}]')
    with pytest.raises(SourceError, match=r":2: is not UTF-8"):
        read_case_file(path)


def test_a_byte_order_mark_and_windows_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "cases.json"
    path.write_bytes(
        b'\xef\xbb\xbf[\r\n{"name": "a",\r\n"query": "q"},\r\n{"name":"b","query":"q"}]'
    )
    assert [(line, case.name) for line, case in read_case_file(path)] == [(2, "a"), (4, "b")]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"targets": ["aa1", "aa11"]}, "targets must name each memory once, got 'aa11-0000' twice"),
        ({"targets": ["aa1", ["aa11", "cc"]]}, "targets must name each memory once"),
        ({"targets": ["cc"], "hardNegatives": ["cc3"]}, "both a target and a hard negative"),
        ({"targets": ["cc"], "grades": {"aa1": 2}}, "grades must name targets only"),
        ({"expectOrder": ["cc", "cc3"]}, "expectOrder must name each memory once"),
    ],
)
def test_parts_that_contradict_each_other_once_ids_are_full_are_refused(
    lab: store.Lab, tmp_path: Path, more: dict[str, Any], message: str
) -> None:
    with pytest.raises(SourceError, match=message):
        load_cases(lab, written(tmp_path, case("a", **more)), case_set="demo")


def test_a_name_of_another_file_of_the_set_is_refused(lab: store.Lab, tmp_path: Path) -> None:
    load_cases(lab, written(tmp_path, case("a"), name="one.json"), case_set="demo")
    two = written(tmp_path, case("a"), name="two.json")
    with pytest.raises(SourceError, match=r"two.json:2: case 'a': name is used already by another"):
        load_cases(lab, two, case_set="demo")
    assert load_cases(lab, two, case_set="other").cases == 1


def test_a_missing_file_and_an_empty_set_name_are_refused(lab: store.Lab, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is not a file"):
        load_cases(lab, tmp_path / "nowhere.json", case_set="demo")
    with pytest.raises(ParameterError, match="case_set must be a name"):
        load_cases(lab, tmp_path / "nowhere.json", case_set="")


def test_a_third_of_the_cases_is_held_out_by_whole_sessions(lab: store.Lab, tmp_path: Path) -> None:
    cases = [case(f"c{n:02d}", session=f"s{n % 8}") for n in range(40)]
    path = written(tmp_path, *cases)
    report = load_cases(lab, path, case_set="demo")
    # eight sessions of five: the smallest number of sessions that reaches 40/3 cases is three
    assert (report.held_out, report.tune, report.sessions) == (15, 25, 8)
    with lab.reading() as con:
        frame = store.read_cases(con, "demo")
    assert len(set(frame.select("session", "split").iter_rows())) == 8


def test_a_later_file_keeps_a_session_in_the_split_it_is_in(lab: store.Lab, tmp_path: Path) -> None:
    load_cases(
        lab,
        written(tmp_path, case("a", session="s", split="held_out"), case("b"), name="one.json"),
        case_set="demo",
    )
    two = written(tmp_path, case("c", session="s"), case("d"), name="two.json")
    load_cases(lab, two, case_set="demo")
    with lab.reading() as con:
        splits = dict(store.read_cases(con, "demo").select("case_id", "split").iter_rows())
    assert splits == {"a": "held_out", "b": "tune", "c": "held_out", "d": "tune"}


SESSIONS = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=40)


@given(SESSIONS)
def test_splits_are_whole_sessions_the_same_in_any_order(sessions: list[str]) -> None:
    split = dict(zip(sessions, hold_out(sessions, [None] * len(sessions)), strict=True))
    back = hold_out(sessions[::-1], [None] * len(sessions))
    assert [split[s] for s in sessions[::-1]] == back
    held = sum(split[s] == "held_out" for s in sessions)
    if len(set(sessions)) == 1:
        assert held == 0
    else:
        assert "tune" in split.values()
        largest = max(sessions.count(s) for s in split if split[s] == "held_out")
        assert held - largest < len(sessions) / 3
        assert held >= len(sessions) / 3 or list(split.values()).count("tune") == 1


def test_a_session_fixed_in_both_splits_is_refused() -> None:
    with pytest.raises(ContractError, match="session 's' must lie in one split"):
        hold_out(["s", "s"], ["tune", "held_out"])


def test_the_schema_names_every_key_as_files_spell_it() -> None:
    schema = case_schema()
    keys = set(schema["items"]["properties"])
    assert {"name", "hardNegatives", "expectTopK", "expectContentAny", "at", "split"} <= keys
    assert schema["items"]["additionalProperties"] is False
    assert schema["items"]["required"] == ["name", "query"]


def test_defaults_are_those_of_the_canary_format() -> None:
    plain = EvalCase(name="a", query="q")
    assert (plain.limit, plain.expect_top_k, plain.targets) == (8, 3, ())
