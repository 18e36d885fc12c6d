"""RecallNest's store, a Lance table (``memories.lance``), read where it lies.

It takes an extra, ``pip install 'recalltune[stores]'`` (85 MB). The folder is one source: it is
read again when any of its files changed, and refused if a link is in it or it names data elsewhere.

The row's ``timestamp`` is when the store took it in, not when it happened; it is the only time most
rows have, so it stands for both and is counted. A row whose ``evolution.eventTime`` tells the event
has that, and is known from the timestamp on. Access counters are later history and not read, nor is
the tier, which the store moves with them: both are derived from the uses before each query.

What the store's own status means here:

| ``evolution.status`` | status | with |
|---|---|---|
| none, ``active``, ``pending_review`` | current | ``valid_until`` as it is said |
| ``superseded`` | superseded | ``supersededBy``, from ``validUntil`` on |
| ``consolidated`` | superseded | ``consolidatedInto``, reason ``consolidated``; no time is told |
| ``archived`` | retracted | reason ``archived``; no time is told |

References
----------
RecallNest, ``src/store.ts``, ``src/memory-evolution.ts``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from recalltune.ingest.attributes import Attributes, category_of, read_attributes, share_of
from recalltune.ingest.claim import Claim, claim_of
from recalltune.ingest.format import Format, Sample, Source
from recalltune.ingest.gate import holds_rule, is_telling_rule, may_hold_rule
from recalltune.ingest.lance_table import lance_rows
from recalltune.ingest.metadata import keeps_metadata
from recalltune.ingest.moments import read_moment
from recalltune.ingest.parsed import Parsed
from recalltune.ingest.reader import decode_json
from recalltune.ingest.store_folder import is_store_folder

__all__ = ["FORMAT"]

NAME = "recallnest_store"
_TEXTS = ("id", "text", "category", "scope", "metadata")
_NUMBERS = ("importance", "timestamp")
_COUNTERS = ("accessCount", "lastAccessedAt")


def _read(source: Source, parsed: Parsed) -> None:
    """Memories of the table's latest version, one per row, in the order they are stored.

    The row's scope and its metadata's layer go before those of the settings; without any, the layer
    is ``boundary.layer`` of the metadata, else ``log``.

    Raises
    ------
    SourceError
        If the extra is missing, the folder is no such table or damaged, or it refers to files
        outside itself.
    """
    rows = lance_rows(source.path, source.file, texts=_TEXTS, numbers=_NUMBERS)
    for number, row in enumerate(rows, start=1):
        claim = _claim(row, number, source, parsed)
        if isinstance(claim, str):
            parsed.drop(claim, number)
            continue
        if claim.withheld:
            parsed.drop(str(claim.memory.meta.get("problem")), number)
        else:
            parsed.keep()
        parsed.claims.append(claim)
        parsed.full()


def _claim(row: dict[str, Any], number: int, source: Source, parsed: Parsed) -> Claim | str:
    """One row's memory, or the reason to leave it out."""
    notes = parsed.notes
    if not row["id"]:
        return "row without an id"
    if not row["text"] or not row["text"].strip():
        return "row without a text"
    said, unreadable = _metadata(row["metadata"], notes)
    evolution = said.pop("evolution", None)
    evolution = evolution if isinstance(evolution, dict) else {}
    found = read_attributes(_with_status(said, evolution, notes), notes)
    if unreadable or _hidden_rule(said, evolution):
        notes["telling rule in metadata that cannot be read, taken as not told"] += 1
        found.gated, found.told_at = True, None
    withheld = found.problem is not None
    if found.problem is not None:
        if not found.gated:
            return found.problem
        problem = found.problem
        found = found.telling()
        found.meta = {"problem": problem}
    else:
        _fill(found, row, evolution, parsed)
    taken_in = read_moment(row["timestamp"], notes, what="timestamp")
    happened = read_moment(evolution.get("eventTime"), notes, what="eventTime")
    if happened is None and taken_in is not None:
        notes["timestamp is when the store took it in: the only time there is, used"] += 1
    found.known_at = found.known_at or taken_in
    return claim_of(
        row["id"],
        parsed.hash_of(row["text"]) if withheld else parsed.text(row["text"]),
        found,
        scope=row["scope"] or parsed.settings.scope or "global",
        at=happened or taken_in,
        source=NAME,
        file=source.file,
        line=number,
        withheld=withheld,
    )


