"""The search log replayed: what would be shown instead, why, and how much of it is noise."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recalltune as rt
from logged_searches import Search, log_searches, ranking
from recalltune.candidates.table import Stamp
from recalltune.errors import ContractError, ParameterError
from recalltune.pipeline.config import RankingConfig
from recalltune.production.recallnest_file import import_recallnest
from recalltune.replay import explained_changes
from recalltune.replay.list_changes import list_change
from recalltune.replay.log_views import churn_means, churn_rows
from recalltune.replay.logged_lists import WorldIds, logged_list
from recalltune.replay.search_log import Cut, LogReplay, replay_search_log
from recalltune.store import Lab, read_table
from small_lab import Note, WordEncoder, make_lab

RANKINGS = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)

# By words alone a, b, c, d: "tea" four times to once among four words.
NOTES = [
    Note("a", "tea tea tea tea", 4.0),
    Note("b", "tea tea tea one", 4.0),
    Note("c", "tea tea one two", 0.0),
    Note("d", "tea one two three", 4.0),
]
PLAIN = ranking()
# c is five days old and weighs 1/32; the others are one day old and weigh 1/2: a, b, d, c.
FADING = ranking({"kind": "decay", "half_life_days": 1.0})


def lab_of(folder: Path, searches: Sequence[Search], notes: Sequence[Note] = NOTES) -> Lab:
    made = make_lab(folder / "lab.duckdb", notes, [])
    log_searches(made, searches)
    return made


def differences(replayed: LogReplay, *columns: str) -> list[tuple[object, ...]]:
    return replayed.differences.select(*columns).rows()


# The comparison of two lists.


def test_a_comparison_by_hand():
    change = list_change(["b", "a", "d"], ["a", "b", "c"])
    assert change.left == (("d", 3),)
    assert change.entered == (("c", 3),)
    assert change.moved == (("a", 2, 1), ("b", 1, 2))
    assert (change.kept, change.length) == (0, 3)
    assert change.churn == pytest.approx(1 / 3)
    # A = 0, 1, 2/3: .1 (0 + .9 + .81 * 2/3) + .729 * 2/3 = .63.
    assert change.rbo == pytest.approx(0.63)


@pytest.mark.parametrize(
    ("before", "after", "churn"),
    [
        pytest.param([], [], 0.0, id="both empty"),
        pytest.param([], ["a"], 1.0, id="nothing before"),
        pytest.param(["a", "b"], [], 1.0, id="nothing after"),
        pytest.param(["a", "b", "c", "d"], ["d", "a"], 0.5, id="shorter: 1 - 2 / 4"),
        pytest.param(["a"], ["b", "a", "c", "d"], 0.75, id="longer: 1 - 1 / 4"),
    ],
)
def test_churn_by_hand(before, after, churn):
    assert list_change(before, after).churn == churn


@given(RANKINGS, RANKINGS)
def test_churn_is_zero_exactly_for_the_same_set_and_the_parts_make_up_both_lists(before, after):
    change = list_change(before, after)
    assert (change.churn == 0) == (set(before) == set(after))
    entered, left = {one for one, _ in change.entered}, {one for one, _ in change.left}
    moved = {one for one, _, _ in change.moved}
    assert entered == set(after) - set(before)
    assert left == set(before) - set(after)
    assert len(entered) + len(moved) + change.kept == len(after) == change.length
    assert len(left) + len(moved) + change.kept == len(before)
    assert all(before[at - 1] == one for one, at in change.left)
    assert all(after[at - 1] == one for one, at in change.entered)
    assert all(before[at - 1] == one == after[to - 1] != before[to - 1] if to <= len(before)
               else before[at - 1] == one == after[to - 1]
               for one, at, to in change.moved)  # fmt: skip
    assert (change.rbo == 1 and len(before) == len(after)) == (before == after)


@given(RANKINGS, RANKINGS)
def test_the_way_back_has_the_same_churn_and_what_entered_leaves(before, after):
    there, back = list_change(before, after), list_change(after, before)
    assert (there.churn, there.rbo) == (back.churn, back.rbo)
    assert set(there.entered) == set(back.left)
    assert {(one, to, at) for one, at, to in there.moved} == set(back.moved)


# One log by hand.


@pytest.fixture
def by_hand(tmp_path: Path) -> LogReplay:
    lab = lab_of(tmp_path, [Search("q", ("b", "a", "d"))])
    return replay_search_log(lab, PLAIN, production=FADING)


@pytest.mark.slow
def test_a_log_by_hand(by_hand: LogReplay) -> None:
    row = by_hand.queries.row(0, named=True)
    assert {name: row[name] for name in ("p_shown", "c_shown", "entered", "left", "moved")} == {
        "p_shown": 3, "c_shown": 3, "entered": 1, "left": 1, "moved": 2,
    }  # fmt: skip
    assert row["churn"] == pytest.approx(1 / 3)
    assert row["rbo"] == pytest.approx(0.63)
    # Production's own replay shows a, b, d: the first two swapped.
    assert row["floor_churn"] == 0.0
    assert row["floor_rbo"] == pytest.approx(0.9)
    assert (row["session"], row["scope"], row["query"]) == ("2026-01-06", "team", "tea")
    assert row["set_aside"] is False


@pytest.mark.slow
def test_what_left_is_explained_by_the_configuration_and_what_entered_by_production(
    by_hand: LogReplay,
) -> None:
    assert differences(
        by_hand, "memory_id", "change", "from_rank", "to_rank", "fate", "pushed_out_by",
        "explained_by", "noise",
    ) == [
        ("d", "left", 3, None, "limit", "never_inside", "arms", False),
        ("c", "entered", None, 3, "limit", "decay", "decay", False),
        ("a", "moved", 2, 1, None, None, None, True),
        ("b", "moved", 1, 2, None, None, None, True),
    ]  # fmt: skip
    assert by_hand.differences["margin"].to_list() == [1.0, 1.0, None, None]


@pytest.mark.slow
def test_a_difference_that_production_shows_as_well_is_noise(tmp_path: Path) -> None:
    """The log names d, both rankings show c in its place."""
    lab = lab_of(tmp_path, [Search("q", ("a", "b", "d"))])
    replayed = replay_search_log(lab, PLAIN, production=ranking(top_k=4))
    assert replayed.queries["churn"].to_list() == replayed.queries["floor_churn"].to_list()
    assert differences(replayed, "memory_id", "fate", "stage", "explained_by") == [
        ("d", "limit", "select", "noise floor"),
        ("c", "shown", "noise floor", "noise floor"),
    ]


@pytest.mark.slow
def test_what_is_listed_below_the_length_of_the_log_is_cut(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, [Search("q", ("d",))])
    replayed = replay_search_log(lab, ranking(top_k=4), production=FADING)
    assert differences(replayed, "memory_id", "fate", "stage", "margin", "unit") == [
        ("d", "limit", "cut", 3.0, "places"),
        ("a", "shown", "noise floor", None, None),
    ]


@pytest.mark.slow
def test_a_difference_without_a_stage_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = lab_of(tmp_path, [Search("q", ("b", "a", "d"))])
    told = explained_changes.fates

    def unnamed(*given: object, **named: object) -> pl.DataFrame:
        return told(*given, **named).with_columns(fate=pl.lit("shown"))  # type: ignore[arg-type]

    monkeypatch.setattr(explained_changes, "fates", unnamed)
    with pytest.raises(
        ContractError, match="'c' entered the list of query 'q' and no stage makes it"
    ):
        replay_search_log(lab, PLAIN, production=FADING)


@pytest.mark.slow
def test_how_far_lists_are_compared(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, [Search("q", ("a", "d"))])
    wide = ranking(top_k=4)
    expected: dict[Cut, tuple[list[str], tuple[int, int]]] = {
        "as_shown": (["b"], (2, 2)),
        "own": (["b", "c"], (2, 4)),
        1: ([], (1, 1)),
        3: (["b", "c"], (2, 3)),
    }
    for cut, (entered, lengths) in expected.items():
        replayed = replay_search_log(lab, wide, production=wide, cut=cut)
        found = replayed.differences.filter(pl.col("change") == "entered")
        assert found["memory_id"].to_list() == entered
        assert replayed.queries.select("p_shown", "c_shown").row(0) == lengths


@pytest.mark.slow
def test_where_production_showed_nothing_nothing_is_cut(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, [Search("q", ()), Search("r", (), query="coffee")])
    production = ranking({"kind": "threshold", "min_score": 1.0})
    replayed = replay_search_log(lab, PLAIN, production=production)
    assert replayed.queries.select("query_id", "c_shown", "churn", "rbo", "floor_churn").rows() == [
        ("q", 3, 1.0, 0.0, 0.0),
        ("r", 0, 0.0, 1.0, 0.0),
    ]
    assert set(differences(replayed, "fate", "explained_by")) == {("threshold", "threshold")}


# What cannot be replayed.


@pytest.mark.slow
def test_one_id_of_ten_may_be_missing_and_is_left_out_of_both_lists(tmp_path: Path) -> None:
    notes = [Note(f"m{n}", "tea", 1.0) for n in range(12)]
    ids = tuple(f"m{n}" for n in range(9))
    wide = ranking(top_k=12)
    lab = lab_of(tmp_path, [Search("q", (*ids[:4], "ghost", *ids[4:]))], notes)
    replayed = replay_search_log(lab, wide, production=wide)
    row = replayed.queries.row(0, named=True)
    assert (row["unreplayable"], row["set_aside"]) == (1, False)
    # Equal scores: by id, m0, m1, m10, m11, m2, ... so m10, m11 enter, m7, m8 leave.
    assert (row["p_shown"], row["c_shown"], row["entered"]) == (9, 9, 2)
    assert "ghost" not in str(replayed.differences.rows())


@pytest.mark.slow
def test_above_a_tenth_the_query_is_set_aside_and_says_nothing(tmp_path: Path) -> None:
    searches = [Search("q", ("a", "b", "ghost")), Search("r", ("a", "b", "c"))]
    lab = lab_of(tmp_path, searches)
    replayed = replay_search_log(lab, PLAIN, production=PLAIN)
    assert replayed.queries.select("query_id", "unreplayable", "set_aside", "churn").rows() == [
        ("q", 1, True, None),
        ("r", 0, False, 0.0),
    ]
    assert (replayed.counts["replayed"], replayed.counts["set_aside"]) == (1, 1)
    assert replayed.summary()["n"].to_list() == [1] * 5
    assert replayed.differences.height == 0


@pytest.mark.slow
def test_whatever_is_outside_the_world_is_a_number_and_nothing_else(tmp_path: Path) -> None:
    outside = {
        "x-never-told": Note("", "tea", 1.0, gated=True),
        "x-elsewhere": Note("", "tea", 1.0, scope="home"),
        "x-ended": Note("", "tea", 1.0, leaves=3.0),
        "x-same-instant": Note("", "tea", 5.0),
        "x-told-later": Note("", "tea", 1.0, gated=True, told=8.0),
    }
    notes = [*NOTES, *(replace(note, memory_id=one) for one, note in outside.items())]
    searches = [Search(one, ("a", "b", one)) for one in (*outside, "x-unknown")]
    lab = lab_of(tmp_path, [*searches, Search("whole", ("a", "b", "c"))], notes)
    replayed = replay_search_log(lab, PLAIN, production=FADING)
    told = replayed.queries.select("query_id", "unreplayable", "not_yet").rows()
    assert {query: (missing, later) for query, missing, later in told} == {
        "x-never-told": (1, 0), "x-elsewhere": (1, 0), "x-ended": (1, 0),
        "x-same-instant": (1, 1), "x-told-later": (1, 1), "x-unknown": (1, 0), "whole": (0, 0),
    }  # fmt: skip
    named = {one["memory_id"] for query in replayed.objects() for one in query["differences"]}
    assert named <= set("abcd")
    assert not any("x-" in (row["ids"] or "") for row in churn_rows(replayed).to_dicts())


@pytest.mark.slow
def test_an_untold_memory_and_one_that_never_was_look_the_same(tmp_path: Path) -> None:
    for name in ("told", "without"):
        (tmp_path / name).mkdir()
    searches = [Search("q", (*"abcd", "x")), Search("r", ("x",), day=6.0)]
    secret = Note("x", "tea tea tea tea tea tea", 1.0, gated=True)
    seen = [
        replay_search_log(lab_of(tmp_path / name, searches, notes), PLAIN, production=FADING)
        for name, notes in (("told", [*NOTES, secret]), ("without", NOTES))
    ]
    assert list(seen[0].objects()) == list(seen[1].objects())
    assert seen[0].counts == seen[1].counts


@pytest.mark.slow
def test_a_narrower_scope_rule_is_told_as_unreplayable_and_a_wider_one_as_scope(
    tmp_path: Path,
) -> None:
    notes = [Note("a", "tea tea", 1.0, scope="pro"), Note("b", "tea", 1.0, scope="project")]
    exact, family = ranking(), ranking(admit={"scope_match": "family"})
    lab = lab_of(tmp_path, [Search("q", ("a",), scope="pro")], notes)
    wider = replay_search_log(lab, family, production=exact, cut="own")
    assert differences(wider, "memory_id", "fate", "stage") == [("b", "scope", "admit")]
    log_searches(lab, [Search("r", ("a", "b"), scope="pro")])
    narrower = replay_search_log(lab, exact, production=family)
    assert narrower.queries["unreplayable"].to_list() == [0, 1]
    assert "b" not in narrower.differences["memory_id"].to_list()


@pytest.mark.slow
def test_what_production_may_not_see_is_left_out_of_the_other_list_too(tmp_path: Path) -> None:
    """The log names b, as if production searched the family; it is said to search one scope."""
    notes = [Note(f"m{n}", "tea tea", 1.0, scope="pro") for n in range(10)]
    wide = ranking(top_k=12, admit={"scope_match": "family"})
    ids = tuple(note.memory_id for note in notes)
    lab = lab_of(
        tmp_path,
        [Search("q", (*ids, "b"), scope="pro")],
        [*notes, Note("b", "tea", 1.0, scope="project")],
    )
    replayed = replay_search_log(lab, wide, production=ranking(top_k=12), cut="own")
    row = replayed.queries.row(0, named=True)
    assert (row["unreplayable"], row["p_shown"], row["c_shown"], row["churn"]) == (1, 10, 10, 0.0)


@pytest.mark.slow
def test_ids_a_list_repeats_count_once_and_are_counted(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, [Search("q", ("a", "b", "a", "c", "a"))])
    row = replay_search_log(lab, PLAIN, production=PLAIN).queries.row(0, named=True)
    assert (row["repeated"], row["p_shown"], row["churn"], row["rbo"]) == (2, 3, 0.0, 1.0)


@pytest.mark.slow
def test_same_instant_counts_the_spans_of_the_searched_scope(tmp_path: Path) -> None:
    notes = [*NOTES, Note("e", "tea", 5.0), Note("f", "tea", 5.0, scope="home")]
    lab = lab_of(tmp_path, [Search("q", ("a",)), Search("r", ("a",), scope=None)], notes)
    replayed = replay_search_log(lab, PLAIN, production=PLAIN)
    assert replayed.queries["same_instant"].to_list() == [1, 2]


def test_a_tenth_is_not_above_a_tenth_whatever_the_length():
    class Everything(WorldIds):
        def __init__(self) -> None:
            pass

        def holds(self, memory_id: str, at: int, scope: str | None) -> bool:
            return not memory_id.startswith("x")

        def enters_later(self, memory_id: str, at: int, scope: str | None) -> bool:
            return False

    for tens in range(1, 60):
        ids = [f"{'x' if n < tens else 'm'}{n}" for n in range(10 * tens)]
        assert not logged_list(ids, [Everything()], 0, None).set_aside
        assert logged_list(ids[:-1], [Everything()], 0, None).set_aside


# Time, clusters, and the noise floor.


@pytest.mark.slow
def test_searches_without_a_time_are_counted_and_none_with_one_is_refused(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, [Search("q", ("a",)), Search("u", ("a",), day=None)])
    replayed = replay_search_log(lab, PLAIN, production=PLAIN)
    assert replayed.queries["query_id"].to_list() == ["q"]
    assert (replayed.counts["logged"], replayed.counts["undated"]) == (2, 1)
    with lab.writing() as con:
        con.execute("delete from search_log where query_id = 'q'")
    with pytest.raises(ParameterError, match="no search can be replayed: none of 1 says when"):
        replay_search_log(lab, PLAIN, production=PLAIN)


@pytest.mark.slow
def test_a_lab_without_a_log_and_a_cut_or_p_out_of_range_are_refused(tmp_path: Path) -> None:
    lab = make_lab(tmp_path / "lab.duckdb", NOTES, [])
    with pytest.raises(ParameterError, match="the lab holds no search log"):
        replay_search_log(lab, PLAIN, production=PLAIN)
    for cut in (0, -1, True, "shown", 2.5):
        with pytest.raises(ParameterError, match="cut must be 'as_shown', 'own' or a number"):
            replay_search_log(lab, PLAIN, production=PLAIN, cut=cut)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"p must lie in \(0, 1\), got 1"):
        replay_search_log(lab, PLAIN, production=PLAIN, p=1.0)


@pytest.mark.slow
def test_a_search_is_ranked_as_of_its_time(tmp_path: Path) -> None:
    """d was not there on day 3, c was on both."""
    lab = lab_of(tmp_path, [Search("early", ("c",), day=3.0), Search("late", ("a", "b", "c"))])
    replayed = replay_search_log(lab, PLAIN, production=PLAIN, cut="own")
    assert replayed.queries["churn"].to_list() == [0.0, 0.0]


@pytest.mark.slow
def test_a_day_in_utc_is_a_session_and_one_session_gives_no_interval(tmp_path: Path) -> None:
    shown = ("a", "b", "c")
    days = (5.0, 5.9, 6.0)
    lab = lab_of(tmp_path, [Search(f"q{day}", shown, day=day) for day in days])
    replayed = replay_search_log(lab, PLAIN, production=PLAIN)
    assert replayed.queries["session"].to_list() == ["2026-01-06", "2026-01-06", "2026-01-07"]
    assert replayed.summary()["sessions"].to_list() == [2] * 5
    with lab.writing() as con:
        con.execute("delete from search_log where query_id = 'q6.0'")
    alone = replay_search_log(lab, PLAIN, production=PLAIN)
    assert alone.summary().select("lo", "hi").row(0) == (None, None)
    assert churn_means(alone) is None


def test_the_interval_resamples_sessions_and_not_queries() -> None:
    """Ten queries a day that agree: as many as there are days, ten times over."""
    whole = _made_up([[float(day % 2)] * 10 for day in range(30)])
    days = _made_up([[float(day % 2)] for day in range(30)])
    wide, same = (one.summary().row(0, named=True) for one in (whole, days))
    assert (wide["n"], same["n"], wide["sessions"]) == (300, 30, 30)
    assert (wide["lo"], wide["hi"]) == pytest.approx((same["lo"], same["hi"]))
    # Had queries been drawn, the interval would be narrower by the root of ten.
    single = _made_up([[churn] for churn in whole.queries["churn"]]).summary().row(0, named=True)
    assert wide["hi"] - wide["lo"] > 2.5 * (single["hi"] - single["lo"])


def test_the_difference_is_paired_query_by_query() -> None:
    """Churn .5 and 1 by turns, the floor always .25 below: the difference has no spread."""
    replayed = _made_up([[0.5, 1.0]] * 20, below=0.25)
    row = replayed.summary().row(2, named=True)
    assert (row["measure"], row["mean"], row["changed"]) == ("churn above the floor", 0.25, 40)
    assert row["hi"] - row["lo"] < 1e-12


def _made_up(days: Sequence[Sequence[float]], below: float = 0.0) -> LogReplay:
    """A replay with these values of churn, a session a day."""
    rows = [
        {"session": f"d{day:03}", "churn": churn, "floor_churn": churn - below,
         "rbo": 1 - churn, "floor_rbo": 1.0, "set_aside": False}
        for day, part in enumerate(days) for churn in part
    ]  # fmt: skip
    return LogReplay(
        queries=pl.DataFrame(rows), differences=pl.DataFrame(), counts={}, ledger=(),
        config=PLAIN, production=PLAIN, stamp=Stamp("none", "none", "none"),
        cut="as_shown", p=0.9,
    )  # fmt: skip


WORDS = ["tea garden", "server backup", "备份 会议", "release tea", "garden"]


def written_by(lab: Lab, production: RankingConfig, days: Sequence[float]) -> list[Search]:
    """The log production writes: each question ranked alone, as of its time."""
    searches = []
    for number, day in enumerate(days):
        text = WORDS[number % len(WORDS)]
        at = int(_day(day))
        table = rt.ask(lab, text, production, at=at, scope="team", encoder=WordEncoder())
        order = rt.rank(table, production).order[0]
        shown = tuple(table.memory_id(0, column) for column in order.tolist() if column >= 0)
        searches.append(Search(f"q{number:02}", shown, day=day, query=text))
    return searches


def _day(day: float) -> float:
    return (1767225600 + day * 86_400) * 1_000_000


@pytest.fixture(scope="module")
def round_trip(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    texts = [f"{a} {b}" for a in WORDS for b in WORDS]
    notes = [Note(f"m{n:02}", text, n / 4, layer="log") for n, text in enumerate(texts)]
    lab = make_lab(tmp_path_factory.mktemp("lab") / "l.duckdb", notes, [])
    log_searches(lab, written_by(lab, BOTH_ARMS, [1.0 + n / 2 for n in range(12)]))
    return lab


BOTH_ARMS = ranking(
    {"kind": "decay", "half_life_days": 2.0}, top_k=5, arms={"lexical": {}, "dense": {}}
)


@pytest.mark.slow
def test_the_log_of_production_itself_has_no_churn_at_all(round_trip: Lab) -> None:
    replayed = replay_search_log(round_trip, BOTH_ARMS, production=BOTH_ARMS, encoder=WordEncoder())
    for name, value in (("churn", 0), ("floor_churn", 0), ("rbo", 1), ("floor_rbo", 1)):
        assert replayed.queries[name].to_list() == [value] * 12
    assert replayed.differences.height == 0
    assert replayed.summary()["changed"].to_list() == [0] * 5
    assert replayed.queries["c_shown"].min() == 4


@pytest.mark.slow
def test_every_difference_of_another_ranking_has_a_stage_and_none_is_noise(
    round_trip: Lab,
) -> None:
    other = ranking(top_k=5, arms={"lexical": {}, "dense": {}})
    replayed = replay_search_log(round_trip, other, production=BOTH_ARMS, encoder=WordEncoder())
    assert replayed.queries["floor_churn"].sum() == 0
    changed = replayed.differences.filter(pl.col("change") != "moved")
    assert changed.height > 10
    assert not changed["noise"].any()
    assert changed["stage"].null_count() == changed["explained_by"].null_count() == 0
    # Only the decay differs, so it alone kept out what enters.
    entered = changed.filter(pl.col("change") == "entered")
    assert entered["explained_by"].unique().to_list() == ["decay"]
    row = replayed.summary().row(2, named=True)
    assert row["lo"] > 0
    _agrees_with_the_frames(replayed)


def _agrees_with_the_frames(replayed: LogReplay) -> None:
    """Counts of a query are the rows of its differences, in every form they are handed on."""
    counted = replayed.differences.group_by("query_id").agg(
        *((pl.col("change") == name).sum().alias(name) for name in ("entered", "left", "moved"))
    )
    both = replayed.queries.join(counted, on="query_id", how="left", suffix="_rows")
    drawn = (
        churn_rows(replayed)
        .group_by("query_id")
        .agg(pl.col("entered", "left", "moved").sum(), pl.col("kept").first())
    )
    rows = drawn.rows_by_key("query_id", named=True, unique=True)
    for row in both.filter(~pl.col("set_aside")).to_dicts():
        for name in ("entered", "left", "moved"):
            assert row[name] == (row[f"{name}_rows"] or 0) == rows[row["query_id"]][name]
        kept = rows[row["query_id"]]["kept"]
        assert row["c_shown"] == kept + row["moved"] + row["entered"]
        assert row["p_shown"] == kept + row["moved"] + row["left"]
    objects = list(replayed.objects())
    assert [one["query_id"] for one in objects] == replayed.queries["query_id"].to_list()
    assert sum(len(one["differences"]) for one in objects) == replayed.differences.height
    json.dumps(objects, allow_nan=False)


@pytest.mark.slow
def test_objects_hold_no_text_of_the_data(by_hand: LogReplay) -> None:
    [told] = by_hand.objects()
    assert "query" not in told
    assert set(told) == {*by_hand.queries.columns} - {"query", "asked_at"} | {
        "at", "differences", "config", "production", "data",
    }  # fmt: skip
    assert told["at"] == "2026-01-06T00:00:00Z"
    assert "tea" not in json.dumps(told | {"scope": None})
    assert [one["memory_id"] for one in told["differences"]] == ["d", "c", "a", "b"]


@pytest.mark.slow
def test_small_stages_of_a_chart_are_summed_up(by_hand: LogReplay) -> None:
    """Of four stages that explain 4, 3, 2 and 1 differences, two have a name among three."""
    names = [*"wwwwxxxyyz", None]
    change = [*["entered"] * 5, *["left"] * 5, "moved"]
    made = pl.DataFrame({"explained_by": names, "change": change}).with_columns(
        query_id=pl.lit("q"), memory_id=pl.int_range(pl.len()).cast(pl.String)
    )
    replayed = replace(by_hand, differences=made)
    counted = ("stage", "entered", "left", "moved")
    moved = ("order alone", 0, 0, 1)
    assert churn_rows(replayed, stages=3).select(counted).rows() == [
        moved, ("other stages", 0, 3, 0), ("w", 4, 0, 0), ("x", 1, 2, 0),
    ]  # fmt: skip
    assert churn_rows(replayed, stages=4).select(counted).rows() == [
        moved, ("w", 4, 0, 0), ("x", 1, 2, 0), ("y", 0, 2, 0), ("z", 0, 1, 0),
    ]  # fmt: skip
    with pytest.raises(ParameterError, match="stages must be a whole number >= 2, got 1"):
        churn_rows(replayed, stages=1)


@pytest.mark.slow
def test_the_chart_takes_the_frames_as_they_are(round_trip: Lab) -> None:
    from recalltune import charts

    other = ranking(top_k=5, arms={"lexical": {}, "dense": {}})
    replayed = replay_search_log(round_trip, other, production=BOTH_ARMS, encoder=WordEncoder())
    means = churn_means(replayed)
    assert means is not None
    chart = charts.compiled(charts.churn(churn_rows(replayed), mean=means[0], floor=means[1]))
    bars = {row["query_id"]: row["high"] for row in chart["datasets"]["bars"]}
    churn = replayed.queries.filter(pl.col("churn") > 0).select("query_id", "churn").rows()
    assert bars == pytest.approx(dict(churn))


@pytest.mark.slow
def test_a_replay_writes_nothing_and_a_second_one_says_the_same(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, [Search("q", ("b", "a", "d")), Search("r", ("a",), day=6.0)])
    before = lab.path.read_bytes()
    first, second = (replay_search_log(lab, PLAIN, production=FADING) for _ in range(2))
    assert lab.path.read_bytes() == before
    assert list(first.objects()) == list(second.objects())
    assert first.summary().equals(second.summary())
    with lab.reading() as con:
        assert read_table(con, "run").height == read_table(con, "access").height == 0


@pytest.mark.slow
def test_a_memory_of_a_session_named_like_a_day_is_not_held_back(tmp_path: Path) -> None:
    """The day that stands for a session groups queries, and is no session of the data."""
    lab = lab_of(tmp_path, [Search("q", ("a", "b", "c"))])
    with lab.writing() as con:
        con.execute("update memory set session = '2026-01-06'")
    hiding = ranking(admit={"in_prompt": "hide_session"})
    replayed = replay_search_log(lab, hiding, production=PLAIN)
    assert replayed.queries.select("session", "churn").row(0) == ("2026-01-06", 0.0)
    assert replayed.counts["prompt_unknown"] == 1


@pytest.mark.slow
def test_both_degradations_are_told(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, [Search("q", ("a",)), Search("r", (), query="?!")])
    replayed = replay_search_log(lab, PLAIN, production=FADING)
    assert [hop.hop for hop in replayed.ledger].count("wordless_queries") == 1
    assert replace(replayed, cut=3).cut == 3


@pytest.mark.slow
def test_the_log_of_the_demo_is_replayed_whole_and_every_difference_has_a_stage(
    tmp_path: Path, root: Path
) -> None:
    """Against a production that is not its own, the noise floor says so, and nothing is claimed."""
    lab = rt.open(tmp_path / "demo.duckdb")
    rt.ingest(lab, [root / "data" / name for name in ("connector", "memory", "search_log")])
    words = rt.preset("textbook").with_(arms={"lexical": {}})
    faded = words.with_(stages=({"kind": "rrf"}, {"kind": "select", "top_k": 8}))
    replayed = replay_search_log(lab, words, production=faded)
    assert (replayed.counts["logged"], replayed.counts["ids"]) == (66, 426)
    assert replayed.counts["unreplayable"] == replayed.counts["undated"] == 0
    assert replayed.counts["sessions"] == 56
    changed = replayed.differences.filter(pl.col("change") != "moved")
    assert changed["stage"].null_count() == changed["explained_by"].null_count() == 0
    assert replayed.queries["floor_churn"].mean() > 0.5
    _agrees_with_the_frames(replayed)


@pytest.mark.slow
@pytest.mark.model
def test_the_log_of_the_demo_is_what_its_production_shows(tmp_path: Path, root: Path) -> None:
    """Vectors of another machine may move a row or two; another ranking moves most of them."""
    lab = rt.open(tmp_path / "demo.duckdb")
    folders = ("connector", "memory", "transcripts", "search_log")
    rt.ingest(lab, [root / "data" / name for name in folders])
    wrote = import_recallnest(root / "data" / "recallnest" / "config.json")
    replayed = replay_search_log(lab, wrote, production=wrote)
    assert replayed.queries["floor_churn"].mean() < 0.02
