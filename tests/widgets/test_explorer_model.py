"""The explorer without its widgets: what it shows is what evaluate says."""

from __future__ import annotations

import numpy as np
import pytest

import recalltune as rt
from recalltune.charts import compiled
from recalltune.errors import ContractError, ParameterError
from recalltune.evaluate.comparing import paired_runs
from recalltune.evaluate.paired import SEED
from recalltune.widgets.markup import moves_table
from recalltune.widgets.model import EXPLORER_METRICS, Explorer
from recalltune.widgets.noise import StoredDraws
from widgets.explored import HOSTILE, SECRET, config, table

CONTROLS = [
    "decay.half_life_days",
    "decay.family",
    "decay.shape",
    "rrf.weights.dense",
    "salience.salience_weight",
    "mmr.lambda_",
    "select.top_k",
    "select.floors.project",
    "select.caps.log",
    "select.budget_tokens",
]
MOVES = [
    {"decay.half_life_days": 7},
    {"decay.half_life_days": "off"},
    {"decay.family": "weibull"},
    {"decay.shape": 1.5},
    {"rrf.weights.dense": 0},
    {"select.floors.project": 2},
    {"select.caps.log": 1},
    {"mmr.lambda_": 0.5},
    {"select.budget_tokens": 120},
    {"salience.salience_weight": 1},
    {"select.top_k": 3, "select.caps.log": None},
]


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    return table(tmp_path_factory.mktemp("explored"))


@pytest.fixture
def explorer(cases):
    return Explorer(cases, config(), CONTROLS)


def test_every_number_shown_is_the_one_evaluate_gives(cases, explorer):
    base = rt.evaluate(cases, config(), split="tune")
    for move in MOVES:
        assert explorer.move(move), explorer.message
        run = rt.evaluate(cases, explorer.config, split="tune")
        for row in explorer.strip().iter_rows(named=True):
            wanted = paired_runs(base, run, row["metric"])
            assert row["now"] == pytest.approx(run.value(row["metric"]), abs=1e-15)
            assert row["default"] == pytest.approx(base.value(row["metric"]), abs=1e-15)
            for name in ("diff", "lo", "hi", "n"):
                assert row[name] == pytest.approx(getattr(wanted, name), abs=1e-12), (move, name)


def test_the_list_of_every_setting_is_the_one_rank_gives(cases, explorer):
    mine = explorer.candidates
    for move in MOVES:
        explorer.move(move)
        order = rt.rank(mine, explorer.config).order
        width = min(order.shape[1], explorer.scored.order.shape[1])
        assert (order[:, :width] == explorer.scored.order[:, :width]).all()
        assert (order[:, width:] == -1).all()
        assert (explorer.scored.order[:, width:] == -1).all()


def test_flips_are_those_of_the_views(cases, explorer):
    from recalltune.evaluate.views import flips

    tune = explorer.candidates
    for move in MOVES[:6]:
        explorer.move(move)
        wanted = flips(tune, rt.evaluate(tune, config()), rt.evaluate(tune, explorer.config))
        mine = explorer.flips().sort("case_id")
        for name in ("case_id", "rank_a", "rank_b"):
            assert mine[name].to_list() == wanted.sort("case_id")[name].to_list()


def test_going_back_and_forth_ends_where_it_began(explorer):
    first = explorer.strip()
    for _ in range(3):
        for move in MOVES:
            explorer.move(move)
    explorer.reset()
    assert explorer.strip().equals(first)
    assert explorer.config.fingerprint == config().fingerprint


def test_a_step_recomputes_only_the_stages_from_the_changed_one_on(explorer, monkeypatch):
    applied: list[str] = []
    for stage in config().stages:
        kind = type(stage)
        original = kind.apply

        def counted(self, *args, original=original, **options):
            applied.append(self.kind)
            return original(self, *args, **options)

        monkeypatch.setattr(kind, "apply", counted)
    explorer.move({"select.caps.log": 1})
    assert set(applied) == {"select"}
    applied.clear()
    explorer.move({"decay.half_life_days": 3})
    assert set(applied) == {"decay", "salience", "mmr", "select"}
    applied.clear()
    explorer.move({"decay.half_life_days": 30})
    assert "decay" not in applied


def test_a_refused_value_shows_the_librarys_message_and_changes_nothing_else(explorer):
    explorer.move({"decay.half_life_days": 7})
    before = (explorer.config, explorer.strip(), explorer.settings_seen)
    assert not explorer.move({"decay.half_life_days": -1.0})
    with pytest.raises(ParameterError) as refused:
        rt.set_many(explorer.config, {"decay.half_life_days": -1.0})
    assert explorer.message == str(refused.value)
    assert explorer.config is before[0]
    assert explorer.strip().equals(before[1])
    assert explorer.settings_seen == before[2]
    assert explorer.move({"decay.half_life_days": 14})
    assert explorer.message == ""


def test_floors_that_promise_more_than_there_are_places_are_refused_in_words(explorer):
    assert not explorer.move({"select.floors.project": 5})
    assert "floors promise 5 places but top_k is 4" in explorer.message
    assert explorer.move({"select.top_k": 6, "select.floors.project": 5})


def test_settings_looked_at_are_counted_once_each_and_the_default_is_none(explorer):
    assert explorer.settings_seen == 0
    for value in (7, 14, 7, 30):
        explorer.move({"decay.half_life_days": value})
    assert explorer.settings_seen == 2
    assert "2 settings looked at" in explorer.strip_html()
    assert "not corrected" in explorer.strip_html()


