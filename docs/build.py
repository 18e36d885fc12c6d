"""make docs: the parts of README and docs that a run produces, so that no figure is typed by hand.

Figures and picture come from the record of a demo run in out/; it is run anew where the record is
missing or was made by other code. Timings come from the last `make bench`, if there was one. With
--check nothing is written and the exit code is 1 if the README does not say what the record says.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recalltune import charts
from recalltune.evaluate.catalogue import metric_label
from recalltune.rank.decay import weibull
from recalltune.report.demo import run_demo
from recalltune.version import code_digest

__all__ = ["block", "decay_shapes", "demo_record", "figures", "main", "timings", "with_block"]

ROOT = Path(__file__).resolve().parent.parent
OUT, IMAGES, README = ROOT / "out", ROOT / "docs" / "images", ROOT / "README.md"
PERFORMANCE = ROOT / "docs" / "performance.md"
HEATMAP = IMAGES / "sweep_heatmap.png"
SHOWN = {
    "ndcg@10": "nDCG@10",
    "recall_all@10": "all targets in the first ten",
    "passed": "cases passed",
}
"""Metric -> how the README calls it."""
HALF_LIFE_DAYS = 30.0
SHAPES = (0.5, 1.0, 1.5)


def figures(record: Mapping[str, Any]) -> str:
    """Return the Markdown table that the README shows of one demo run."""
    read = record["import"]
    lines = [
        "| step | what came out |",
        "|---|---|",
        f"| import | {read['read']:,} records read, {read['kept']:,} kept, "
        f"{read['dropped']:,} dropped, each with its reason |",
    ]
    for name, summary in record["presets"].items():
        rows = {row["metric"]: row for row in summary}
        told = ", ".join(f"{label} {_interval(rows[metric])}" for metric, label in SHOWN.items())
        lines.append(f"| preset `{name}` | {told}, {rows['tokens']['mean']:.0f} tokens a list |")
    sweep, choice = record["sweep"], record["choice"]
    lines.append(
        f"| sweep | {sweep['settings']:,} settings that rank differently, each on "
        f"{sweep['cases']} cases |"
    )
    lines += [f"| choice | {_changes(choice)} |", f"| evidence | {_evidence(choice)} |"]
    encoder = choice["encoder"].partition("@")[0]
    stamps = f"Means with 95 % intervals over whole sessions. Encoder {encoder}, data "
    stamps += f"{choice['data']}, config {choice['config_default']} → {choice['config_chosen']}."
    return "\n".join([*lines, "", stamps])


def _interval(row: Mapping[str, Any]) -> str:
    if row["lo"] is None:
        return f"{row['mean']:.3f}"
    return f"{row['mean']:.3f} [{row['lo']:.3f}, {row['hi']:.3f}]"


def _changes(choice: Mapping[str, Any]) -> str:
    if not choice["changes"]:
        return "the default stays"
    return ", ".join(
        f"`{address}` {_value(change['default'])} → {_value(change['chosen'])}"
        for address, change in choice["changes"].items()
    )


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _evidence(choice: Mapping[str, Any]) -> str:
    if choice["verdict"] != "winner":
        return str(choice["sentence"]).replace("|", "\\|")
    means, label = choice["means"], metric_label(choice["metric"])
    told = (
        f"tuning cases: {label} {means['default']:.3f} → {means['chosen']:.3f}, at least "
        f"{choice['at_least']:+.3f} after allowing for all {choice['settings'] - 1:,} settings"
    )
    held = choice["held_out"]
    if held is None:
        return told
    return (
        f"{told}; {held['n']} held-out cases, scored after the choice: {held['mean_a']:.3f} → "
        f"{held['mean_b']:.3f}, {held['mean']:+.3f} [{held['lo']:.3f}, {held['hi']:.3f}]"
    )


def block(text: str, name: str) -> str:
    """Return what stands between ``<!-- name -->`` and ``<!-- /name -->``, without the rims.

    Raises
    ------
    ValueError
        If the two markers are not there exactly once, in this order.
    """
    opening, closing = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, found, rest = text.partition(opening)
    inside, ended, after = rest.partition(closing)
    if not (found and ended) or opening in before + after + inside or closing in before + after:
        message = f"the text needs one {opening} and after it one {closing}"
        raise ValueError(message)
    return inside.strip("\n")


def with_block(text: str, name: str, content: str) -> str:
    """Return ``text`` with the block of that name replaced."""
    block(text, name)
    head, _, rest = text.partition(f"<!-- {name} -->")
    tail = rest.partition(f"<!-- /{name} -->")[2]
    return f"{head}<!-- {name} -->\n{content}\n<!-- /{name} -->{tail}"


def timings(record: Mapping[str, Any]) -> str:
    """Return the Markdown table of one run of the benchmarks."""
    lines = [
        "| work | ours | beside | theirs | times faster: wall | processor | share of a limit |",
        "|---|---:|---|---:|---:|---:|---|",
    ]
    for row in record["rows"]:
        lines.append(
            f"| {row['workload']} | {_duration(row['ours_ms'])} | {row['peer']} | "
            f"{_duration(row['peer_ms'])} | {_times(row['ratio'])} | "
            f"{_times(row['cpu_ratio'])} | {row['limit']} |"
        )
    limits = record["limits"]
    told = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    return "\n".join(
        [
            *lines,
            "",
            f"Limits, one thread: copy {limits['copy_bytes'] / 1e9:.1f} GB/s, "
            f"float64 compares {limits['compares'] / 1e9:.1f} G/s, "
            f"divisions {limits['divides'] / 1e9:.1f} G/s, "
            f"sorted uint64 {limits['sorted_keys'] / 1e6:.0f} M/s. Versions: {told}.",
        ]
    )


def _times(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 1 else f"{ratio:.1f}" if ratio < 10 else f"{ratio:,.0f}"


def _duration(milliseconds: float) -> str:
    if milliseconds < 1:
        return f"{1e3 * milliseconds:.0f} µs"
    return f"{milliseconds:.3g} ms" if milliseconds < 1e3 else f"{milliseconds / 1e3:.2f} s"


def demo_record(out: Path) -> dict[str, Any]:
    """Return the record of a demo run by the present code, running it where there is none."""
    path = out / "demo.json"
    if path.exists():
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if record["code"] == code_digest():
            return record
        _say(f"{path} was made by code {record['code']}, this is {code_digest()}: running anew")
    run_demo(ROOT / "data", out, say=_say)
    made: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return made


def decay_shapes(into: Path) -> Path:
    """Draw Weibull forgetting for shapes on both sides of 1: they cross at the half-life."""
    ages = np.geomspace(0.25, 730.0, 200)
    frame = pl.concat(
        pl.DataFrame(
            {
                "curve": [f"shape {shape:g}"] * ages.size,
                "age_days": ages,
                "weight": weibull(ages, half_life_days=HALF_LIFE_DAYS, shape=shape),
            }
        )
        for shape in SHAPES
    )
    chart = charts.decay_curves(
        frame,
        half_life_days=HALF_LIFE_DAYS,
        enlarge=False,
        finding=(
            "A small shape forgets faster before the half-life and slower after it; "
            "a large one is the reverse"
        ),
        detail=f"Weibull, half-life {HALF_LIFE_DAYS:g} days in every curve.",
    )
    return charts.save_png(chart, into)


def _picture(out: Path) -> Path:
    """Copy the demo's heatmap of one sweep."""
    found = sorted(out.glob("*_settings.png"))
    if len(found) != 1:
        message = f"{out} holds {len(found)} pictures *_settings.png, 1 is needed"
        raise ValueError(message)
    HEATMAP.parent.mkdir(parents=True, exist_ok=True)
    HEATMAP.write_bytes(found[0].read_bytes())
    return HEATMAP


def main() -> int:
    """Renew, or with --check compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if stale")
    parser.add_argument("--out", type=Path, default=OUT, help="folder of the demo run")
    options = parser.parse_args()
    told = figures(demo_record(options.out))
    text = README.read_text(encoding="utf-8")
    if options.check:
        if block(text, "figures") == told:
            _say("README.md says what the demo says")
            return 0
        _say("README.md does not say what the demo says. Run:\n\n    make docs")
        return 1
    README.write_text(with_block(text, "figures", told), encoding="utf-8")
    written = [README, _picture(options.out), decay_shapes(IMAGES / "decay_shapes.png")]
    bench = options.out / "bench.json"
    if bench.exists():
        table = timings(json.loads(bench.read_text(encoding="utf-8")))
        page = PERFORMANCE.read_text(encoding="utf-8")
        PERFORMANCE.write_text(with_block(page, "timings", table), encoding="utf-8")
        written.append(PERFORMANCE)
    for path in written:
        _say(f"wrote {path.relative_to(ROOT)}")
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
