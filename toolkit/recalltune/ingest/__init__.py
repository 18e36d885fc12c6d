"""Reading: native transcripts, memory folders, connector payloads and search logs into the lab.

In: files nobody vouches for. Out: rows with the source's own times, and an account of every
record that was dropped, repaired or assumed about.
"""

from __future__ import annotations

from recalltune.ingest.attributes import CATEGORY_HINTS
from recalltune.ingest.connector_out import Stated, write_connector
from recalltune.ingest.detect import Detection, detect
from recalltune.ingest.format import Format, Sample, Source
from recalltune.ingest.formats import FORMATS
from recalltune.ingest.importing import ingest
from recalltune.ingest.report import ImportReport
from recalltune.ingest.vault_out import VaultExport, vault_as_connector

__all__ = [
    "CATEGORY_HINTS",
    "FORMATS",
    "Detection",
    "Format",
    "ImportReport",
    "Sample",
    "Source",
    "Stated",
    "VaultExport",
    "detect",
    "ingest",
    "vault_as_connector",
    "write_connector",
]
