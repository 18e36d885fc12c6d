"""Execute every notebook in a fresh kernel, and fail on the first broken cell of any.

Small by default (RECALLTUNE_SMALL=1) and into a temporary folder; `--full --into notebooks` renews
the committed outputs.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

NOTEBOOKS = Path(__file__).resolve().parent.parent.parent / "notebooks"


def execute(path: Path, into: Path, timeout: int) -> tuple[Path, float, str | None]:
    """Seconds a notebook took, and what went wrong in it."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=timeout,
        kernel_name="python3",
        record_timing=False,  # committed outputs change only when results do
        resources={"metadata": {"path": str(NOTEBOOKS)}},
    )
    started, problem = time.monotonic(), None
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        problem = str(error)
    else:
        nbformat.write(notebook, into / path.name)
    return path, time.monotonic() - started, problem


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="start of file names; default: all")
    parser.add_argument(
        "--full", action="store_true", help="full size instead of RECALLTUNE_SMALL=1"
    )
    parser.add_argument("--into", type=Path, help="folder for executed notebooks")
    parser.add_argument("--timeout", type=int, default=600, help="seconds a cell may take")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    paths = sorted(NOTEBOOKS.glob("*.ipynb"))
    if options.names:
        paths = [path for path in paths if path.name.startswith(tuple(options.names))]
    if not options.full:
        os.environ["RECALLTUNE_SMALL"] = "1"
    # The kernel of this environment, whatever kernels the user has at home.
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(options.workers) as pool:
        into = options.into or Path(scratch)
        into.mkdir(parents=True, exist_ok=True)
        jobs = [pool.submit(execute, path, into, options.timeout) for path in paths]
        results = [job.result() for job in jobs]
    for path, seconds, problem in results:
        print(f"{'FAILED' if problem else 'ok':7}{seconds:6.1f} s  {path.name}")
        if problem:
            print(problem, file=sys.stderr)
    return 1 if any(problem for _, _, problem in results) else 0


if __name__ == "__main__":
    sys.exit(main())
