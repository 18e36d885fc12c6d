"""make bench: our times beside others' at the same work, in one process, correctness first.

Every workload checks its answers before it times them and stops the run if they differ. Medians
of interleaved repeats; the share of a measured machine limit stands beside. Nothing here fails
because it is slow.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
if __name__ == "__main__":
    # Started as a script: the folder of the tests is not on the path, and pools open at import.
    sys.path[0] = str(ROOT / "tests")
    for pool in ("OPENBLAS", "OMP", "MKL", "NUMBA"):
        os.environ.setdefault(f"{pool}_NUM_THREADS", "1")

from benchmarks import (  # noqa: E402
    as_of,
    diversity,
    fusing,
    grid_places,
    grid_sweep,
    importing,
    lexical,
    machine,
    measuring,
    reinforcing,
    rows,
)

WORKLOADS: dict[str, Callable[..., list[rows.Row]]] = {
    "sweep": grid_sweep.bench,
    "places": grid_places.bench,
    "bm25": lexical.bench,
    "mmr": diversity.bench,
    "metrics": measuring.bench,
    "rrf": fusing.bench,
    "as-of": as_of.bench,
    "import": importing.bench,
    "reinforce": reinforcing.bench,
}
PEERS = ("numpy", "numba", "bm25s", "ranx", "ir-measures", "orjson")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(WORKLOADS)}; default: all")
    parser.add_argument("--repeats", type=int, default=5, help="rounds, at least 5 for a figure")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "bench.json")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - WORKLOADS.keys())
    if unknown:
        parser.error(f"unknown workload {unknown[0]}; one of {', '.join(WORKLOADS)}")
    # What peers warn about is theirs.
    warnings.simplefilter("ignore")
    print("machine")
    for line in machine.threads():
        print(line)
    limits = machine.measure_limits()
    for line in limits.lines():
        print(line)
    print(f"\n{rows.HEAD}", flush=True)
    told: list[rows.Row] = []
    for name in options.names or WORKLOADS:
        began = time.perf_counter()
        found = WORKLOADS[name](limits, repeats=options.repeats)
        told += found
        for row in found:
            print(row.line())
        seconds = time.perf_counter() - began
        print(f"  ({name}: set-up, gate and {options.repeats} rounds, {seconds:.0f} s)", flush=True)
    options.out.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    record = {
        "versions": {name: version(name) for name in PEERS},
        "limits": vars(limits),
        "rows": [row.record() for row in told],
    }
    options.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