def test_held_out_cases_never_appear(explorer):
    explorer.move({"decay.half_life_days": "off"})
    shown = explorer.moves_html() + explorer.strip_html() + str(explorer.spec())
    assert SECRET not in shown
    assert explorer.candidates.queries.height == 20
    assert "held_out" not in explorer.candidates.queries["split"].to_list()
    assert {f"q-{n:02}" for n in (5, 11, 17, 23)}.isdisjoint(explorer.flips()["case_id"].to_list())


def test_a_set_of_nothing_but_held_out_cases_is_refused(cases):
    held = cases.take([5, 11])
    with pytest.raises(ParameterError, match="split 'tune': 2 of 2 are held out"):
        Explorer(held, config(), CONTROLS)


def test_text_of_the_data_is_escaped(explorer):
    explorer.move({"decay.half_life_days": "off"})
    html = moves_table(explorer.moves(), 0, most=50)
    assert "q-08" in explorer.moves()["case_id"].to_list()
    assert HOSTILE not in html
    assert "<script" not in html
    assert "<img" not in html
    assert "\u202e" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize("chart", ["case_flips", "decay_curves", "quota_account"])
def test_the_patched_chart_is_the_chart_built_anew(cases, chart):
    explorer = Explorer(cases, config(), CONTROLS, chart=chart)
    compiled_once = explorer.spec()
    for move in MOVES[:4]:
        explorer.move(move)
        patched, fresh = explorer.spec(), compiled(explorer.chart())
        assert patched["datasets"] == fresh["datasets"]
        for name in ("text", "subtitle"):
            assert patched["title"][name] == fresh["title"][name]
        assert patched["description"] == fresh["description"]
    assert set(explorer.spec()) == set(compiled_once)


def test_the_chart_is_compiled_once(cases, monkeypatch):
    explorer = Explorer(cases, config(), CONTROLS)
    explorer.spec()
    monkeypatch.setattr("recalltune.widgets.model.compiled", None)
    for move in MOVES:
        explorer.move(move)
        explorer.spec()


def test_a_snapshot_leaves_the_explorer_where_it_is(explorer):
    explorer.move({"decay.half_life_days": 14})
    before = (explorer.strip(), explorer.settings_seen)
    still = explorer.snapshot({"decay.half_life_days": 60})
    assert explorer.strip().equals(before[0])
    assert explorer.settings_seen == before[1]
    other = Explorer(explorer.candidates, config(), CONTROLS)
    other.move({"decay.half_life_days": 60})
    assert still.strip == other.strip_html()
    assert still.moves == other.moves_html()
    assert 'role="img"' in still.svg()
    assert "now: decay.half_life_days 60" in still.html()


def test_a_snapshot_of_a_refused_setting_says_why(explorer):
    with pytest.raises(ParameterError, match="half_life_days"):
        explorer.snapshot({"decay.half_life_days": 0})


def test_the_words_of_the_strip_turn_with_the_direction(cases):
    base = config()
    off = rt.set_many(base, {"decay.family": "none"})
    there = Explorer(cases, base, ["decay.half_life_days"])
    back = Explorer(cases, off, {"decay.half_life_days": [30.0]})
    there.move({"decay.half_life_days": "off"})
    back.move({"decay.half_life_days": 30.0})
    turned = {"gains": "costs", "costs": "gains"}
    words = there.strip()["verdict"].to_list()
    assert "gains" in words
    assert back.strip()["verdict"].to_list() == [turned.get(word, word) for word in words]


def test_a_parameter_without_effect_is_named(explorer):
    assert "decay.shape" in explorer.idle()
    assert "decay.shape" in explorer.strip_html()
    assert "rrf.weights.dense" not in explorer.idle()
    explorer.move({"decay.family": "weibull"})
    assert "decay.shape" not in explorer.idle()


def test_the_toml_is_the_present_setting(explorer, tmp_path):
    explorer.move({"decay.half_life_days": 7})
    path = tmp_path / "now.toml"
    path.write_text(explorer.toml(), encoding="utf-8")
    assert rt.load_config(path).fingerprint == explorer.config.fingerprint


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"controls": ["decay.half_life"]}, "nearest: 'decay.half_life_days'"),
        ({"controls": ["arms.dense.width"]}, "changes the candidates"),
        ({"controls": ["decay.shape", "decay.shape"]}, "more than once"),
        ({"metrics": ["ndgc@10"]}, "ndcg"),
        ({"chart": "case_flip"}, "nearest: 'case_flips'"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_one(cases, change, message):
    options = {"controls": CONTROLS, "metrics": EXPLORER_METRICS, **change}
    controls = options.pop("controls")
    with pytest.raises(ParameterError, match=message):
        Explorer(cases, config(), controls, **options)


def test_another_setup_of_candidates_is_refused(cases):
    with pytest.raises(ContractError, match="admit/arms"):
        Explorer(cases, rt.preset("recallnest"), ["select.top_k"])


def test_stored_draws_are_the_draws_of_a_fresh_generator():
    stored = StoredDraws(SEED)
    for clusters in (3, 17, 3):
        weights = np.full(clusters, 1 / clusters)
        fresh = np.random.default_rng(SEED).multinomial(clusters, weights, size=50)
        assert (stored.multinomial(clusters, weights, size=50) == fresh).all()
