"""One import in a process of its own, which may be killed or starved."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path

from recalltune import store
from recalltune.errors import RecalltuneError
from recalltune.ingest import importing, ingest

_NOBODY = 65_534
GROUP_BYTES = 6_000
"""Small, so that an import of a few files is written in several transactions."""


def run_import(
    lab: Path, corpus: Path, told: Path, limit: int | None = None, stranger: bool = False
) -> None:
    """Import in groups, in a process of its own.

    The outcome is left in ``told``, and beside it one byte a step, by which it can be followed.
    """
    importing._GROUP_BYTES = GROUP_BYTES
    if limit is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    if stranger and os.geteuid() == 0:
        os.setuid(_NOBODY)  # No folder is closed to root.
    steps = told.with_suffix(".steps")
    steps.unlink(missing_ok=True)
    told.write_text("began")

    def step(done: int, whole: int) -> None:
        with steps.open("ab") as file:
            file.write(b".")

    try:
        ingest(store.open(lab), corpus, turns_as_memories=True, progress=step)
    except RecalltuneError as error:
        told.write_text(f"{type(error).__name__}: {error}")
    except KeyboardInterrupt:
        told.write_text("KeyboardInterrupt")
    except RuntimeError as error:
        told.write_text(f"RuntimeError: {error}")
    else:
        told.write_text("done")
