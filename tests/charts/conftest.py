"""Made-up frames, one a chart form, in both languages; every expected number is in sight here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from functools import partial
from typing import Any, NamedTuple

import polars as pl
import pytest

from recalltune import charts

STOPS = (3.0, 7.0, 14.0, 30.0, 60.0, 90.0, 180.0, 365.0)
SHAPES = (0.5, 1.0, 1.3, 2.0)
LAYERS = ("project", "whiteboard", "user", "reflection", "log")
PRESETS = ("textbook", "recallnest", "openclaw", "dsh-auto-memory", "hel847")
LONG = "请把所有关于诗集封面颜色与印刷厂报价的记录按照时间顺序列出来给我看一遍好吗谢谢"


class Demo(NamedTuple):
    """A chart function with its options, its frame, and the columns it cannot do without."""

    draw: Callable[..., Any]
    frame: pl.DataFrame
    needs: tuple[str, ...]


def flips() -> pl.DataFrame:
    # 4 better, 2 worse, 24 unchanged
    before = [11, 6, None, 2, 1, 3] + [3] * 24
    after = [1, 5, 4, 1, None, 8] + [3] * 24
    labels = ["GitHub备份放在哪个目录？", "port of the proxy", "deploy freeze", "旧书店的名字"]
    return pl.DataFrame(
        {
            "case_id": [f"c{at:03}" for at in range(30)],
            "label": [*labels, LONG, "default locale", *["x"] * 24],
            "rank_a": before,
            "rank_b": after,
            "kind": ["update", "single_fact", "date"] * 10,
            "layer": ["project", "log"] * 15,
        },
        schema_overrides={"rank_a": pl.Int64, "rank_b": pl.Int64},
    )


def heat() -> pl.DataFrame:
    rows = [
        {"x": x, "y": y, "mean": 0.6 + 0.01 * column - 0.005 * row, "tie": column >= 6, "n": 142}
        for column, x in enumerate(STOPS)
        for row, y in enumerate(SHAPES)
    ]
    off = {"x": None, "y": None, "mean": 0.612, "tie": True, "n": 142}
    frame = pl.DataFrame([*rows, off], infer_schema_length=None)
    return frame.with_columns(diff=pl.col("mean") - 0.63, lo=pl.col("mean") - 0.65,
                              hi=pl.col("mean") - 0.61)  # fmt: skip


def sweep() -> pl.DataFrame:
    def part(name: str, n: int, slope: float) -> list[dict[str, Any]]:
        return [
            {"value": stop, "diff": slope * (at - 4), "lo": slope * (at - 4) - 0.02,
             "hi": slope * (at - 4) + 0.02, "slice": name, "n": n}
            for at, stop in enumerate((*STOPS, None))
        ]  # fmt: skip

    rows = part("all cases", 142, 0.008) + part("update", 24, -0.02) + part("日期问题", 18, 0.01)
    return pl.DataFrame(rows, infer_schema_length=None)


def steps() -> pl.DataFrame:
    rows = [
        {"value": float(budget), "slice": layer, "y": 0.0 if (layer, budget) == ("user", 100)
         else float(budget // 40)}
        for budget in range(60, 240, 20)
        for layer in LAYERS
    ]  # fmt: skip
    return pl.DataFrame(rows)


def presets() -> pl.DataFrame:
    rows = [
        {"row": name, "metric": metric, "value": base + 0.02 * at, "lo": base + 0.02 * at - 0.04,
         "hi": base + 0.02 * at + 0.04, "n": 96, "diff": 0.02 * (at - 1),
         "diff_lo": 0.02 * (at - 1) - 0.03, "diff_hi": 0.02 * (at - 1) + 0.03, "family": name}
        for at, name in enumerate(PRESETS)
        for metric, base in (("nDCG@10", 0.6), ("stale@10", 0.1))
    ]  # fmt: skip
    return pl.DataFrame(rows)


def dumbbells() -> pl.DataFrame:
    rows = [
        {"row": layer, "metric": "share", "value": 0.1 * (at + part), "role": role, "layer": layer}
        for at, layer in enumerate(LAYERS)
        for part, role in enumerate(("shown", "targets"))
    ]
    return pl.DataFrame(rows)


def curves() -> pl.DataFrame:
    ages = [0.25 * 2 ** (at / 8) for at in range(92)]
    rows = [
        {"curve": name, "age_days": age, "weight": floor + (1 - floor) * 0.5 ** ((age / 60) ** k)}
        for name, k, floor in (("core", 0.8, 0.85), ("working", 1.0, 0.65), ("边缘", 1.3, 0.45))
        for age in ages
    ]
    return pl.DataFrame(rows)


def ranks() -> pl.DataFrame:
    rows = [
        {"curve": f"divisor {k}", "rank": float(rank), "weight": 1 / (k + rank)}
        for k in (1, 60)
        for rank in range(1, 31)
    ]
    return pl.DataFrame(rows)


def flow() -> pl.DataFrame:
    memories = (
        ("m1", "诗集的封面是深蓝色", "superseded", "project", (1, 2, 3)),
        ("m2", "Friday demo: book cover", "other", "whiteboard", (2, 4, 1)),
        ("m3", "封面改为墨绿色", "target", "project", (3, 1, 2)),
        ("m4", "log 05-12 书店闲聊", "other", "log", (4, None, None)),
        ("m5", LONG, "other", "reflection", (5, 3, None)),
    )
    rows = [
        {"memory_id": name, "label": label, "role": role, "layer": layer,
         "column": PRESETS[at], "rank": rank}
        for name, label, role, layer, places in memories
        for at, rank in enumerate(places)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema_overrides={"rank": pl.Int64})


def waterfall() -> pl.DataFrame:
    rows: list[tuple[Any, ...]] = []
    for item, start, decay in (("target, 365 days old", 0.6, 0.7), ("rival at rank 3", 0.5, 0.9)):
        scores = [start, start * 0.8, start * 0.8, start * 0.8 * decay]
        stages = ("arms fused", "importance", "length", "decay")
        for step, stage in enumerate(stages):
            before = scores[step - 1] if step else None
            kind = "factor" if step else "start"
            rows.append((item, step, stage, before, scores[step], kind, None))
        rows.append((item, 4, "最终得分", None, scores[-1], "final", "below its minimum"))
    names = ["item", "step", "stage", "before", "after", "kind", "reason"]
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)


def losses() -> pl.DataFrame:
    # 171 - 3 - 17 - 0 = 151
    rows = [
        (0, "scope and gate", 168, 3, "not yet told"),
        (1, "arms", 151, 11, "no shared word"),
        (1, "arms", 151, 6, "作用域写法不同"),
        (2, "diversity", 151, 0, None),
    ]
    return pl.DataFrame(rows, schema=["step", "stage", "alive", "lost", "reason"], orient="row")


def account() -> pl.DataFrame:
    # user is empty with candidates in rounds 3, 6, 9, ... 39: 13 of 40.
    rows = [
        {"round": at, "layer": layer, "picked": 0 if layer == "user" and at % 3 == 0 else 2,
         "dropped": 1 + (at if layer == "log" else 0), "tokens": 40}
        for at in range(1, 41)
        for layer in LAYERS
    ]  # fmt: skip
    return pl.DataFrame(rows)


def strata() -> pl.DataFrame:
    sizes = (21, 34, 41, 17)
    bins = ("0-7 d", "8-30 d", "31-180 d", "over 180 d")
    rows = [
        {"bin": bins[at], "bin_order": at, "config": config, "role": role,
         "value": top - slope * at, "lo": top - slope * at - 0.1, "hi": top - slope * at + 0.1,
         "n": sizes[at]}
        for at in range(4)
        for config, role, top, slope in (("不衰减", "other", 0.6, 0.01),
                                         ("current default", "default", 0.71, 0.08),
                                         ("chosen", "chosen", 0.66, 0.03))
    ]  # fmt: skip
    return pl.DataFrame(rows)


def settings() -> pl.DataFrame:
    cloud = [
        {"tokens": 90.0 + 2 * at, "quality": 0.45 + 0.15 * (at / 350) ** 0.5 - 0.01 * (at % 7),
         "role": "setting", "label": None, "lo": None, "hi": None}
        for at in range(351)
    ]  # fmt: skip
    named = [
        ("chosen", None, 310.0, 0.568), ("default", None, 412.0, 0.552),
        ("preset", "textbook", 655.0, 0.58), ("preset", "openclaw", 520.0, 0.561),
        ("preset", "dsh-auto-memory", 396.0, 0.528),
    ]  # fmt: skip
    points = [
        {"tokens": x, "quality": y, "role": role, "label": label, "lo": y - 0.02, "hi": y + 0.02}
        for role, label, x, y in named
    ]
    return pl.DataFrame([*cloud, *points], infer_schema_length=None)


def months() -> pl.DataFrame:
    rows = [
        {"layer": layer, "month": date(2025 + at // 12, at % 12 + 1, 1),
         "n": 1 + at * (layer == "log"), "status": status, "median_tokens": 40.0}
        for at in range(14)
        for layer in LAYERS
        for status in ("current", "superseded")
    ]  # fmt: skip
    return pl.DataFrame(rows)


def lengths() -> pl.DataFrame:
    rows = [
        {
            "group": layer,
            "value": float(5 + 3 * at + 10 * place),
            "role": "target" if at == 3 else "other",
        }
        for place, layer in enumerate(LAYERS)
        for at in range(40)
    ]
    return pl.DataFrame(rows)


def kinds() -> pl.DataFrame:
    rows = [
        {"row": kind, "column": language, "n": n}
        for kind, sizes in (("update", (24, 30)), ("date", (18, None)), ("单一事实", (61, 9)))
        for language, n in zip(("en", "zh"), sizes, strict=True)
        if n is not None
    ]
    return pl.DataFrame(rows)


def phases() -> pl.DataFrame:
    # Entry 616; "legacy" refuses limits from the stored size to size + 616 that lower ones accept.
    rows = []
    for policy in ("legacy", "修正规则"):
        for size in range(2_000, 9_000, 500):
            middle = "refused" if policy == "legacy" else "compacted"
            for first, last, outcome in ((500, size, "compacted"), (size, size + 616, middle),
                                         (size + 616, 10_000, "written")):  # fmt: skip
                rows.append((policy, first, last, size, size + 500, outcome))
    names = ["policy", "limit_from", "limit_to", "size_from", "size_to", "outcome"]
    return pl.DataFrame(rows, schema=names, orient="row")


def exposures() -> pl.DataFrame:
    # Gini rises to .30 under no reinforcement and to .42 under the strongest.
    rows = [
        {"config": config, "step": 50 * at, "gini": 0.1 + slope * at, "top_1_share": 0.02 + slope,
         "top_10_share": 0.2 + slope * at}
        for config, slope in (("强化 0", 0.02), ("强化 0.5", 0.024), ("强化 2", 0.032))
        for at in range(1, 11)
    ]  # fmt: skip
    return pl.DataFrame(rows)


def drifting() -> pl.DataFrame:
    # 4 first needs a window in six of ten; under 2, one of four less is found without overlap loss.
    rows = [
        {"config": config, "window": at, "queries": 40, "overlap": 1.0 - slope * at,
         "first_needed": 4 if at < 7 else 0,
         "first_recall": 0.75 - 10 * slope if at < 7 else None, "still_first_recall": 0.75}
        for config, slope in (("强化 0", 0.0), ("强化 0.5", 0.01), ("强化 2", 0.025))
        for at in range(1, 11)
    ]  # fmt: skip
    return pl.DataFrame(rows)


def changes() -> pl.DataFrame:
    # Every third query is untouched: 8 of 24.
    rows = [
        {"query_id": f"q{at:02}", "stage": stage, "entered": part * (at % 3), "left": 0,
         "moved": 0, "kept": 6, "label": "封面是什么颜色"}
        for at in range(24)
        for part, stage in ((1, "decay"), (2, "layer places"))
    ]  # fmt: skip
    return pl.DataFrame(rows)


DEMOS: dict[str, Demo] = {
    "case_flips": Demo(charts.case_flips, flips(), ("case_id", "label", "rank_a", "rank_b")),
    "sweep_heatmap": Demo(
        partial(charts.sweep_heatmap, x_name="half_life_days", y_name="shape"),
        heat(), ("x", "y", "mean", "diff", "tie"),
    ),
    "sweep_line": Demo(
        partial(charts.sweep_line, parameter="half_life_days", default=60.0, off_name="no decay"),
        sweep(), ("value", "diff", "lo", "hi", "slice", "n"),
    ),
    "sweep_line_step": Demo(
        partial(charts.sweep_line, parameter="budget_tokens", form="step", measure="lines shown"),
        steps(), ("value", "y", "slice"),
    ),
    "preset_dots": Demo(
        charts.preset_dots, presets(), ("row", "metric", "value"),
    ),
    "preset_dots_pair": Demo(
        partial(charts.preset_dots, pair=("shown", "targets"), noun="layer"),
        dumbbells(), ("row", "metric", "value"),
    ),
    "decay_curves": Demo(
        partial(charts.decay_curves, half_life_days=60.0), curves(),
        ("curve", "age_days", "weight"),
    ),
    "decay_curves_rank": Demo(
        partial(charts.decay_curves, x="rank"), ranks(), ("curve", "rank", "weight"),
    ),
    "rank_flow": Demo(
        partial(charts.rank_flow, query="封面是什么颜色", noun="preset"), flow(),
        ("memory_id", "label", "column", "rank"),
    ),
    "score_waterfall": Demo(
        partial(charts.score_waterfall, threshold=(0.35, "minimum 0.35")), waterfall(),
        ("item", "step", "stage", "before", "after", "kind"),
    ),
    "loss_stages": Demo(charts.loss_stages, losses(), ("step", "stage", "alive", "lost")),
    "quota_account": Demo(
        charts.quota_account, account(), ("round", "layer", "picked", "dropped")
    ),
    "quota_account_timeline": Demo(
        partial(charts.quota_account, form="timeline", budget_tokens=250), account(),
        ("round", "layer", "tokens"),
    ),
    "age_strata": Demo(
        charts.age_strata, strata(), ("bin", "bin_order", "config", "value", "lo", "hi", "n")
    ),
    "pareto_quality_tokens": Demo(
        charts.pareto_quality_tokens, settings(), ("tokens", "quality", "role")
    ),
    "lockup_phase": Demo(
        charts.lockup_phase, phases(),
        ("policy", "limit_from", "limit_to", "size_from", "size_to", "outcome"),
    ),
    "churn": Demo(
        partial(charts.churn, mean={"value": 0.31, "lo": 0.27, "hi": 0.36}), changes(),
        ("query_id", "stage", "entered", "left", "moved", "kept"),
    ),
    "exposure_share": Demo(charts.exposure_share, exposures(), ("config", "step", "gini")),
    "feedback_drift": Demo(
        charts.feedback_drift, drifting(),
        ("config", "window", "overlap", "first_needed", "first_recall", "still_first_recall"),
    ),
    "profile_over_time": Demo(
        partial(charts.profile, form="over_time",
                cases_span=(datetime(2025, 9, 1, tzinfo=UTC), datetime(2025, 12, 1, tzinfo=UTC))),
        months(), ("layer", "month", "n", "status"),
    ),
    "profile_values": Demo(
        partial(charts.profile, form="values", unit="tokens", limits={"budget 100": 100.0}),
        lengths(), ("group", "value"),
    ),
    "profile_matrix": Demo(
        partial(charts.profile, form="matrix", noun="case"), kinds(), ("row", "column", "n")
    ),
}  # fmt: skip


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "demo" in metafunc.fixturenames:
        metafunc.parametrize("demo", DEMOS.values(), ids=DEMOS.keys())


@pytest.fixture(scope="session")
def demos() -> dict[str, Demo]:
    """Every demo chart by name."""
    return DEMOS


@pytest.fixture(autouse=True)
def _light_theme() -> Iterator[None]:
    with charts.using("light"):
        yield
