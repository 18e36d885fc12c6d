"""The report as files: the page and its pictures, from a journey or from a filled lab."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import vl_convert

from recalltune.candidates.build import candidates
from recalltune.candidates.table import Candidates
from recalltune.charts import using
from recalltune.encode import Encoder, resolve
from recalltune.errors import ContractError, ParameterError
from recalltune.evaluate.run import DEFAULT_METRICS, Evaluation, evaluate, in_split
from recalltune.pipeline.address import addresses
from recalltune.pipeline.config import RankingConfig, preset, preset_names
from recalltune.production.replacing import write_private
from recalltune.report.html import page
from recalltune.report.picture import Picture
from recalltune.report.pictures import pictures
from recalltune.report.sections import TITLES, sections
from recalltune.report.story import Journey
from recalltune.store import Lab
from recalltune.sweep.choose import choose
from recalltune.sweep.engine import sweep
from recalltune.sweep.looks import record_look
from recalltune.sweep.saving import load_sweep
from recalltune.sweep.space import Space

__all__ = [
    "METRICS",
    "preset_runs",
    "write_journey",
    "write_picture",
    "write_report",
]

METRICS = (*DEFAULT_METRICS, "recall@5")
LARGEST_PAGE = 4_000_000
"""Bytes."""
PNG_SCALE = 2.0
SMALL_SPACE: Mapping[str, tuple[Any, ...]] = {
    "decay.family": ("none", "exponential"),
    "decay.half_life_days": (7, 14, 30, 60, 120, 240),
    "salience.salience_weight": (0.0, 0.5, 1.0),
    "tier_decay.half_life_days": (7.0, 30.0, 60.0, 180.0),
    "recency_boost.weight": (0.0, 0.1, 0.3),
    "select.floors.project": (0, 2),
}
"""Axes of the sweep a report makes by itself; those the config does not have are left out."""


def write_journey(
    journey: Journey,
    out: Path,
    *,
    page_name: str = "report.html",
    drawn: Sequence[Picture] = (),
    say: Callable[[str], object] | None = None,
) -> list[Path]:
    """Write the page and one PNG a chart into ``out``; return the paths, the page first.

    Parameters
    ----------
    journey
        What is told.
    out
        Folder, made where it is missing.
    page_name
        File name of the page.
    drawn
        Pictures made and written before; they are used as they are.
    say
        Receives the name of each picture when it is there.

    Raises
    ------
    ContractError
        If the page would be larger than 4 MB.
    """
    out.mkdir(mode=0o700, parents=True, exist_ok=True)
    there = {picture.name for picture in drawn}
    written, shown = [], []
    with using("light"):
        for picture in pictures(journey, drawn=drawn):
            shown.append(picture)
            if picture.chart is None:
                continue
            if picture.name in there:
                written.append(out / f"{picture.name}.png")
            else:
                written.append(write_picture(picture, out))
            if say is not None:
                say(picture.name)
        text = page(journey.question, TITLES, sections(journey, shown), lang="en")
    size = len(text.encode("utf-8"))
    if size > LARGEST_PAGE:
        message = f"the report would take {size:,} bytes, more than {LARGEST_PAGE:,}"
        raise ContractError(message)
    return [write_private(out / page_name, text), *written]


def write_picture(picture: Picture, out: Path) -> Path:
    """Write one chart as PNG at 144 ppi."""
    drawn = vl_convert.svg_to_png(picture.svg, scale=PNG_SCALE)
    return write_private(out / f"{picture.name}.png", drawn)


def write_report(
    lab: Lab,
    cases: str,
    config: RankingConfig,
    out: Path,
    *,
    encoder: Encoder | str | None = None,
    presets: Sequence[str] | None = None,
    sweep_id: str | None = None,
) -> Path:
    """Evaluate, and write the page for a lab that is already filled.

    Parameters
    ----------
    lab
        A filled lab.
    cases
        Name of a case set in it.
    config
        The current default.
    out
        File of the page; the pictures go beside it.
    encoder
        An encoder or its name; None takes the best one installed.
    presets
        Presets to set beside it; None takes all that ship.
    sweep_id
        A saved sweep of that config over these cases; None sweeps a little by itself.

    Returns
    -------
    Path
        ``out``.

    Raises
    ------
    ParameterError
        If the saved sweep starts from another config.
    """
    result = choice = None
    if sweep_id is None:
        table = candidates(lab, cases, config, encoder=encoder)
    else:
        result, table = load_sweep(lab, sweep_id, encoder=encoder)
        if result.base.fingerprint != config.fingerprint:
            message = (
                f"sweep {sweep_id} starts from config {result.base.fingerprint}, not from "
                f"{config.name} ({config.fingerprint}); name the one it was made with"
            )
            raise ParameterError(message)
    tuning = in_split(table, "tune")
    results = {
        config.name: evaluate(tuning, config, metrics=METRICS),
        **preset_runs(lab, cases, tuning, config, names=presets, encoder=encoder),
    }
    known = addresses(config)
    # The charts look for the current default among the values tried, so it is one of them.
    axes = {
        address: (*values, *({known[address]} - set(values)))
        for address, values in SMALL_SPACE.items()
        if address in known
    }
    if result is None and axes:
        result = sweep(table, config, Space(axes))
    if result is not None:
        choice = choose(result, candidates=table)
        record_look(lab, choice, table)
    journey = Journey(
        imported=None,
        candidates=tuning,
        results=results,
        sweep=result,
        choice=choice,
        commands=(f"recalltune report --db FILE --cases {cases} --config {config.name}",),
    )
    return write_journey(journey, out.parent, page_name=out.name)[0]


def preset_runs(
    lab: Lab,
    cases: str,
    table: Candidates,
    config: RankingConfig,
    *,
    names: Sequence[str] | None = None,
    encoder: Encoder | str | None = None,
) -> dict[str, Evaluation]:
    """Evaluate the presets beside ``config`` on the same cases, those to tune on.

    A preset with a dense arm is left out where no embedding model can run: lexical only it would
    be another ranking under the same name.

    Parameters
    ----------
    lab, cases, encoder
        As in `write_report`.
    config
        The current default; a preset that ranks as it does is left out.
    table
        The candidates of ``config``; used again by presets with the same admit and arms.
    names
        Presets; None takes all that ship.
    """
    chosen = resolve(encoder)[0] if isinstance(encoder, str | None) else encoder
    found: dict[str, Evaluation] = {}
    for name in preset_names() if names is None else names:
        other = preset(name)
        if other.fingerprint == config.fingerprint:
            continue
        if chosen is None and other.arms.dense is not None:
            continue
        mine = table
        if table.stamp.setup != other.setup:
            mine = candidates(lab, cases, other, encoder=chosen)
        found[name] = evaluate(mine, other, metrics=METRICS)
    return found
