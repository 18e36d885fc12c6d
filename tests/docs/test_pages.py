"""No page of docs is lost, and no link in one leads nowhere."""

from __future__ import annotations

import re
from pathlib import Path

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")


def links(page: Path) -> list[Path]:
    """Files a page links to; addresses on the web are not looked at."""
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    return [page.parent / target for target in targets if "://" not in target]


def test_every_link_in_the_docs_leads_to_a_file(root):
    pages = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]
    broken = [
        f"{page.relative_to(root)}: {target}"
        for page in pages
        for target in links(page)
        if not target.exists()
    ]
    assert not broken


def test_every_page_can_be_reached_from_the_index(root):
    docs = root / "docs"
    linked = {target.resolve() for target in links(docs / "index.md")}
    pages = {page.resolve() for page in docs.rglob("*.md")} - {(docs / "index.md").resolve()}
    assert {str(page.relative_to(docs)) for page in pages - linked} == set()
