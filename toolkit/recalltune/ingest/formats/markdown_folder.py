"""A Markdown memory folder: ``MEMORY.md`` and ``memory/**.md``, one memory per item.

A file named after a day dates its items: by a ``## HH:MM`` heading (UTC), else at midnight, item
after item by a microsecond. Other items are dated only by a date they or their heading open with.
An item may end with ``{#its-id key=value ...}``.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from typing import Any

from recalltune.errors import SourceError, nearest
from recalltune.ingest.attributes import ATTRIBUTE_NAMES, Attributes, read_attributes
from recalltune.ingest.claim import claim_of
from recalltune.ingest.format import Format, Sample, Source
from recalltune.ingest.front_matter import split_front_matter
from recalltune.ingest.gate import refuse_unread_rule
from recalltune.ingest.kinds import NOT_MEMORIES, kind_of, path_parts
from recalltune.ingest.markdown_blocks import Block, markdown_blocks
from recalltune.ingest.markdown_shape import MARKDOWN_SUFFIXES, is_agent_memory, markdown_shape
from recalltune.ingest.moments import dated_name
from recalltune.ingest.parsed import Parsed
from recalltune.ingest.reader import read_document
from recalltune.ingest.redact import redact

__all__ = ["FORMAT"]

NAME = "markdown_folder"
_BRACES = re.compile(r"\{#([^\s{}]{1,200})((?:[^{}]){0,2000})\}$")
_PAIR = re.compile(r'([A-Za-z_]\w{0,40})=(?:"([^"]*)"|(\S+))')
_LEADING_DATE = re.compile(r"[\s*_`(\[]{0,6}(\d{4}-\d{2}-\d{2})(?!\d)")
_TRAILING_DATE = re.compile(r"[(\[](\d{4}-\d{2}-\d{2})[)\]][.\s]{0,3}$")
_KEYS = {"at", "by", "importance", "known_at", "scope", "status", "told_at", *ATTRIBUTE_NAMES}


def _read(source: Source, parsed: Parsed) -> None:
    """Memories of one Markdown file, one per item, paragraph or timed section.

    Ids start with the path inside the given folder. ``scope`` (default ``global``) and ``layer``
    (default: what `kind_of` says of the path, such as ``log`` for a dated file, else ``project``)
    of the settings are for items and files that name none.

    Raises
    ------
    SourceError
        If front matter or an item's braces cannot be read.
    """
    file, inside, settings = source.file, source.inside, parsed.settings
    text, repaired = read_document(source.path)
    if repaired:
        parsed.notes["bytes that are not UTF-8, replaced by U+FFFD"] += 1
    # Before it is cut into items: a key of several paragraphs is known by its first one alone.
    text = redact(text, parsed.redacted)
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    values, first = split_front_matter(lines, file)
    of_file = read_attributes(values, parsed.notes)
    day = dated_name(inside, parsed.notes)
    stem = str(PurePosixPath(inside).with_suffix(""))
    kind = kind_of(inside)
    blocks = markdown_blocks(lines, first=first, timed=day is not None)
    for number, block in enumerate(blocks, start=1):
        body, own_id, pairs = _braces(block, file)
        refuse_unread_rule(f"{block.heading or ''}\n{body}", f"{file}:{block.line}")
        found = _merged(of_file, read_attributes(pairs, parsed.notes))
        withheld = found.problem is not None or not body
        if withheld:
            parsed.drop("empty item" if not body else str(found.problem), block.line)
            if not found.gated:
                continue
            found = found.telling()
        else:
            parsed.keep()
            layer = found.fields.get("layer") or settings.layer or kind.layer or "project"
            by_path = {"title": block.heading, "origin": kind.origin}
            found.fields = by_path | found.fields | {"layer": layer}
            if kind.session_kind:
                found.meta = {"session_kind": kind.session_kind} | found.meta
        parsed.claims.append(
            claim_of(
                own_id or f"md:{stem}#{number}",
                parsed.hash_of(body) if withheld else parsed.text(body),
                found,
                scope=found.scope or settings.scope or "global",
                at=found.at or _moment(block, body, day, number, parsed),
                source=NAME,
                file=file,
                line=block.line,
                withheld=withheld,
            )
        )
        parsed.full()


def _braces(block: Block, file: str) -> tuple[str, str | None, dict[str, Any]]:
    """Text without its closing braces, the id in them, and their key=value pairs."""
    found = _BRACES.search(block.text, max(0, len(block.text) - 2300))
    if not found:
        return block.text, None, {}
    where = f"{file}:{block.line}"
    pairs = {key: quoted or plain for key, quoted, plain in _PAIR.findall(found[2])}
    if unread := _PAIR.sub("", found[2]).strip():
        msg = f"{where}: braces must hold #id and key=value, got {unread[:60]!r}"
        raise SourceError(msg)
    for key in pairs:
        if key not in _KEYS:
            msg = f"{where}: {key!r} is not an item attribute; {nearest(key, _KEYS)}"
            raise SourceError(msg)
    return block.text[: found.start()].rstrip(), found[1], pairs


def _merged(of_file: Attributes, of_item: Attributes) -> Attributes:
    """What the item says, and for the rest what its file says."""
    return Attributes(
        fields=of_file.fields | of_item.fields,
        scope=of_item.scope or of_file.scope,
        at=of_item.at or of_file.at,
        known_at=of_item.known_at or of_file.known_at,
        gated=of_file.gated or of_item.gated,
        told_at=of_item.told_at if of_item.gated else of_file.told_at,
        meta=of_file.meta | of_item.meta,
        problem=of_item.problem or of_file.problem,
    )


def _moment(
    block: Block, body: str, day: datetime | None, number: int, parsed: Parsed
) -> datetime | None:
    if day is not None:
        if block.minutes is not None:
            return day + timedelta(minutes=block.minutes)
        return day + timedelta(microseconds=number)
    found = (
        _LEADING_DATE.match(body)
        or _TRAILING_DATE.search(body, max(0, len(body) - 40))
        or _LEADING_DATE.match(block.heading or "")
    )
    if not found:
        return None
    try:
        midnight = datetime.fromisoformat(found[1]).replace(tzinfo=UTC)
    except ValueError:
        parsed.notes["item with an impossible date, taken as undated"] += 1
        return None
    return midnight + timedelta(microseconds=number)


def _fits(sample: Sample) -> float:
    return float(markdown_shape(sample) == NAME)


def _wanted(source: Source) -> bool:
    # An agent's folder holds other Markdown as well: rules, persona, read-me files.
    name = path_parts(source.inside)[-1]
    remembered = is_agent_memory(source) or dated_name(name, Counter()) is not None
    return name not in NOT_MEMORIES and remembered and markdown_shape(Sample(source)) == NAME


FORMAT = Format(
    name=NAME,
    title="Markdown memory folder (MEMORY.md, memory/**.md)",
    suffixes=MARKDOWN_SUFFIXES,
    fits=_fits,
    read=_read,
    wanted=_wanted,
)