def _metadata(raw: str | None, notes: Counter[str]) -> tuple[dict[str, Any], bool]:
    """Metadata, and whether a telling rule may be lost in what cannot be read of it."""
    if not raw:
        return {}, False
    try:
        value = decode_json(raw, notes)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return value, False
    notes["metadata that is no JSON object, not used"] += 1
    return {}, may_hold_rule(raw)


def _with_status(
    said: dict[str, Any], evolution: dict[str, Any], notes: Counter[str]
) -> dict[str, Any]:
    """What metadata says, in the words of `read_attributes`."""
    values = dict(said)
    if isinstance(score := values.get("confidence"), dict):
        values["confidence"] = score.get("score")
    status, until = evolution.get("status"), evolution.get("validUntil")
    if status == "superseded":
        values |= {"status": status, "superseded_at": until}
        values["superseded_by"] = evolution.get("supersededBy")
    elif status == "consolidated":
        values |= {"status": "superseded", "reason": status}
        values["superseded_by"] = evolution.get("consolidatedInto")
    elif status == "archived":
        values |= {"status": "retracted", "reason": status}
    elif status in (None, "active", "pending_review"):
        values |= {} if until is None else {"valid_until": until}
    else:
        values["status"] = status
    if values.pop("tier", None) is not None:
        notes["tier not read: the store moves it with later use"] += 1
    for key in _COUNTERS:
        if evolution.get(key):
            notes[f"{key} not read: it is derived from accesses as of each query"] += 1
    return values


def _hidden_rule(said: Mapping[str, Any], evolution: Mapping[str, Any]) -> bool:
    """Whether a telling rule stands deeper than it is read, or is spelt in another way."""
    misspelt = any(is_telling_rule(key) and key not in ("toldAt", "told_at") for key in said)
    return misspelt or holds_rule([*said.values(), evolution])


def _fill(
    found: Attributes, row: dict[str, Any], evolution: dict[str, Any], parsed: Parsed
) -> None:
    """Columns of the row, and what of its metadata no attribute holds."""
    fields, meta, notes = found.fields, found.meta, parsed.notes
    boundary = meta.get("boundary")
    layer = boundary.get("layer") if isinstance(boundary, dict) else None
    by_store = layer if isinstance(layer, str) and layer else "log"
    fields["layer"] = fields.get("layer") or parsed.settings.layer or by_store
    fields["category"] = category_of(row["category"], notes)
    fields["salience"] = share_of(row["importance"], "importance", notes)
    if isinstance(gist := meta.get("l0_abstract"), str) and gist:
        fields["gist"] = fields.get("gist") or gist
    rest = {key: value for key, value in evolution.items() if key not in _COUNTERS}
    found.meta = meta | ({"evolution": rest} if rest else {})
    if not keeps_metadata(found.meta):
        notes["metadata too large or too deep, left out"] += 1
        found.meta = {}


def _fits(sample: Sample) -> float:
    path = sample.source.path
    return float(is_store_folder(path) and (path / "_versions").is_dir())


FORMAT = Format(
    name=NAME,
    title="RecallNest store (LanceDB table, a .lance folder)",
    suffixes=frozenset({".lance"}),
    fits=_fits,
    read=_read,
    # A database folder holds other tables beside it, such as graphs and conflicts.
    wanted=lambda source: source.path.name == "memories.lance" and source.path.is_dir(),
)
