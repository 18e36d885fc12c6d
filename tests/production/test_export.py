"""Export into production files, and what is read back from them."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recalltune.candidates.table import Stamp
from recalltune.errors import ParameterError, SourceError, checked
from recalltune.pipeline.address import addresses, get, set_many
from recalltune.pipeline.config import RankingConfig, preset
from recalltune.production.export import evidence_path, export, undo
from recalltune.production.provenance import MARK, Provenance
from recalltune.production.recallnest_file import import_recallnest, read_recallnest
from recalltune.production.recallnest_keys import KEYS, KNOWN_KEYS
from recalltune.production.replacing import backup_of

pytestmark = pytest.mark.slow

PROVENANCE = {"data": "d1", "encoder": "e1", "code": "c1", "metrics": {"ndcg@10": 0.5}}

USER_FILE = """{
  "dbPath": "~/.recallnest/db",
  "embedding": { "apiKey": "${JINA_API_KEY}", "model": "jina-v5" },
  "sources": {},
  "retrieval": {
    "_comment": "asked the team, do not touch",
    "mode": "vector",
    "vectorWeight": 0.70,
    "bm25Weight": 0.30,
    "minScore": 0.3,
    "candidatePoolSize": 30,
    "recencyHalfLifeDays": 30,
    "recencyWeight": 0.10,
    "timeDecayHalfLifeDays": 120,
    "hardMinScore": 0.3,
    "x_team": {"keep": [1, 2.50, null]}
  }
}
"""


@pytest.fixture
def target(tmp_path: Path) -> Path:
    file = tmp_path / "config.json"
    file.write_text(USER_FILE, encoding="utf-8")
    return file


def into(target: Path, config: RankingConfig, **more: Any) -> Any:
    return export(config, target, to="recallnest", provenance=PROVENANCE, **more)


# --- reading ------------------------------------------------------------------------------------


def test_the_user_s_file_is_where_a_sweep_starts(target: Path) -> None:
    config = import_recallnest(target)
    assert get(config, "recency_boost.mean_life_days") == 30.0
    assert get(config, "tier_decay.half_life_days") == 120.0
    assert get(config, "category_minimum.other") == 0.3
    # No map in the file: the built-in one, which hardMinScore does not reach.
    assert get(config, "category_minimum.events") == 0.35
    dense = config.arms.dense
    assert dense is not None
    # candidatePoolSize as it is, and what the store makes of it.
    assert (dense.width, dense.proposed()) == (30, 20)
    assert get(config, "similarity_minimum.min_score") == 0.3
    assert get(config, "recallnest_fusion.dense_weight") == 0.7
    assert config.profiles == preset("recallnest").profiles
    assert read_recallnest(target).unknown == ("_comment", "x_team")


def test_production_s_defaults_are_the_preset(target: Path) -> None:
    target.write_text('{"dbPath": "x", "retrieval": {}}', encoding="utf-8")
    assert import_recallnest(target).fingerprint == preset("recallnest").fingerprint
    block = {k: v for k, v in KNOWN_KEYS.items() if v is not None}
    target.write_text(json.dumps({"retrieval": block}), encoding="utf-8")
    assert import_recallnest(target).fingerprint == preset("recallnest").fingerprint


def test_a_partial_map_sends_the_other_categories_to_the_hard_minimum(target: Path) -> None:
    block = {"hardMinScore": 0.2, "categoryMinScores": {"events": 0.5}}
    target.write_text(json.dumps({"retrieval": block}), encoding="utf-8")
    config = import_recallnest(target)
    assert get(config, "category_minimum.events") == 0.5
    assert get(config, "category_minimum.patterns") == 0.2


def test_keys_whose_zero_means_off_leave_their_stage_out(target: Path) -> None:
    off = ("recencyHalfLifeDays", "lengthNormAnchor", "timeDecayHalfLifeDays", "sourceDiversity")
    target.write_text(json.dumps({"retrieval": dict.fromkeys(off, 0)}), encoding="utf-8")
    kinds = {stage.kind for stage in import_recallnest(target).stages}
    assert not kinds & {"recency_boost", "length", "tier_decay", "source_diversity"}


def test_a_floor_is_read_and_a_cosine_in_the_arm_is_written_as_one(target: Path) -> None:
    target.write_text('{"retrieval": {"minScore": 0.5}}', encoding="utf-8")
    config = import_recallnest(target)
    assert get(config, "similarity_minimum.min_score") == 0.5
    # 1 / (2 - cos) at cosine 0.75; the larger of the two floors decides.
    stricter = set_many(config, {"arms.dense.min_cosine": 0.75})
    changed = {change.key: change.new for change in into(target, stricter).changed}
    assert changed == {"minScore": "0.8"}


def test_weights_that_vector_mode_ignores_are_read_where_they_can_be(target: Path) -> None:
    def weights(vector: Any, bm25: Any) -> tuple[float, float]:
        block = {"vectorWeight": vector, "bm25Weight": bm25}
        target.write_text(json.dumps({"retrieval": block}), encoding="utf-8")
        fusion = import_recallnest(target).stage("recallnest_fusion")
        return fusion.dense_weight, fusion.lexical_weight

    assert weights(0.2, 0.8) == (0.2, 0.8)
    for useless in ((0, 0), (11, 0.3), ("much", "little")):
        assert weights(*useless) == (0.7, 0.3)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "config.json:1: the file is empty"),
        ('{"retrieval": {"recencyWeight": 0.1', "config.json:1: not JSON: the file ends"),
        ('{"name": "x", "version": "1"}', "config.json:1: not a RecallNest config: .*got name"),
        ("{}", "config.json:1: not a RecallNest config"),
        ("[1]", "config.json:1: not a RecallNest config"),
        ('{"retrieval": 3}', "config.json:1: retrieval must be an object, got number"),
        (
            '{"retrieval": {\n"recencyWeight": 3}}',
            r"config.json:2: retrieval.recencyWeight must be a number in \[0, 1\], got 3",
        ),
        ('{"retrieval": {"hardMinScore": "0.3"}}', "hardMinScore must be a number"),
        ('{"retrieval": {"timeDecayHalfLifeDays": -1}}', "timeDecayHalfLifeDays must be"),
        ('{"retrieval": {"categoryMinScores": null}}', "categoryMinScores must be an object"),
        ('{"retrieval": {"hardMinScore": 1, "hardMinScore": 1}}', "'hardMinScore' occurs twice"),
        ('{"retrieval": {"hardMinScore": 1e999}}', "hardMinScore must be a number"),
        ('{"retrieval": {"recencyWeight": NaN}}', "not JSON: a value is expected"),
    ],
)
def test_a_file_that_is_no_valid_config_is_refused_and_left_alone(
    target: Path, text: str, says: str
) -> None:
    target.write_text(text, encoding="utf-8")
    with pytest.raises(SourceError, match=says):
        import_recallnest(target)
    with pytest.raises(SourceError, match=says):
        into(target, preset("recallnest"))
    assert target.read_text(encoding="utf-8") == text
    assert [entry.name for entry in target.parent.iterdir()] == ["config.json"]


def test_hybrid_mode_is_not_read_but_an_export_sets_it_to_vector(target: Path) -> None:
    text = USER_FILE.replace('"mode": "vector"', '"mode": "hybrid"')
    target.write_text(text, encoding="utf-8")
    with pytest.raises(SourceError, match=r"config\.json:7: retrieval\.mode must be 'vector'"):
        import_recallnest(target)
    report = into(target, preset("recallnest"))
    assert ("mode", "hybrid", "vector") in [(c.key, c.old, c.new) for c in report.changed]
    assert import_recallnest(target).fingerprint == preset("recallnest").fingerprint


def test_bytes_that_are_not_utf_8_are_refused_with_their_line(target: Path) -> None:
    target.write_bytes(b'{\n"dbPath": "\xff"}')
    with pytest.raises(SourceError, match=r"config\.json:2: not UTF-8"):
        import_recallnest(target)


# --- bug bank -----------------------------------------------------------------------------------


@pytest.mark.parametrize("broken_call", range(1, 7))
def test_n98_a_failure_while_writing_leaves_the_old_file_byte_for_byte(
    target: Path, monkeypatch: pytest.MonkeyPatch, broken_call: int
) -> None:
    config = set_many(import_recallnest(target), {"tier_decay.half_life_days": 45.0})
    calls = 0
    right = os.fsync

    def failing(handle: int) -> None:
        nonlocal calls
        calls += 1
        if calls == broken_call and stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(28, "No space left on device")
        right(handle)

    monkeypatch.setattr(os, "fsync", failing)
    try:
        into(target, config)
    except SourceError as refusal:
        assert "No space left on device" in str(refusal)  # noqa: PT017
        assert target.read_text(encoding="utf-8") == USER_FILE
    else:
        # That call synced a folder: the export is through.
        assert import_recallnest(target).fingerprint == config.fingerprint
    assert not [entry.name for entry in target.parent.iterdir() if entry.name.startswith(".")]


def test_n98_a_failing_replacement_leaves_the_old_file_byte_for_byte(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = set_many(import_recallnest(target), {"tier_decay.half_life_days": 45.0})
    right = Path.replace

    def failing(self: Path, other: Path) -> Path:
        if other.name == "config.json":
            raise OSError(13, "Permission denied")
        return right(self, other)

    monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(SourceError, match="the file is as it was: Permission denied"):
        into(target, config)
    assert target.read_text(encoding="utf-8") == USER_FILE


def test_n99_what_the_export_does_not_know_survives_and_one_value_changes(target: Path) -> None:
    config = set_many(import_recallnest(target), {"tier_decay.half_life_days": 45.0})
    report = into(target, config)
    after = target.read_text(encoding="utf-8")
    assert after == USER_FILE.replace('"timeDecayHalfLifeDays": 120', '"timeDecayHalfLifeDays": 45')
    assert [(c.key, c.old, c.new) for c in report.changed] == [
        ("timeDecayHalfLifeDays", "120", "45")
    ]
    assert report.unknown == ("_comment", "x_team")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_n100_a_figure_that_is_no_number_is_refused_before_anything_is_written(
    target: Path, tmp_path: Path, value: float
) -> None:
    broken = {**PROVENANCE, "metrics": {"mrr": value}}
    for to, file in (("recallnest", target), ("json", tmp_path / "new.json")):
        with pytest.raises(ParameterError, match=r"provenance: metrics\.mrr should be a finite"):
            export(preset("recallnest"), file, to=to, provenance=broken)
    assert target.read_text(encoding="utf-8") == USER_FILE
    assert not (tmp_path / "new.json").exists()


def test_n100_an_undefined_figure_is_null_with_its_reason(tmp_path: Path) -> None:
    file = tmp_path / "chosen.json"
    figures = {"metrics": {"mrr": None}, "undefined": {"mrr": "no case has a target"}}
    export(preset("recallnest"), file, provenance={**PROVENANCE, **figures})
    content = json.loads(file.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert content["metrics"] == {"mrr": None}
    assert content["undefined"] == {"mrr": "no case has a target"}
    with pytest.raises(ParameterError, match="undefined must give a reason"):
        export(preset("recallnest"), file, provenance={**PROVENANCE, "metrics": {"mrr": None}})


# --- writing ------------------------------------------------------------------------------------


def test_permissions_byte_order_mark_and_line_endings_are_kept(target: Path) -> None:
    raw = b"\xef\xbb\xbf" + USER_FILE.replace("\n", "\r\n").encode()
    target.write_bytes(raw)
    target.chmod(0o640)
    into(target, set_many(import_recallnest(target), {"tier_decay.half_life_days": 45.0}))
    assert target.read_bytes() == raw.replace(b'Days": 120', b'Days": 45')
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert backup_of(target).read_bytes() == raw
    assert stat.S_IMODE(backup_of(target).stat().st_mode) == 0o640


def test_undo_puts_the_old_file_back_and_a_second_time_redoes_it(target: Path) -> None:
    with pytest.raises(SourceError, match=r"config\.json\.bak:1: no such file"):
        undo(target)
    into(target, set_many(import_recallnest(target), {"recency_boost.weight": 0.2}))
    after = target.read_bytes()
    undo(target)
    assert target.read_text(encoding="utf-8") == USER_FILE
    undo(target)
    assert target.read_bytes() == after


def test_a_dry_run_reports_the_same_and_writes_nothing(target: Path) -> None:
    config = set_many(import_recallnest(target), {"recency_boost.weight": 0.2})
    dry = into(target, config, dry_run=True)
    assert not dry.written
    assert target.read_text(encoding="utf-8") == USER_FILE
    assert [entry.name for entry in target.parent.iterdir()] == ["config.json"]
    real = into(target, config)
    assert (dry.changed, dry.not_carried, dry.content) == (
        real.changed,
        real.not_carried,
        real.content,
    )
    assert target.read_bytes() == dry.content


def test_the_same_export_twice_writes_once(target: Path) -> None:
    config = set_many(import_recallnest(target), {"recency_boost.weight": 0.2})
    assert into(target, config).written
    again = into(target, config)
    assert not again.written
    assert again.changed == ()
    assert backup_of(target).read_text(encoding="utf-8") == USER_FILE


def test_a_symbolic_link_is_refused(target: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(target)
    for to in ("recallnest", "json"):
        with pytest.raises(SourceError, match=r"link\.json:1: is a symbolic link"):
            export(preset("recallnest"), link, to=to, provenance=PROVENANCE)
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == USER_FILE


def test_a_file_changed_meanwhile_is_not_overwritten(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = set_many(import_recallnest(target), {"recency_boost.weight": 0.2})
    right = Path.replace

    def editing(self: Path, other: Path) -> Path:
        done = right(self, other)
        if other.name.endswith(".bak"):
            target.write_text(USER_FILE + "\n", encoding="utf-8")
        return done

    monkeypatch.setattr(Path, "replace", editing)
    with pytest.raises(SourceError, match="was changed while it was being exported"):
        into(target, config)
    assert target.read_text(encoding="utf-8") == USER_FILE + "\n"


def test_a_changed_minimum_writes_the_complete_map(target: Path) -> None:
    config = set_many(import_recallnest(target), {"category_minimum.events": 0.5})
    into(target, config)
    block = json.loads(target.read_text(encoding="utf-8"))["retrieval"]
    assert block["categoryMinScores"] == {
        "profile": 0.25,
        "preferences": 0.25,
        "entities": 0.3,
        "events": 0.5,
        "cases": 0.4,
        "patterns": 0.45,
    }
    assert block["hardMinScore"] == 0.3
    assert import_recallnest(target).fingerprint == config.fingerprint


def test_a_partial_map_is_completed_even_where_nothing_else_changes(target: Path) -> None:
    text = '{"retrieval": {"hardMinScore": 0.2, "categoryMinScores": {"events": 0.50}}}'
    target.write_text(text, encoding="utf-8")
    report = into(target, import_recallnest(target))
    assert {c.key for c in report.changed} == {
        f"categoryMinScores.{name}"
        for name in ("profile", "preferences", "entities", "cases", "patterns")
    }
    assert report.changed[0].old == "not set (production takes 0.2)"
    assert '"events": 0.50' in target.read_text(encoding="utf-8")


def test_a_file_without_a_retrieval_block_gets_one(target: Path) -> None:
    target.write_text('{\n  "dbPath": "x"\n}\n', encoding="utf-8")
    into(target, set_many(preset("recallnest"), {"recency_boost.weight": 0.2}))
    expected = '{\n  "dbPath": "x",\n  "retrieval": {\n    "recencyWeight": 0.2\n  }\n}\n'
    assert target.read_text(encoding="utf-8") == expected


def test_the_evidence_stands_beside_the_config_and_names_it(target: Path) -> None:
    config = set_many(import_recallnest(target), {"recency_boost.weight": 0.2})
    report = into(target, config)
    assert report.evidence == evidence_path(target)
    content = json.loads(evidence_path(target).read_text(encoding="utf-8"))
    assert content[MARK] == 1
    assert content["fingerprints"]["config"] == config.fingerprint
    assert content["fingerprints"]["data"] == "d1"
    assert content["values"]["recency_boost.weight"] == 0.2
    assert content["config"] == json.loads(json.dumps(config.canonical()))


def test_a_foreign_file_is_never_overwritten_by_json(tmp_path: Path) -> None:
    for text in ('{"a": 1}', "notes", "[]"):
        file = tmp_path / "mine.json"
        file.write_text(text, encoding="utf-8")
        with pytest.raises(SourceError, match="is not an evidence file of recalltune"):
            export(preset("recallnest"), file, provenance=PROVENANCE)
        assert file.read_text(encoding="utf-8") == text


def test_json_is_the_same_for_the_same_input_and_private(tmp_path: Path) -> None:
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    export(preset("textbook"), one, provenance=PROVENANCE)
    export(preset("textbook"), two, provenance=Provenance.of(Stamp("s", "d1", "e1")))
    export(preset("textbook"), two, provenance=PROVENANCE)
    assert one.read_bytes() == two.read_bytes()
    assert stat.S_IMODE(one.stat().st_mode) == 0o600
    assert not export(preset("textbook"), one, provenance=PROVENANCE).written


def test_an_unknown_target_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="to must be one of json, recallnest, got 'recalnest'"):
        export(preset("recallnest"), tmp_path / "x", to="recalnest", provenance=PROVENANCE)


# --- what is not carried ------------------------------------------------------------------------


def reasons(report: Any) -> dict[str, str]:
    return {item.what: item.reason for item in report.not_carried}


def test_dead_keys_and_shadowed_ones_are_named(target: Path) -> None:
    config = set_many(
        import_recallnest(target), {"recency_boost.weight": 0.2, "category_minimum.other": 0.1}
    )
    told = reasons(into(target, config))
    assert "no effect in vector mode" in told["retrieval.vectorWeight"]
    assert "no effect above 20" in told["retrieval.candidatePoolSize"]
    assert "no effect up to 1/3" in told["retrieval.minScore"]
    assert "writing 0.06, debug 0.15, fact-check 0.08" in told["retrieval.recencyWeight"]
    assert told["retrieval.hardMinScore"].startswith("reaches only memories outside the six")
    assert "the caller of RecallNest" in told["select.top_k"]


def test_constants_of_production_are_named_when_they_differ(target: Path) -> None:
    base = import_recallnest(target)
    assert not {w for w in reasons(into(target, base)) if w.startswith(("tier", "imp", "defer"))}
    config = set_many(
        base,
        {
            "tier_decay.core_floor": 0.7,
            "importance.base": 0.3,
            "defer.threshold": 0.9,
            "category_minimum.unless_empty": False,
            "select.floors.project": 2,
            "select.budget_tokens": 900,
        },
    )
    told = reasons(into(target, config))
    assert told["tier_decay.core_floor"] == "a constant in RecallNest: 0.85"
    assert told["importance.base"] == "a constant in RecallNest: 0.5"
    assert told["defer.threshold"] == "a constant in RecallNest: 0.85"
    assert told["category_minimum.unless_empty"] == "a constant in RecallNest: True"
    assert told["select.floors"] == "RecallNest reserves no places per layer"
    assert told["select.budget_tokens"] == "RecallNest's retrieval has no token budget"


def test_a_config_of_another_kind_says_everything_production_will_do_otherwise(
    target: Path,
) -> None:
    stages = [
        {"kind": "rrf"},
        {"kind": "decay", "half_life_days": 45.0, "floor": 0.1},
        {"kind": "salience", "salience_weight": 1.0},
        {"kind": "mmr", "lambda_": 0.5},
        {"kind": "threshold", "min_score": 0.01},
        {"kind": "select", "caps": {"log": 2}},
    ]
    arms = {"lexical": {}, "dense": {}, "substring": {}}
    config = checked(RankingConfig, {"arms": arms, "stages": stages})
    report = into(target, config)
    told = reasons(report)
    assert {
        "arms.lexical",
        "arms.substring",
        "arms.dense.width",
        "rrf",
        "decay.floor",
        "salience",
        "mmr",
        "threshold",
        "select.caps",
        "importance",
        "confidence",
        "boundary",
        "evolution_blend",
        "defer",
    } <= set(told)
    changed = {c.key: c.new for c in report.changed}
    # Half-life carried; what the config does not list is off.
    assert changed["timeDecayHalfLifeDays"] == "45"
    assert changed["recencyWeight"] == "0"
    assert changed["lengthNormAnchor"] == "0"
    assert changed["sourceDiversity"] == "0"
    assert "writing 365" in told["retrieval.timeDecayHalfLifeDays"]
    assert changed["categoryMinScores.events"] == "0"
    assert "written" in str(report)


@pytest.mark.parametrize(
    ("decay", "carried", "told"),
    [
        # ln 2 of the mean life; h is one half after h**(1 / shape) days
        ({"family": "mean_life", "mean_life_days": 100.0}, "69.3147", "weight one half is carried"),
        ({"family": "weibull_rate", "rate_days": 49.0, "shape": 2.0}, "7", "one half is carried"),
        ({"family": "half_floor"}, "0", "nothing is carried"),
        ({"family": "fsrs", "fsrs_exponent": 0.05}, "0", "nothing is carried"),
    ],
)
def test_of_another_family_the_age_of_weight_one_half_is_carried_if_there_is_one(
    target: Path, decay: dict[str, Any], carried: str, told: str
) -> None:
    stages = [{"kind": "rrf"}, {"kind": "decay", **decay}, {"kind": "select"}]
    config = checked(RankingConfig, {"arms": {"dense": {}}, "stages": stages})
    report = into(target, config)
    [new] = [c.new for c in report.changed if c.key == "timeDecayHalfLifeDays"]
    assert float(new) == pytest.approx(float(carried), abs=1e-4)
    assert told in reasons(report)["decay.family"]


def test_an_exchanged_order_is_named(target: Path) -> None:
    base = import_recallnest(target)
    gate, first, one, two, *rest = base.stages
    config = base.with_(stages=(gate, first, two, one, *rest))
    assert "the order of stages" in reasons(into(target, config))
    assert "the order of stages" not in reasons(into(target, base))


def test_stages_that_something_else_decides_there_are_named_with_it(target: Path) -> None:
    told = reasons(into(target, preset("recallnest-hybrid")))
    for name in ("recallnest_fusion", "rerank_pool", "light_rerank"):
        assert "vector mode" in told[name]
    assert "weighted" not in told
    base = import_recallnest(target)
    flagged = ("interference", "emotion_decay", "view_blend", "frequency_boost", "exact_tokens")
    stages = [{"kind": kind} for kind in flagged]
    told = reasons(into(target, base.with_(stages=(*base.stages, *stages))))
    assert all("RecallNest" in told[name] and "no such stage" not in told[name] for name in flagged)


def test_keys_production_heeds_and_we_do_not_model_are_named(target: Path) -> None:
    text = USER_FILE.replace('"minScore": 0.3', '"minScore": 0.3, "enableRIF": true')
    target.write_text(text, encoding="utf-8")
    assert "retrieval.enableRIF" in reasons(into(target, import_recallnest(target)))


# --- round trip ---------------------------------------------------------------------------------

unit = st.floats(0, 1)
days = st.floats(0.001, 36_500)
changes = st.fixed_dictionaries(
    {},
    optional={
        "recency_boost.weight": unit,
        "recency_boost.mean_life_days": days,
        "length.anchor_chars": st.floats(0.5, 1_000_000),
        "tier_decay.half_life_days": days,
        "hotness_blend.weight": unit,
        # From 20 on every width is the same to the store.
        "arms.dense.width": st.integers(1, 19),
        # Up to 1/3 every minimum is.
        "similarity_minimum.min_score": st.floats(0.34, 1),
        **{f"category_minimum.{key.field}": unit for key in KEYS if key.kind == "category_minimum"},
    },
)
dropped = st.sets(st.sampled_from(["recency_boost", "length", "tier_decay", "source_diversity"]))
files = st.sampled_from(
    [USER_FILE, '{"dbPath": "x"}', '{"retrieval":{"categoryMinScores":{"cases":0.9}}}']
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(files, changes, dropped)
def test_what_is_exported_is_what_is_read_back(
    tmp_path: Path, text: str, values: dict[str, Any], without: set[str]
) -> None:
    file = tmp_path / "config.json"
    file.write_text(text, encoding="utf-8")
    base = set_many(preset("recallnest"), values)
    config = base.with_(
        stages=tuple(stage for stage in base.stages if stage.kind not in without),
        profiles={},
    )
    evidence_path(file).unlink(missing_ok=True)
    report = export(config, file, to="recallnest", provenance=PROVENANCE)
    again = import_recallnest(file)
    assert again.with_(profiles={}).fingerprint == config.fingerprint
    before, after = json.loads(text), json.loads(file.read_text(encoding="utf-8"))
    # Nothing but the reported keys differs.
    flat_before, flat_after = flat(before), flat(after)
    differing = {k for k in flat_after if flat_before.get(k, "absent") != flat_after[k]}
    assert differing == {f"retrieval.{change.key}" for change in report.changed}
    assert not set(flat_before) - set(flat_after)


def flat(value: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {prefix.removesuffix("."): value}
    found: dict[str, Any] = {}
    for key, inner in value.items():
        found |= flat(inner, f"{prefix}{key}.")
    return found


def test_every_mapped_key_is_an_address_of_the_preset_with_the_same_range() -> None:
    known = addresses(preset("recallnest"))
    for key in KEYS:
        assert known[key.address] == key.default
        set_many(preset("recallnest"), {key.address: key.high})
        with pytest.raises(ParameterError):
            set_many(preset("recallnest"), {key.address: key.high * 1.01})
        assert key.path[0] in KNOWN_KEYS


def test_the_documentation_names_every_key_and_its_parameter(root: Path) -> None:
    text = (root / "docs" / "production.md").read_text(encoding="utf-8")
    for key in KEYS:
        name, address = key.path[0], key.address
        if name == "categoryMinScores":
            name, address = "categoryMinScores.*", "category_minimum.*"
        assert f"`{name}` | `{address}`" in text
    for stage in preset("recallnest").stages:
        assert f"| `{stage.kind}` |" in text


def test_a_backup_that_is_a_link_is_replaced_and_its_target_left_alone(
    target: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.txt"
    other.write_text("mine", encoding="utf-8")
    backup_of(target).symlink_to(other)
    into(target, set_many(import_recallnest(target), {"recency_boost.weight": 0.2}))
    assert other.read_text(encoding="utf-8") == "mine"
    assert backup_of(target).read_text(encoding="utf-8") == USER_FILE
    assert not backup_of(target).is_symlink()
