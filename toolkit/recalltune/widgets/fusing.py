"""Frames for the question how lists are fused: by language, what can be won, dead parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

from recalltune.candidates.table import Candidates
from recalltune.charts import Finding
from recalltune.errors import ParameterError
from recalltune.evaluate.judged import judge
from recalltune.evaluate.run import Evaluation
from recalltune.evaluate.views import compare, label_of, targets
from recalltune.pipeline.config import RankingConfig
from recalltune.sweep.bind import bind
from recalltune.widgets.tables import Table

__all__ = [
    "by_language",
    "dead_knobs",
    "fused_elsewhere",
    "mixed_question",
    "reach",
]


def by_language(runs: Mapping[str, Evaluation], metric: str) -> pl.DataFrame:
    """Mean of every run over all cases and by language, for `preset_dots`.

    Returns
    -------
    pl.DataFrame
        As `compare`, the first run the one to compare with; a further metric a language, such as
        *nDCG@10 (zh)*, without a difference.
    """
    whole = compare(runs, [metric])
    label = label_of(metric)
    parts = [
        run.summary(by="lang")
        .filter(pl.col("metric") == metric)
        .select(
            pl.lit(name).alias("row"),
            pl.format("{} ({})", pl.lit(label), pl.col("slice")).alias("metric"),
            pl.col("mean").cast(pl.Float64).alias("value"),
            pl.col("lo", "hi").cast(pl.Float64),
            pl.col("n").cast(pl.Int64),
        )
        for name, run in runs.items()
    ]
    return pl.concat([whole, *parts], how="diagonal")


def reach(candidates: Candidates, *, depth: int = 20) -> Table:
    """How many targets stand in the first places of both arms, of one, or of none, by language.

    Columns: language, targets, both, dense_only, lexical_only, neither, union (share of the
    targets that any fusion could show from the first ``depth`` places of the arms).
    """
    judged = judge(candidates)
    goal, slots = judged.labels.gains > 0, judged.slots
    near = {}
    for arm in ("dense", "lexical"):
        ranks = candidates.feature(f"{arm}_rank")[slots.query, slots.at]
        near[arm] = slots.present & (np.nan_to_num(ranks, nan=np.inf) <= depth)
    language = np.array(candidates.queries["lang"].fill_null("not said").to_list())[slots.query]
    dense, lexical = near["dense"], near["lexical"]
    rows = []
    for name in ["all", *sorted(set(language[goal].tolist()))]:
        mine = goal & ((language == name) | (name == "all"))
        total = int(mine.sum())
        rows.append(
            {
                "language": name,
                "targets": total,
                "both": int((mine & dense & lexical).sum()),
                "dense_only": int((mine & dense & ~lexical).sum()),
                "lexical_only": int((mine & ~dense & lexical).sum()),
                "neither": int((mine & ~dense & ~lexical).sum()),
                "union": float((mine & (dense | lexical)).sum() / max(total, 1)),
            }
        )
    return Table(pl.DataFrame(rows), f"Targets among the first {depth} of each arm", {"union": 2})


def mixed_question(candidates: Candidates, runs: Mapping[str, Evaluation]) -> str:
    """Return the id of the question in two scripts on whose target these runs differ most.

    Where no question mixes scripts, every question with a target takes part.

    Raises
    ------
    ParameterError
        If no question has a target.
    """
    wanted = targets(candidates).select("query_id", "memory_id")
    if not wanted.height:
        raise ParameterError("candidates hold no question with a target, at least one is needed")
    texts = dict(candidates.queries.select("query_id", "text").iter_rows())
    mixed = [one for one in wanted["query_id"].unique().sort() if _mixes(texts[one])]
    asked = mixed or wanted["query_id"].unique().sort().to_list()
    best = [
        wanted.join(run.hits, on=["query_id", "memory_id"], how="inner")
        .group_by("query_id")
        .agg((1 / pl.col("rank")).max().alias("gain"))
        for run in runs.values()
    ]
    gains = {one: [0.0] * len(best) for one in asked}
    for at, frame in enumerate(best):
        for one, gain in frame.iter_rows():
            if one in gains:
                gains[one][at] = gain
    return str(max(asked, key=lambda one: max(gains[one]) - min(gains[one])))


def _mixes(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    latin = sum(character.isascii() for character in letters)
    return 0 < latin < len(letters)


def dead_knobs(candidates: Candidates, configs: Mapping[str, RankingConfig]) -> Table:
    """Every parameter of some fusions: over which range it was moved, and what that changed.

    Columns: fusion, parameter, now, tried, lists_changed (share of the questions), verdict.
    """
    frames = []
    for name, config in configs.items():
        fusion = next(stage.name for stage in config.stages if stage.fuses)
        found = bind(candidates, config)
        mine = found.filter(pl.col("address").str.starts_with(f"{fusion}."))
        frames.append(
            mine.select(
                pl.lit(name).alias("fusion"),
                pl.col("address").str.strip_prefix(f"{fusion}.").alias("parameter"),
                pl.col("value").alias("now"),
                "tried",
                pl.col("lists").alias("lists_changed"),
                "verdict",
            )
        )
    return Table(pl.concat(frames), "Parameters of each fusion", {"lists_changed": 2})


def fused_elsewhere(folder: Path | str | None = None) -> tuple[Table, Finding]:
    """Published lists alone and fused with BM25 on MADial-Bench, from the committed figures.

    Parameters
    ----------
    folder
        Folder of the figures; by default ``docs/results`` here or in a folder above.

    Returns
    -------
    tuple[Table, Finding]
        language, list, alone, fused, difference (mean average precision); and in how many of the
        lists fusing lowers the mean.
    """
    path = _results(folder) / "madial_bench.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    found = record["rankings"]
    means = {
        (row["language"], row["ranking"]): row["mean"] for row in found if row["metric"] == "map"
    }
    rows = [
        {"language": language, "list": ranking, "alone": mean, "fused": fused}
        for (language, ranking), mean in means.items()
        if (fused := means.get((language, f"RRF of BM25 and {ranking}"))) is not None
    ]
    frame = pl.DataFrame(rows).with_columns(difference=pl.col("fused") - pl.col("alone"))
    told = Finding(
        "Fused with {other}, {lower:count} of {lists:count} lists have a lower mean",
        {"other": "BM25", "lower": (frame["difference"] < 0).sum(), "lists": frame.height},
        "exact",
    )
    n = record["n"]
    title = f"Mean average precision over {n['questions']} questions and {n['memories']} memories"
    return Table(frame, title), told


def _results(folder: Path | str | None) -> Path:
    if folder is not None:
        return Path(folder)
    for above in (Path.cwd(), *Path.cwd().parents):
        if (above / "docs" / "results").is_dir():
            return above / "docs" / "results"
    message = "no folder docs/results here or above; give folder="
    raise ParameterError(message)
