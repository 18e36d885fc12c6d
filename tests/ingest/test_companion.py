"""A companion's file: numbering, jobs, repeats, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recalltune.errors import ContractError, SourceError
from recalltune.ingest.companion import Companion, read_companion, write_companion
from recalltune.store import Lab, read_memories, read_table, read_turns

AT = "2026-08-01T10:00:00Z"
TALK = {
    "now": "2026-08-02T10:00:00Z",
    "scope": "shelf",
    "exchanges": [
        {"exchange_id": "a", "at": AT, "user": {"text": "tea?", "gist": "asks for tea", "en": "T"},
         "companion": {"text": "yes"}},
        {"exchange_id": "b", "at": AT, "user": {"text": "more tea"}, "repeats": "a"},
    ],
    "lived": [{"text": "drank alone", "at": AT, "salience": 0.9}],
}  # fmt: skip


def companion(**changes: object) -> Companion:
    return Companion.model_validate_json(json.dumps({**TALK, **changes}))


def table(lab: Lab, name: str, **equals: str):
    with lab.reading() as con:
        return read_table(con, name, **equals)


def test_memories_count_up_user_first_then_what_was_lived(lab: Lab):
    told = write_companion(lab, companion(), file="shelf.json")
    memories = table(lab, "memory")
    assert memories["memory_id"].to_list() == ["m001", "m002", "m003", "m004"]
    assert memories["turn_id"].to_list() == ["a/user", "a/companion", "b/user", None]
    assert memories["origin"].to_list() == [None, None, None, "self_life"]
    assert memories["duplicate_of"].to_list() == [None, None, "m001", None]
    assert dict(companion().english()) == {"m001": "T"}
    assert told == {"told": 2, "no attempt to share": 1, "no message": 1}
    assert set(table(lab, "memory_span")["file"]) == {"shelf.json"}


def test_a_second_call_goes_on_counting(lab: Lab):
    write_companion(lab, companion())
    more = companion(exchanges=[{"exchange_id": "c", "at": AT, "user": {"text": "still tea"},
                                 "repeats": "b"}], lived=[])  # fmt: skip
    write_companion(lab, more)
    with lab.reading() as con:
        turns, memories = read_turns(con), read_memories(con)
    assert turns["seq"].to_list() == [0, 1, 2, 3]
    assert memories["memory_id"].to_list()[-1] == "m005"
    assert memories["duplicate_of"].to_list()[-1] == "m003"


def test_what_has_no_gist_yet_is_queued_and_the_rest_is_done(lab: Lab):
    write_companion(lab, companion())
    states = dict(table(lab, "job").filter(kind="gist").select("ref", "state").iter_rows())
    assert states == {"m001": "done", "m002": "queued", "m003": "queued"}


def test_a_repeat_of_what_was_never_said_is_refused_with_the_nearest(lab: Lab):
    wrong = companion(exchanges=[{"exchange_id": "c", "at": AT, "user": {"text": "x"},
                                  "repeats": "aa"}])  # fmt: skip
    with pytest.raises(ContractError, match=r"'c' repeats 'aa', which does not come before it"):
        write_companion(lab, wrong)
    assert table(lab, "memory").height == 0


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "not a companion's memory: it: Invalid JSON"),
        ("{}", "now: Field required"),
        ('{"now": "2026-08-02T10:00:00"}', "now: Input should have timezone"),
        ('{"now": "2026-08-02T10:00:00Z", "told": 1}', "told: Extra inputs"),
        ('{"now": "2026-08-02T10:00:00Z", "lived": [{"text": "x"}]}', r"lived\.0\.at: Field"),
    ],
)
def test_a_file_that_says_something_else_is_refused_with_its_field(
    tmp_path: Path, content: str, says: str
):
    file = tmp_path / "shelf.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(SourceError, match=rf"shelf\.json:1: .*{says}"):
        read_companion(file)
