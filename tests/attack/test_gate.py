"""What was never told changes nothing that is shown: pairs of labs that differ in it alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import recalltune as rt
from attack.conftest import LATER, Make, Record, record, shown, write
from recalltune.errors import SourceError
from recalltune.pipeline.config import RankingConfig
from recalltune.store import data_digest, read_spans

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
    nothing = {"list": [], "evidence": [], "account": []}
    assert shown(world([record("a", "alpha", **NEVER)]), lexical) == nothing
    assert shown(world(), lexical) == nothing


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
