"""What was never told changes nothing that is shown: pairs of labs that differ in it alone."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

import recalltune as rt
from attack.conftest import LATER, Make, Record, record, shown, write
from recalltune.errors import SourceError
from recalltune.evaluate.query_views import flow, withheld_targets
from recalltune.pipeline.config import RankingConfig
from recalltune.report.journey import write_report
from recalltune.store import (
    Access,
    data_digest,
    insert_rows,
    latest_event_at,
    read_spans,
    settle_sharing,
)
from small_lab import Ask, Note, WordEncoder, make_lab

pytestmark = pytest.mark.slow

OLD = record("a", "alpha old fact", importance=0.3)
OTHER = record("b", "alpha beta other", day="2026-01-05")
NEVER = {"origin": "self_life", "toldAt": None}


def test_an_untold_item_does_not_move_the_default_time_of_a_question(
    world: Make, lexical: RankingConfig
):
    secret = record("u", "alpha secret", day="2026-06-01", **NEVER)
    assert shown(world([OLD, OTHER, secret]), lexical, at=None) == shown(
        world([OLD, OTHER]), lexical, at=None
    )


def test_an_untold_successor_replaces_nothing_and_a_told_one_from_its_telling(
    world: Make, lexical: RankingConfig
):
    old = record("a", "alpha old fact", status="superseded", supersededBy="u")
    alone = shown(world([old, OTHER]), lexical)
    for told in (None, "2026-06-01T00:00:00Z"):
        new = record("u", "alpha secret", day="2026-01-03", origin="self_life", toldAt=told)
        lab = world([old, OTHER, new])
        assert shown(lab, lexical) == alone
    after = shown(lab, lexical, at="2026-06-02T00:00:00+00:00")
    assert [row["successor"] for row in after["list"] if row["memory_id"] == "a"] == ["u"]


def test_an_untold_edit_neither_ends_the_told_text_nor_changes_what_is_said_of_it(
    world: Make, lexical: RankingConfig
):
    before = shown(world([OLD, OTHER]), lexical)
    edit = record("a", "alpha secret", day="2026-02-01", importance=0.9, layer="user", **NEVER)
    assert shown(world([OLD, OTHER], [edit]), lexical) == before
    assert shown(world([edit], [OLD, OTHER]), lexical) == before


def test_an_edit_shows_from_its_telling_and_the_former_text_until_then(
    world: Make, lexical: RankingConfig
):
    told = record("a", "alpha new", day="2026-02-01", toldAt="2026-06-01T00:00:00Z", importance=0.3)
    lab = world([OLD, OTHER], [told])
    assert shown(lab, lexical) == shown(world([OLD, OTHER]), lexical)
    texts = [row["text"] for row in shown(lab, lexical, at="2026-06-02T00:00:00+00:00")["list"]]
    assert sorted(texts) == ["alpha beta other", "alpha new"]


def test_when_the_middle_one_of_three_versions_goes_the_first_still_ends_with_the_third(
    world: Make, lexical: RankingConfig, tmp_path: Path
):
    first, second, third = (
        record("a", f"alpha {day}", day=f"2026-0{month}-01")
        for month, day in ((1, "one"), (2, "two"), (3, "three"))
    )
    lab = world([first], [second], [third])
    write(tmp_path / "world1" / "1.json", [OTHER])
    rt.ingest(lab, tmp_path / "world1" / "1.json")
    assert [row["text"] for row in shown(lab, lexical)["list"] if row["memory_id"] == "a"] == [
        "alpha three"
    ]
    with lab.reading() as con:
        spans = read_spans(con)
    assert spans.filter(memory_id="a", text="alpha one")["leaves_at"].to_list() == [
        1_772_323_200_000_000  # 2026-03-01
    ]


def test_versions_untold_ones_among_them_are_the_same_whatever_the_order_of_import(world: Make):
    payloads = [
        [record("a", "alpha 1")],
        [record("a", "alpha 2", day="2026-02-01", layer="user", **NEVER)],
        [record("a", "alpha 3", day="2026-03-01", toldAt="2026-09-01T00:00:00Z")],
        [record("a", "alpha 4", day="2026-04-01", layer="project")],
    ]
    digests = set()
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]):
        with world(*(payloads[place] for place in order)).reading() as con:
            digests.add(data_digest(con))
    assert len(digests) == 1


def test_no_error_about_a_case_names_an_untold_memory(world: Make, tmp_path: Path):
    lab = world([record(f"secret-{n}", "alpha", **NEVER) for n in (1, 2)] + [OTHER])
    file = tmp_path / "cases.json"
    for target in ("secret-", "secret-3", "sec"):
        file.write_text(json.dumps([{"name": "c", "query": "q", "targets": [target]}]))
        with pytest.raises(SourceError) as caught:
            rt.load_cases(lab, file, case_set="x")
        assert "secret-1" not in str(caught.value)
        assert "secret-2" not in str(caught.value)


def test_of_two_spellings_of_told_at_the_silent_one_counts(world: Make, lexical: RankingConfig):
    at = "2026-01-02T00:00:00Z"
    for said in ({"toldAt": None, "told_at": at}, {"told_at": at, "toldAt": None}):
        lab = world([record("a", "alpha", **said), OTHER])
        assert [row["memory_id"] for row in shown(lab, lexical)["list"]] == ["b"]


def test_a_scoped_question_hears_of_no_successor_layer_or_label_of_another_scope(
    world: Make, lexical: RankingConfig
):
    old = record("a", "alpha", supersededBy="hidden-id", supersededAt="2026-02-01T00:00:00Z")
    hidden = record("hidden-id", "alpha", day="2026-02-01", scope="other", layer="hiddenlayer")
    future = record("z", "alpha", day="2026-06-01", layer="futurelayer")
    found = shown(world([old, hidden, future]), lexical, at=LATER, scope="s")
    told = json.dumps(found)
    assert [row["status"] for row in found["list"]] == ["superseded"]
    assert not any(name in told for name in ("hidden-id", "hiddenlayer", "futurelayer"))


def test_a_question_to_a_lab_where_nothing_was_told_shows_an_empty_list(
    world: Make, lexical: RankingConfig
):
    nothing = shown(world(), lexical)
    assert (nothing["list"], nothing["evidence"]) == ([], [])
    assert {row["candidates"] for row in nothing["account"]} == {0}
    assert shown(world([record("a", "alpha", **NEVER)]), lexical) == nothing


def everywhere(
    folder: Path, lexical: RankingConfig, payloads: dict[str, tuple[str, list[Record]]]
) -> str:
    """All that any way of asking shows on day 100 and on day 150, as one text.

    ``payloads``: file name -> (when it was produced, its records).
    """
    folder.mkdir()
    lab = rt.open(folder / "lab.duckdb")
    days = {"early": "2026-04-11T00:00:00+00:00", "late": "2026-05-31T00:00:00+00:00"}
    turns = [
        {
            "type": "user",
            "uuid": name,
            "sessionId": "session-one",
            "timestamp": at,
            "message": {"role": "user", "content": "alpha"},
        }
        for name, at in days.items()
    ]
    (folder / "s.jsonl").write_text("".join(json.dumps(turn) + "\n" for turn in turns))
    for name, (produced, records) in payloads.items():
        write(folder / name, records, produced=produced)
        rt.ingest(lab, folder / name)
    rt.ingest(lab, folder / "s.jsonl")
    cases = [{"name": n, "query": "alpha", "targets": ["b"], "at": at} for n, at in days.items()]
    (folder / "cases.json").write_text(json.dumps(cases))
    rt.load_cases(lab, folder / "cases.json", case_set="c")
    table = rt.candidates(lab, "c", lexical)
    evaluated = rt.evaluate(table, lexical)
    walked = rt.replay(lab, lexical)
    told = {
        "candidates": [table.memory_id(*cell) for cell in zip(*table.valid.nonzero(), strict=True)],
        "features": {name: values.tolist() for name, values in table.features.items()},
        "evaluated": [evaluated.cases.to_dicts(), evaluated.hits.to_dicts()],
        "replayed": [frame.to_dicts() for frame in (walked.steps, walked.hits, walked.accounts)],
        "searched": [shown(lab, lexical, at=at) for at in (None, *days.values())],
    }
    return json.dumps(told, default=str, sort_keys=True)


def test_a_memory_told_first_and_marked_untold_later_is_nowhere(
    tmp_path: Path, lexical: RankingConfig
):
    told = record("a", "alpha secret", importance=0.9, layer="user", tags=["secret"])
    told_at = record("a", "alpha secret", importance=0.9, toldAt="2026-02-01T00:00:00Z")
    untold = record("a", "alpha secret", importance=0.9, **NEVER)
    without = everywhere(tmp_path / "without", lexical, {"1.json": ("2026-06-02", [OTHER])})
    for number, first in enumerate((told, told_at)):
        early, late = ("2026-06-01", [first, OTHER]), ("2026-06-02", [untold, OTHER])
        pair = {"1.json": early, "2.json": late}
        swapped = dict(reversed(pair.items()))
        assert everywhere(tmp_path / f"pair{number}", lexical, pair) == without
        assert everywhere(tmp_path / f"swapped{number}", lexical, swapped) == without
    assert "secret" in everywhere(tmp_path / "told", lexical, {"1.json": early})


def test_a_memory_marked_untold_first_and_told_later_shows_from_its_telling_on(
    tmp_path: Path, lexical: RankingConfig
):
    untold = record("a", "alpha secret", **NEVER)
    told = record("a", "alpha secret", toldAt="2026-05-01T00:00:00Z", origin="self_life")
    both = {"1.json": ("2026-02-01", [untold, OTHER]), "2.json": ("2026-06-02", [told, OTHER])}
    found = everywhere(tmp_path / "both", lexical, both)
    assert found == everywhere(tmp_path / "swapped", lexical, dict(reversed(both.items())))
    # What stood in the file that was told is all that counts.
    assert found == everywhere(tmp_path / "a", lexical, {"2.json": ("2026-06-02", [told, OTHER])})
    hits = json.loads(found)["evaluated"][1]
    assert [hit["query_id"] for hit in hits if hit["memory_id"] == "a"] == ["late"]
    never = {"1.json": ("2026-02-01", [untold, OTHER])}
    early = json.loads(everywhere(tmp_path / "never", lexical, never))
    assert [hit for hit in hits if hit["query_id"] == "early"] == [
        hit for hit in early["evaluated"][1] if hit["query_id"] == "early"
    ]


def message(uuid: str, role: str, text: str, day: int) -> Record:
    return {
        "type": role,
        "uuid": uuid,
        "sessionId": "one",
        "timestamp": f"2026-01-0{day}T00:00:00Z",
        "message": {"role": role, "content": text},
    }


FIRST = [message("u1", "user", "alpha hello", 1), message("a1", "assistant", "alpha secret", 2)]


def session(lab: rt.Lab, path: Path, messages: list[Record]) -> None:
    path.write_text("".join(json.dumps(one) + "\n" for one in messages))
    rt.ingest(lab, path, turns_as_memories=True)


def listed_ids(lab: rt.Lab, lexical: RankingConfig) -> list[str]:
    return sorted(row["memory_id"] for row in shown(lab, lexical)["list"])


@pytest.mark.parametrize("settled_after", [0, 1, 2])
def test_a_gate_that_was_settled_once_stays_shut_through_every_import(
    tmp_path: Path, lexical: RankingConfig, settled_after: int
):
    lab = rt.open(tmp_path / "lab.duckdb")
    later = [*FIRST, message("u2", "user", "alpha more of it", 3)]
    for number, said in enumerate((FIRST, later)):
        if number == settled_after:
            settle(lab, "claude_code")
        session(lab, tmp_path / f"{number}.jsonl", said)
    if settled_after == 2:
        settle(lab, "claude_code")
    assert listed_ids(lab, lexical) == ["u1", "u2"]
    session(lab, tmp_path / "0.jsonl", FIRST[1:])
    assert listed_ids(lab, lexical) == ["u1", "u2"]


def test_another_source_that_claims_a_gated_memory_does_not_open_it(
    tmp_path: Path, lexical: RankingConfig
):
    lab = rt.open(tmp_path / "lab.duckdb")
    session(lab, tmp_path / "s.jsonl", FIRST)
    settle(lab, "claude_code")
    write(tmp_path / "c.json", [record("a1", "alpha secret", day="2026-01-02"), OTHER])
    rt.ingest(lab, tmp_path / "c.json")
    assert listed_ids(lab, lexical) == ["b", "u1"]


def settle(lab: rt.Lab, source: str) -> None:
    with lab.writing() as con:
        settle_sharing(con, source)


def test_a_successor_that_the_gate_shuts_replaces_nothing_whenever_it_is_shut(tmp_path: Path):
    found = []
    for name, settled_first in (("after", False), ("before", True)):
        folder = tmp_path / name
        folder.mkdir()
        lab = rt.open(folder / "lab.duckdb")
        if settled_first:
            settle(lab, "agent")
        old = record("old", "alpha old", supersededBy="new", status="superseded")
        write(folder / "old.json", [old])
        new = {"version": "connector-v1", "source": "agent", "scope": "s"}
        records = [record("new", "alpha new", day="2026-01-03", toldAt="2026-01-04T00:00:00Z")]
        more = new | {"producedAt": "2026-07-01T00:00:00Z", "records": records}
        (folder / "new.json").write_text(json.dumps(more))
        rt.ingest(lab, folder)
        if not settled_first:
            settle(lab, "agent")
        with lab.reading() as con:
            found.append(read_spans(con).select("memory_id", "enters_at", "superseded_at").rows())
    assert found[0] == found[1] == [("old", 1_767_225_600_000_000, None), ("new", None, None)]


def test_the_use_of_an_untold_memory_and_its_turn_do_not_move_the_default_time(
    world: Make, tmp_path: Path
):
    lab = world([OLD, record("u", "alpha secret", day="2026-06-01", **NEVER)])
    with lab.reading() as con:
        before = latest_event_at(con)
    used = [Access(memory_id="u", used_at=datetime(2026, 6, 2, tzinfo=UTC), kind="recalled")]
    with lab.writing() as con:
        insert_rows(con, used)
        assert latest_event_at(con) == before
        insert_rows(con, [used[0].with_(memory_id="a")])
        assert latest_event_at(con) == 1_780_358_400_000_000  # 2026-06-02
    gated = rt.open(tmp_path / "gated.duckdb")
    session(gated, tmp_path / "s.jsonl", FIRST)
    settle(gated, "claude_code")
    with gated.reading() as con:
        assert latest_event_at(con) == 1_767_225_600_000_000  # of u1, not of a1 a day later


def test_no_chart_or_page_names_an_untold_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # The charts are looked at in the page, as SVG.
    monkeypatch.setattr("recalltune.report.journey.write_picture", lambda picture, out: out)
    lab = make_lab(
        tmp_path / "lab.duckdb",
        [Note("a", "tea", 0.0), Note("secret-u", "tea hush", 1.0, gated=True)],
        [Ask("q", "tea", 5.0, ("secret-u",)), Ask("q2", "tea", 5.0, ("a", "secret-u"), ())],
    )
    config = rt.preset("textbook")
    table = rt.candidates(lab, "s", config, encoder=WordEncoder())
    frame = flow(table, {"textbook": rt.evaluate(table, config)}, "q2")
    assert frame["memory_id"].to_list() == ["a"]
    assert [withheld_targets(table, name) for name in ("q", "q2")] == [1, 1]
    write_report(lab, "s", config, tmp_path / "r.html", encoder=WordEncoder())
    page = (tmp_path / "r.html").read_text()
    assert "secret-u" not in page
    assert "hush" not in page
    assert "1 target withheld, or not known when this was asked" in page


def test_an_error_about_a_label_given_twice_says_what_was_written(world: Make, tmp_path: Path):
    lab = world([record("secret-1", "alpha", **NEVER), OTHER])
    file = tmp_path / "cases.json"
    for said in (
        {"targets": ["sec", "secr"]},
        {"targets": ["sec"], "hardNegatives": ["secr"]},
        {"targets": ["b"], "grades": {"sec": 1}},
    ):
        file.write_text(json.dumps([{"name": "c", "query": "q", **said}]))
        with pytest.raises(SourceError, match="'sec'") as caught:
            rt.load_cases(lab, file, case_set="x")
        assert "secret-1" not in str(caught.value)
