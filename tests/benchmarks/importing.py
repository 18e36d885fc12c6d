"""Reading a session log into a lab, beside a bare loop that only decodes its lines.

The gate: every line is kept or dropped, the kept turns are those an independent count finds, and
no planted secret is left. Each turn of ours is a process of its own, on one core, so that its peak
memory is its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import orjson

from benchmarks.log_data import write_log
from benchmarks.machine import Limits
from benchmarks.rows import Row

MEGABYTES = float(os.environ.get("RECALLTUNE_IMPORT_MB", "1000"))
_OURS = """
import json, resource, sys, time
import recalltune as rt
lab = rt.open(sys.argv[2])
wall, cpu = time.perf_counter(), time.process_time()
report = rt.ingest(lab, sys.argv[1])
told = {
    "wall": time.perf_counter() - wall,
    "cpu": time.process_time() - cpu,
    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
    "read": int(report.frame["read"].sum()),
    "kept": int(report.frame["kept"].sum()),
    "redacted": int(report.redacted["count"].sum()),
}
print(json.dumps(told))
"""


def bench(limits: Limits, *, repeats: int = 5) -> list[Row]:
    """One row; a gigabyte takes half a minute, so it is read three times at most."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "session.jsonl"
        share = write_log(log, MEGABYTES)
        size = log.stat().st_size / 1e6
        ours: list[dict[str, float]] = []
        theirs: list[float] = []
        for number in range(min(repeats, 3)):
            ours.append(_read(log, Path(folder) / f"{number}.duckdb"))
            (Path(folder) / f"{number}.duckdb").unlink()
            began = time.process_time()
            counted = _count(log)
            theirs.append(time.process_time() - began)
            _check(ours[-1], counted)
    mine = sorted(ours, key=lambda told: told["wall"])[len(ours) // 2]
    bare = sorted(theirs)[len(theirs) // 2]
    told = (
        f"{size / mine['wall']:.1f} MB/s beside {size / bare:.0f}, {share:.0%} kept text, "
        f"peak {mine['peak_mb']:,.0f} MB"
    )
    return [
        Row(
            f"import {size:,.0f} MB of JSONL",
            ours_ms=1e3 * mine["wall"],
            peer="orjson.loads on every line",
            peer_ms=1e3 * bare,
            ratio=bare / mine["wall"],
            cpu_ratio=bare / mine["cpu"],
            limit=told,
        )
    ]


def _read(log: Path, lab: Path) -> dict[str, float]:
    command = [sys.executable, "-c", _OURS, str(log), str(lab)]
    core = {min(os.sched_getaffinity(0))}
    run = subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, core),
    )
    told: dict[str, float] = json.loads(run.stdout)
    return told


def _count(log: Path) -> tuple[int, int, int]:
    """Lines, lines with words of someone, and planted secrets."""
    lines = words = secrets = 0
    with log.open("rb") as file:
        for line in file:
            record = orjson.loads(line)
            content = record["message"]["content"]
            lines += 1
            text = content if isinstance(content, str) else content[0].get("text")
            words += text is not None
            secrets += text is not None and "aws_access_key_id" in text
    return lines, words, secrets


def _check(ours: dict[str, float], counted: tuple[int, int, int]) -> None:
    told = (ours["read"], ours["kept"], ours["redacted"])
    if told != counted:
        message = f"read, kept and redacted must be {counted}, got {told}"
        raise SystemExit(message)
