"""Spans as a replay reads them, the newest event, and the digest of the data."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recalltune import store
from recalltune.errors import ContractError

pytestmark = pytest.mark.slow

DAY = timedelta(days=1)
START = datetime(2026, 1, 1, tzinfo=UTC)
START_US = 1767225600 * 10**6


def _add(con: duckdb.DuckDBPyConnection, memory_id: str, *, version: int = 1, **span) -> None:
    [text] = store.put_texts(con, [f"text of {memory_id} {version}"])
    if version == 1:
        store.insert_rows(con, [store.Memory(memory_id=memory_id, text_hash=text)])
    row = store.MemorySpan(memory_id=memory_id, version=version, text_hash=text, **span)
    store.insert_rows(con, [row])


def test_a_span_enters_when_it_is_both_known_and_told(con):
    _add(con, "plain", known_at=START)
    _add(con, "told later", known_at=START, gated=True, told_at=START + DAY)
    _add(con, "told before known", known_at=START + 2 * DAY, gated=True, told_at=START)
    entered = dict(store.read_spans(con).select("memory_id", "enters_at").iter_rows())
    day = 86_400 * 10**6
    assert entered == {
        "plain": START_US,
        "told later": START_US + day,
        "told before known": START_US + 2 * day,
    }


def test_a_span_never_told_comes_last_without_an_entry(con):
    _add(con, "a secret", known_at=START, gated=True)
    _add(con, "open", known_at=START)
    spans = store.read_spans(con)
    assert spans["memory_id"].to_list() == ["open", "a secret"]
    assert spans["enters_at"].to_list() == [START_US, None]
    assert spans["gated"].to_list() == [False, True]


def test_an_undated_span_exists_from_the_beginning_and_has_no_age(con):
    _add(con, "dated", known_at=START, event_at=START)
    _add(con, "undated")
    _add(con, "undated but told", gated=True, told_at=START + DAY)
    spans = store.read_spans(con)
    assert spans["memory_id"].to_list() == ["undated", "dated", "undated but told"]
    assert spans["enters_at"].to_list()[0] == store.BEGINNING_US
    assert spans["event_at"].to_list() == [None, START_US, None]


def test_an_ungated_span_with_a_telling_is_refused(con):
    with pytest.raises(ContractError, match="CHECK"):
        _add(con, "m", told_at=START)


def test_spans_are_ordered_by_entry_then_id_then_version(con):
    for memory_id in ("b", "a"):
        _add(con, memory_id, known_at=START, leaves_at=START + DAY)
        _add(con, memory_id, version=2, known_at=START + DAY)
    keys = store.read_spans(con).select("memory_id", "version").rows()
    assert keys == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]


def test_the_session_of_a_memory_falls_back_to_that_of_its_turn(con):
    [text] = store.put_texts(con, ["hello"])
    turn = store.Turn(
        turn_id="t",
        session_id="s",
        seq=0,
        role="user",
        text_hash=text,
        source="test",
        said_at=START,
    )
    store.insert_rows(
        con,
        [
            turn,
            store.Memory(memory_id="m", text_hash=text, turn_id="t"),
            store.MemorySpan(memory_id="m", text_hash=text, known_at=START),
        ],
    )
    assert store.read_spans(con)["session"].to_list() == ["s"]
    assert store.read_turns(con, "s")["text"].to_list() == ["hello"]
    assert store.read_turns(con, "other").is_empty()


def test_the_newest_event_is_the_last_birth_telling_end_or_use(con):
    assert store.latest_event_at(con) is None
    _add(con, "m", known_at=START, event_at=START + 400 * DAY)
    assert store.latest_event_at(con) == START_US
    _add(con, "n", known_at=START, leaves_at=START + DAY)
    assert store.latest_event_at(con) == START_US + 86_400 * 10**6
    store.insert_rows(con, [store.Access(memory_id="m", used_at=START + 2 * DAY, kind="cited")])
    assert store.latest_event_at(con) == START_US + 2 * 86_400 * 10**6
    assert store.latest_event_at(con, scope="elsewhere") is None


MEMORIES = st.lists(
    st.tuples(st.text("abc", min_size=1, max_size=3), st.integers(0, 5)),
    min_size=1,
    max_size=6,
    unique_by=lambda pair: pair[0],
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(memories=MEMORIES, swap=st.randoms(use_true_random=False))
def test_bug_120_the_digest_does_not_depend_on_the_order_of_import(con, memories, swap):
    """O120. Kind: undefined order."""
    shuffled = memories.copy()
    swap.shuffle(shuffled)
    digests = []
    for order in (memories, shuffled):
        con.execute("delete from memory")
        con.execute("delete from memory_span")
        for memory_id, day in order:
            _add(con, memory_id, known_at=START + day * DAY)
        digests.append(store.data_digest(con))
    assert digests[0] == digests[1]


def test_the_digest_sees_a_change_in_any_table_that_can_change_a_result(con):
    _add(con, "m", known_at=START)
    seen = [store.data_digest(con)]
    for statement in (
        "update memory set salience = 0.5",
        "update memory_span set known_at = known_at + interval 1 microsecond",
        "insert into access values ('m', '2026-01-02T00:00:00Z', 'cited', 'everyone', '')",
        "insert into label values ('s', 'c', 'm', 'target', 1, null, 'judged', '')",
        "update label set grade = 2",
    ):
        con.execute(statement)
        seen.append(store.data_digest(con))
    assert len(set(seen)) == len(seen)


def test_the_digest_sees_what_was_said_of_a_memory_before_it_was_restated(con):
    then = {"pinned": False, "source": "manual", "tags": ("b", "a")}
    _add(con, "m", known_at=START, leaves_at=START + DAY, layer="log", **then)
    _add(con, "m", version=2, known_at=START + DAY, layer="log", **then)
    digests = [store.data_digest(con)]
    for statement in (
        "update memory set layer = 'user'",
        "update memory set layer = 'log', tags = ['a', 'b']",
        "update memory_span set tags = ['a', 'b']",
        "update memory_span set layer = 'user' where version = 1",
        "update memory_span set salience = 0.5 where version = 1",
    ):
        con.execute(statement)
        digests.append(store.data_digest(con))
    # Where spans say what their memory says, they say nothing of their own; nor does an order.
    assert digests[2] == digests[3]
    assert len(set(digests)) == 5


def test_a_span_without_attributes_has_those_of_its_memory_and_one_with_some_its_own(con):
    own = {"pinned": True, "source": "notes", "tags": ("x",), "salience": 0.25, "session": "s"}
    _add(con, "m", known_at=START, file="f.json", layer="user", **own)
    _add(con, "n", known_at=START)
    con.execute("update memory set layer = 'project', salience = 0.75, title = 'T'")
    columns = ["layer", "salience", "title", "pinned", "source", "session", "file"]
    assert store.read_spans(con).select(columns).rows() == [
        ("user", 0.25, None, True, "notes", "s", "f.json"),
        ("project", 0.75, "T", False, "manual", None, ""),
    ]


@pytest.mark.parametrize("some", [{"layer": "log"}, {"tier": "core"}, {"pinned": False}])
def test_a_span_with_some_attributes_and_without_what_every_memory_has_is_refused(con, some):
    with pytest.raises(ContractError, match="CHECK"):
        _add(con, "m", **some)


def test_the_digest_ignores_where_a_row_was_read(con):
    _add(con, "m", known_at=START, file="a.json")
    before = store.data_digest(con)
    con.execute("update memory_span set file = 'b.json'")
    assert store.data_digest(con) == before


def test_forgetting_a_file_takes_its_claims_and_names_what_it_spoke_of(con):
    said = {"line": 1, "said": "{}"}
    rows = [
        store.ClaimRow(kind="memory", ref="m", file="a", span="{}", **said),
        store.ClaimRow(kind="memory", ref="m", file="b", span="{}", **said),
        store.ClaimRow(kind="turn", ref="t", file="b", **said),
        store.Access(memory_id="m", used_at=START, kind="cited", file="b"),
    ]
    store.insert_rows(con, rows)
    assert store.forget_file(con, "b") == {"memory": ["m"], "turn": ["t"]}
    assert store.claims_of(con, "memory", ["m", "n"]) == {"m": [rows[0]]}
    assert store.claims_of(con, "turn", ["t"]) == {}
    assert store.read_accesses(con).is_empty()


def test_what_is_written_under_an_id_replaces_all_that_stood_there(con):
    _add(con, "m", known_at=START)
    _add(con, "m", version=2, known_at=START + DAY)
    _add(con, "n", known_at=START)
    [text] = store.put_texts(con, ["text of m 1"])
    span = store.MemorySpan(memory_id="m", text_hash=text)
    store.replace_memories(con, ["m"], [store.Memory(memory_id="m", text_hash=text)], [span])
    assert store.read_spans(con).select("memory_id", "version").rows() == [("m", 1), ("n", 1)]
    store.replace_memories(con, ["m"], [], [])
    assert store.read_memories(con)["memory_id"].to_list() == ["n"]
