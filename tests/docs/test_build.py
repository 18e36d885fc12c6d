"""What make docs writes into the README, on a record made by hand."""

from __future__ import annotations

import copy
import json
import runpy
from typing import Any

import pytest


def row(metric: str, mean: float) -> dict[str, Any]:
    return {"metric": metric, "mean": mean, "lo": mean - 0.1, "hi": mean + 0.1, "n": 9}


RECORD = {
    "import": {"read": 1_200, "kept": 1_000, "dropped": 200},
    "presets": {
        "textbook": [
            row("ndcg@10", 0.5),
            row("recall_all@10", 0.6),
            row("passed", 0.4),
            row("tokens", 431.6),
        ]
    },
    "sweep": {"settings": 3_600, "cases": 142},
    "choice": {
        "metric": "ndcg@10",
        "verdict": "winner",
        "sentence": "half-life 120 | replaces the default.",
        "changes": {
            "decay.family": {"default": "none", "chosen": "exponential"},
            "decay.half_life_days": {"default": 30.0, "chosen": 120.0},
        },
        "means": {"default": 0.5, "chosen": 0.75},
        "at_least": 0.0224,
        "settings": 3_600,
        "held_out": {"n": 70, "mean_a": 0.5, "mean_b": 0.625, "mean": 0.125, "lo": 0.04, "hi": 0.2},
        "config_default": "aaaa",
        "config_chosen": "bbbb",
        "data": "cccc",
        "encoder": "multilingual@1|more",
    },
    "code": "dddd",
}
TEXT = "before\n<!-- figures -->\nold\n<!-- /figures -->\nafter\n"


@pytest.fixture(scope="module")
def build(root):
    return runpy.run_path(str(root / "docs" / "build.py"))


def test_figures_name_import_preset_sweep_choice_and_evidence(build):
    lines = build["figures"](RECORD).splitlines()
    assert lines[2] == (
        "| import | 1,200 records read, 1,000 kept, 200 dropped, each with its reason |"
    )
    assert "nDCG@10 0.500 [0.400, 0.600]" in lines[3]
    assert "432 tokens a list" in lines[3]
    assert lines[5] == (
        "| choice | `decay.family` none → exponential, `decay.half_life_days` 30 → 120 |"
    )
    assert "at least +0.022 after allowing for all 3,599 settings" in lines[6]
    assert "0.500 → 0.625, +0.125 [0.040, 0.200]" in lines[6]
    assert lines[-1].endswith("Encoder multilingual, data cccc, config aaaa → bbbb.")


def test_no_winner_is_told_as_such_and_cannot_break_the_table(build):
    record = copy.deepcopy(RECORD)
    record["choice"] |= {"verdict": "no difference", "changes": {}}
    lines = build["figures"](record).splitlines()
    assert lines[5] == "| choice | the default stays |"
    assert lines[6] == "| evidence | half-life 120 \\| replaces the default. |"


def test_a_block_is_replaced_and_the_rest_of_the_text_kept(build):
    renewed = build["with_block"](TEXT, "figures", "new\nlines")
    assert renewed == "before\n<!-- figures -->\nnew\nlines\n<!-- /figures -->\nafter\n"
    assert build["block"](renewed, "figures") == "new\nlines"
    assert build["with_block"](renewed, "figures", "new\nlines") == renewed


@pytest.mark.parametrize(
    "text",
    [
        "no marker",
        "<!-- /figures --> <!-- figures -->",
        "<!-- figures --> never closed",
        TEXT + TEXT,
    ],
)
def test_markers_that_are_not_a_single_pair_are_refused(build, text):
    with pytest.raises(ValueError, match="needs one <!-- figures -->"):
        build["block"](text, "figures")


@pytest.mark.parametrize(("inside", "code"), [("same", 0), ("0.999", 1)])
def test_check_fails_exactly_where_readme_and_record_differ(
    root, build, tmp_path, monkeypatch, capsys, inside, code
):
    told = build["figures"](RECORD)
    readme = tmp_path / "README.md"
    content = told if inside == "same" else told.replace("0.500", inside)
    readme.write_text(build["with_block"](TEXT, "figures", content), encoding="utf-8")
    before = readme.read_bytes()
    (tmp_path / "demo.json").write_text(json.dumps(RECORD), encoding="utf-8")
    main = build["main"]
    monkeypatch.setitem(main.__globals__, "README", readme)
    monkeypatch.setitem(main.__globals__, "code_digest", lambda: "dddd")
    monkeypatch.setattr("sys.argv", ["build.py", "--check", "--out", str(tmp_path)])
    assert main() == code
    assert readme.read_bytes() == before
    assert ("make docs" in capsys.readouterr().out) == bool(code)


def test_a_record_made_by_other_code_is_not_believed(build, tmp_path, monkeypatch):
    (tmp_path / "demo.json").write_text(json.dumps(RECORD), encoding="utf-8")
    runs = []

    def run_demo(data, out, *, say):
        runs.append(data.name)
        (out / "demo.json").write_text(json.dumps(RECORD | {"code": "new"}), encoding="utf-8")

    names = build["demo_record"].__globals__
    monkeypatch.setitem(names, "run_demo", run_demo)
    monkeypatch.setitem(names, "code_digest", lambda: "new")
    assert build["demo_record"](tmp_path)["code"] == "new"
    assert build["demo_record"](tmp_path)["code"] == "new"
    assert runs == ["data"]


def test_timings_tell_both_times_and_the_ratio_in_few_digits(build):
    record = {
        "versions": {"numpy": "2.4", "ranx": "0.3"},
        "limits": {"copy_bytes": 1.1e10, "compares": 2e9, "divides": 1.5e9, "sorted_keys": 1.7e8},
        "rows": [
            {
                "peer": "p",
                "ours_ms": 0.35,
                "peer_ms": 0.05,
                "ratio": 0.143,
                "cpu_ratio": 2.5,
                "limit": "",
            },
            {
                "peer": "q",
                "ours_ms": 2.5,
                "peer_ms": 1_500.0,
                "ratio": 600.0,
                "cpu_ratio": 60.0,
                "limit": "x",
            },
        ],
    }
    record["rows"] = [row | {"workload": "w"} for row in record["rows"]]
    lines = build["timings"](record).splitlines()
    assert lines[2] == "| w | 350 µs | p | 50 µs | 0.14 | 2.5 |  |"
    assert lines[3] == "| w | 2.5 ms | q | 1.50 s | 600 | 60 | x |"
    assert lines[-1].endswith("sorted uint64 170 M/s. Versions: numpy 2.4, ranx 0.3.")
