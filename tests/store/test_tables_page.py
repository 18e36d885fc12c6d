"""docs/tables.md names every table and every column there is."""

from __future__ import annotations

import re
from pathlib import Path


def test_the_tables_page_names_every_table_and_column(con, root: Path):
    page = (root / "docs" / "tables.md").read_text(encoding="utf-8")
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]*)`", page))))
    columns = con.sql(
        "select table_name, column_name from duckdb_columns() where not internal"
    ).fetchall()
    names = {name for pair in columns for name in pair}
    assert names - words == set()
