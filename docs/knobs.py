"""make docs: the figures of docs/how-to/find-dead-knobs.md, from the demo corpus and the presets.

They come from the record out/knobs.json; it is made anew where it is missing or was made by other
code. What is shown is every key of RecallNest's file, whatever `bind` says of it, and for each
preset what binds, what no question can find, and whether a question can be answered with nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from build import with_block

from recalltune.pipeline.config import preset
from recalltune.production.recallnest_keys import KEYS, WEIGHTS
from recalltune.report.binding import account_of
from recalltune.report.demo import CASES, demo_lab
from recalltune.version import code_digest

__all__ = ["keys_table", "knobs_record", "main", "presets_table"]

ROOT = Path(__file__).resolve().parent.parent
OUT, PAGE = ROOT / "out", ROOT / "docs" / "how-to" / "find-dead-knobs.md"
PRESETS = ("textbook", "recallnest", "lancedb-pro", "openclaw", "dsh-auto-memory")
FILE_KEYS = {
    **{key.name: key.address for key in KEYS},
    **WEIGHTS,
    "candidatePoolSize": "arms.dense.width",
    "minScore": "similarity_minimum.min_score",
}
"""Key of RecallNest's `retrieval` block -> address in the preset."""


def knobs_record(out: Path) -> dict[str, Any]:
    """Return the accounts of the presets on the demo corpus, made where there are none."""
    path = out / "knobs.json"
    if path.exists():
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if record["code"] == code_digest():
            return record
    out.mkdir(parents=True, exist_ok=True)
    db = out / "knobs.duckdb"
    for stale in (db, out / "knobs.duckdb.wal"):
        stale.unlink(missing_ok=True)
    lab, _, _ = demo_lab(ROOT / "data", db)
    accounts = {name: account_of(lab, CASES, preset(name)).record() for name in PRESETS}
    record = {"code": code_digest(), "accounts": accounts}
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False), encoding="utf-8")
    return record


def keys_table(account: Mapping[str, Any]) -> str:
    """Return the Markdown table of every key of RecallNest's file."""
    rows = {row["address"]: row for row in account["parameters"]}
    lines = ["| key | value | lists that change | verdict | why |", "|---|---|---:|---|---|"]
    for key, address in FILE_KEYS.items():
        row = rows[address]
        lines.append(
            f"| `{key}` | {row['value']} | {row['lists']:.0%} of {row['queries']} | "
            f"{row['verdict']} | {row['reason']} |"
        )
    return "\n".join(lines)


def presets_table(accounts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the Markdown table with a line for each preset."""
    lines = [
        "| preset | parameters | never bind | not seen to | on one side only | structural ghosts | "
        "no answer, at most | untrusted |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, account in accounts.items():
        verdicts = [row["verdict"] for row in account["parameters"]]
        one_side = verdicts.count("always saturates") + verdicts.count("binds above")
        tried = len(verdicts) - verdicts.count("not tried")
        most = max(row["empty_at_most"] for row in account["abstention"])
        lines.append(
            f"| `{name}` | {tried} | {verdicts.count('never binds')} | "
            f"{verdicts.count('not seen to bind')} | "
            f"{one_side} | {_ghosts(account)} | {most:.0%} | "
            f"{account['untrusted']} of {account['shown']:,} |"
        )
    return "\n".join(lines)


def _ghosts(account: Mapping[str, Any]) -> str:
    found = [row for row in account["ghosts"] if row["category"] == "all"]
    if not found:
        return "no minimum"
    worst = max(found, key=lambda row: row["share"])
    return f"{worst['ghosts']:,} of {worst['rows']:,}, {worst['share']:.1%}"


def _leads(account: Mapping[str, Any]) -> Iterator[str]:
    yield "| places of `layer` | against | pairs | flipped | tied |"
    yield "|---|---|---:|---:|---:|"
    for row in account["leads"]:
        if row["arm"] == "layer":
            yield (
                f"| {row['places']} | `{row['against']}` | {row['pairs']:,} | {row['flipped']:,} | "
                f"{row['tied']:,} |"
            )


def _categories(account: Mapping[str, Any]) -> str:
    rows = [row for row in account["ghosts"] if row["stage"] == "category_minimum"]
    told = [f"{row['category']} {row['share']:.1%}" for row in rows if row["category"] != "all"]
    return "By category in `recallnest`: " + ", ".join(told) + "."


def main() -> int:
    """Renew the page."""
    accounts = knobs_record(OUT)["accounts"]
    stamp = accounts["recallnest"]
    text = PAGE.read_text(encoding="utf-8")
    for name, content in {
        "presets": f"{presets_table(accounts)}\n\n{_categories(stamp)}",
        "keys": keys_table(stamp),
        "leads": "\n".join(_leads(accounts["dsh-auto-memory"])),
        "stamp": f"Data {stamp['data']}, encoder {stamp['encoder'].partition('@')[0]}, "
        f"{stamp['cases']} questions of the demo corpus.",
    }.items():
        text = with_block(text, name, content)
    PAGE.write_text(text, encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
