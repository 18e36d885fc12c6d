"""Sweeps in the store: every point with its per-case values, written once, read back equal."""

from __future__ import annotations

import tomllib

import numpy as np
import polars as pl

from recalltune.candidates.build import candidates
from recalltune.candidates.ledger import degradations, ledger_frame
from recalltune.candidates.table import Candidates
from recalltune.encode import Encoder
from recalltune.errors import ContractError
from recalltune.pipeline.config import parse_config
from recalltune.store import Lab, Sweep, read_sweep, read_table, write_ledger, write_sweep
from recalltune.sweep.engine import SweepResult, distinct
from recalltune.sweep.space import Space
from recalltune.version import code_digest

__all__ = ["load_sweep", "save_sweep"]


def save_sweep(lab: Lab, result: SweepResult, *, case_set: str) -> str:
    """Write a sweep and return its id; points that are there already are not written again.

    What it had to do without stands in the ledger under the same id.
    """
    head = Sweep(
        sweep_id=result.sweep_id,
        config=result.base.to_toml(),
        space=result.space.to_toml(),
        config_fingerprint=result.base.fingerprint,
        data_digest=result.stamp.data,
        encoder_id=result.stamp.encoder,
        code_version=code_digest(),
        case_set=case_set,
        case_ids=tuple(result.cases["query_id"].to_list()),
        settings={},
    )
    with lab.writing() as con:
        there = read_table(con, "sweep_point", sweep_id=result.sweep_id)
        frames = [_points(result, metric) for metric in result.values]
        fresh = pl.concat(frames).join(there, on=["point_id", "metric"], how="anti")
        write_sweep(con, head, fresh)
        write_ledger(con, result.sweep_id, ledger_frame(degradations(result.candidates)))
    return result.sweep_id


def _points(result: SweepResult, metric: str) -> pl.DataFrame:
    values = result.of(metric)
    setting = result.points.select(
        pl.struct(pl.exclude("point_id")).struct.json_encode().alias("setting")
    )["setting"]
    nested = pl.Series("case_values", values).arr.to_list()
    return pl.DataFrame(
        {
            "point_id": result.points["point_id"],
            "metric": [metric] * len(values),
            "setting": setting,
            "value": pl.Series(result.means(metric)).fill_nan(None),
            "case_values": nested.list.eval(pl.element().fill_nan(None)),
        }
    )


def load_sweep(
    lab: Lab, sweep_id: str, *, encoder: Encoder | str | None = None
) -> tuple[SweepResult, Candidates]:
    """Read a sweep back, with the whole candidate table of its cases.

    Raises
    ------
    ContractError
        If there is no such sweep, points are missing, or data, encoder or code changed since.
    """
    with lab.reading() as con:
        head, points = read_sweep(con, sweep_id)
    base = parse_config(head["config"], f"sweep {sweep_id}")
    space = Space(tomllib.loads(head["space"])["space"]).resolved(base)
    table = candidates(lab, head["case_set"], base, encoder=encoder)
    seen = (head["data_digest"], head["encoder_id"], head["code_version"])
    here = (table.stamp.data, table.stamp.encoder, code_digest())
    if seen != here:
        message = (
            f"sweep {sweep_id} was made with data {seen[0]}, encoder {seen[1]} and code {seen[2]}; "
            f"now they are {here[0]}, {here[1]} and {here[2]}: run recalltune sweep again"
        )
        raise ContractError(message)
    configs, rows, merged = distinct(base, space)
    values = {}
    for metric in points["metric"].unique().sort().to_list():
        mine = points.filter(pl.col("metric") == metric).select("point_id", "case_values")
        placed = rows.join(mine, on="point_id", how="left", maintain_order="left")
        missing = placed["case_values"].null_count()
        if missing:
            message = f"sweep {sweep_id} lacks {missing} of {rows.height} points; run it again"
            raise ContractError(message)
        nested = placed["case_values"].to_list()
        values[metric] = np.array(nested, dtype=np.float64)
    case_ids = list(head["case_ids"])
    order = {query_id: row for row, query_id in enumerate(table.queries["query_id"].to_list())}
    part = table.take([order[case_id] for case_id in case_ids])
    result = SweepResult(
        base=base,
        space=space,
        points=rows,
        configs=configs,
        values=values,
        cases=part.queries.select("query_id", "session", "kind", "lang"),
        stamp=table.stamp,
        candidates=part,
        merged=merged,
    )
    return result, table
