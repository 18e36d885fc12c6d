"""The page of formats says what the formats say of themselves."""

from __future__ import annotations

import runpy
from pathlib import Path

from recalltune.ingest import FORMATS


def test_the_page_is_what_make_docs_writes_now(root: Path):
    page = runpy.run_path(str(root / "docs" / "formats.py"))["page"]()
    assert (root / "docs" / "formats.md").read_text("utf-8") == page, "run `make docs`"
    assert all(f"## {name}\n" in page for name in FORMATS)


def test_every_format_says_something_of_itself(root: Path):
    page = (root / "docs" / "formats.md").read_text("utf-8")
    for name in FORMATS:
        section = page.partition(f"## {name}\n")[2].partition("\n## ")[0]
        assert len(section.split()) > 20, name
