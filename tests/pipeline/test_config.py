"""A config is data: it round-trips, names its parameters, and refuses what it cannot mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recalltune.errors import ParameterError, SourceError, checked
from recalltune.pipeline.address import addresses, get, resolve, set_many
from recalltune.pipeline.config import (
    RankingConfig,
    load_config,
    parse_config,
    preset,
    preset_names,
)


def config(*stages: dict[str, Any], **fields: Any) -> RankingConfig:
    return checked(
        RankingConfig, {"arms": {"lexical": {}, "dense": {}}, "stages": stages, **fields}
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('kind = "saliense"', "stages.1: no kind is called 'saliense'; nearest: 'salience'"),
        ('kind = "salience"\nsalience_wieght = 1', "nearest: 'salience_weight'; known: kind, name"),
        ('kind = "decay"\nfamily = "weibul"', "family cannot be 'weibul'; nearest: 'weibull'"),
        ('kind = "select"\nfloors = { projekt = 2 }', "'projekt'; nearest: 'project'"),
        ("rrf_k = 3.0", "stages.1 has no 'kind'"),
    ],
)
def test_a_misspelt_word_names_the_nearest_right_one(text: str, told: str) -> None:
    whole = f'[arms.lexical]\n[[stages]]\nkind = "rrf"\n[[stages]]\n{text}\n'
    with pytest.raises(ParameterError) as refused:
        parse_config(whole, "x.toml")
    assert told in str(refused.value)
    assert "{" not in str(refused.value)


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_reads_back_equal_from_its_own_toml(name: str) -> None:
    before = preset(name)
    after = parse_config(before.to_toml(), "round trip")
    assert after == before
    assert after.fingerprint == before.fingerprint


def test_60_and_60_point_0_are_one_setting() -> None:
    a = config({"kind": "rrf", "rrf_k": 60})
    b = config({"kind": "rrf", "rrf_k": 60.0})
    assert a.fingerprint == b.fingerprint


def test_a_name_is_no_part_of_the_fingerprint_and_a_value_is() -> None:
    a = config({"kind": "rrf"}, name="a")
    assert a.fingerprint == config({"kind": "rrf"}, name="b").fingerprint
    assert a.fingerprint != config({"kind": "rrf", "rrf_k": 61.0}).fingerprint


def test_what_a_family_does_not_read_is_no_part_of_the_fingerprint() -> None:
    off = [config({"kind": "rrf"}, {"kind": "decay", "family": "none", "half_life_days": h})
           for h in (7.0, 30.0)]  # fmt: skip
    assert off[0].fingerprint == off[1].fingerprint
    curved = [config({"kind": "rrf"}, {"kind": "decay", "family": "weibull", "shape": s})
              for s in (0.5, 2.0)]  # fmt: skip
    assert curved[0].fingerprint != curved[1].fingerprint


def test_addresses_name_stage_field_and_layer() -> None:
    setting = config({"kind": "rrf"}, {"kind": "select", "floors": {"project": 2}})
    known = addresses(setting)
    assert known["rrf.rrf_k"] == 60.0
    assert known["select.floors.project"] == 2
    assert known["select.floors.log"] == 0
    assert known["select.caps.log"] is None
    assert known["rrf.weights.dense"] == 1.0
    assert known["arms.lexical.k1"] == 1.2
    assert "rrf.kind" not in known


def test_a_bare_field_is_accepted_only_where_one_stage_has_it() -> None:
    setting = config(
        {"kind": "rrf"},
        {"kind": "decay"},
        {"kind": "recency", "name": "fresh"},
    )
    assert resolve(setting, "rrf_k") == "rrf.rrf_k"
    assert resolve(setting, "weights.dense") == "rrf.weights.dense"
    with pytest.raises(
        ParameterError, match=r"ambiguous; write one of decay\.half_life_days, fresh"
    ):
        resolve(setting, "half_life_days")
    with pytest.raises(ParameterError, match=r"nearest: 'rrf\.rrf_k'"):
        resolve(setting, "rrf.rffk")


def test_setting_a_value_checks_it_and_leaves_the_original_alone() -> None:
    setting = config({"kind": "rrf"}, {"kind": "decay"}, {"kind": "select"})
    changed = set_many(setting, {"decay.half_life_days": 7, "select.floors.project": 3})
    assert get(changed, "decay.half_life_days") == 7.0
    assert get(changed, "select.floors.project") == 3
    assert get(setting, "decay.half_life_days") == 30.0
    with pytest.raises(ParameterError, match=r"half_life_days.*greater than 0.*got 0"):
        set_many(setting, {"decay.half_life_days": 0})


@pytest.mark.parametrize("bad", [0, -5, float("nan"), float("inf"), True, "30"])
def test_a_half_life_that_means_nothing_is_refused_by_name(bad: Any) -> None:
    with pytest.raises(ParameterError, match=r"stages\.1\.decay\.half_life_days"):
        config({"kind": "rrf"}, {"kind": "decay", "half_life_days": bad})


def test_unknown_keys_are_refused_with_the_nearest() -> None:
    with pytest.raises(ParameterError, match=r"rrfk is not a parameter"):
        config({"kind": "rrf", "rrfk": 60})
    with pytest.raises(ParameterError, match="nearest: 'project'"):
        config({"kind": "rrf"}, {"kind": "select", "floors": {"projekt": 1}})
    with pytest.raises(ParameterError, match="nearest: 'textbook'"):
        preset("textbok")


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(ParameterError) as caught:
        config({"kind": "rrf", "rrf_k": -1}, {"kind": "decay", "floor": 1.5})
    assert "rrf_k" in str(caught.value)
    assert "floor" in str(caught.value)


@pytest.mark.parametrize(
    ("stages", "told"),
    [
        ([{"kind": "decay"}], "must start with a fusion"),
        ([{"kind": "rrf"}, {"kind": "decay"}, {"kind": "decay"}], "unique"),
        ([{"kind": "rrf", "name": "arms"}], "reserved"),
        ([{"kind": "rrf", "weights": {"graph": 1.0}}], "names the arm 'graph'"),
        ([], "at least 1 item"),
    ],
)
def test_a_config_that_contradicts_itself_is_refused(stages: list[Any], told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        config(*stages)


def test_a_broken_file_is_named_with_its_line(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text('name = "x"\n[arms.lexical]\nk1 = = 2\n', encoding="utf-8")
    with pytest.raises(SourceError, match=r"broken\.toml:3: not TOML"):
        load_config(broken)
    with pytest.raises(ParameterError, match="neither a file nor a preset"):
        load_config(tmp_path / "absent.toml")


def test_profiles_change_addresses_and_an_unknown_one_is_refused() -> None:
    from recalltune.pipeline.run import with_profile

    setting = config(
        {"kind": "rrf"}, {"kind": "decay"}, profiles={"debug": {"decay.half_life_days": 7.0}}
    )
    assert get(with_profile(setting, "debug"), "decay.half_life_days") == 7.0
    assert with_profile(setting, None) == setting
    assert with_profile(setting, "default") == setting
    with pytest.raises(ParameterError, match="profile 'debgu' is unknown; nearest: 'debug'"):
        with_profile(setting, "debgu")


def test_a_profile_with_an_unknown_address_is_refused_when_the_config_is_made() -> None:
    with pytest.raises(ParameterError, match=r"profile 'debug'.*decay\.half_live"):
        config({"kind": "rrf"}, {"kind": "decay"}, profiles={"debug": {"decay.half_live": 7.0}})
