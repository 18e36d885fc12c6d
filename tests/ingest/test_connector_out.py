"""Writing connector-v1: what is read again is what was written, whole or not at all."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune.errors import ContractError, ParameterError
from recalltune.ingest import FORMATS, Source, connector_out
from recalltune.ingest.connector_out import Stated, write_connector
from recalltune.ingest.parsed import Parsed
from recalltune.store import Memory, MemorySpan, text_hash

WHEN = datetime(2026, 2, 1, tzinfo=UTC)
HEAD: dict[str, Any] = {"source": "notes", "scope": "s", "produced_at": WHEN}


def stated(text: str = "tea", **said: Any) -> Stated:
    times = {key: said.pop(key) for key in ("event_at", "known_at", "told_at") if key in said}
    gated, audience = said.pop("gated", False), said.pop("audience", "everyone")
    own = {"memory_id": said.pop("memory_id", "m"), "text_hash": text_hash(text)}
    own["scope"] = said.pop("scope", "s")
    memory = Memory(**own, source="notes", **said)
    return Stated(memory, MemorySpan(**own, **times, gated=gated, audience=audience), text)


def read_back(path: Path) -> list[Stated]:
    parsed = Parsed("connector_v1", "src/c.json")
    FORMATS["connector_v1"].read(Source(path, "c.json", "src/c.json"), parsed)
    assert parsed.dropped == 0
    return [
        Stated(claim.memory, claim.span.with_(file=""), parsed.texts[claim.span.text_hash])
        for claim in parsed.claims
    ]


def with_hints(one: Stated, batch_id: str | None) -> Stated:
    """Memory as reading gives it: what the record called a hint is in ``meta`` too."""
    memory = one.memory
    hints = {
        "contentHash": memory.text_hash,
        "categoryHint": memory.category,
        "importanceHint": memory.salience,
        "batchId": batch_id,
    }
    meta = memory.meta | {key: value for key, value in hints.items() if value is not None}
    return Stated(memory.with_(meta=meta), one.span, one.text)


def plain(one: Stated) -> str:
    rows = [one.memory.model_dump(mode="json"), one.span.model_dump(mode="json"), one.text]
    return json.dumps(rows, sort_keys=True)


MOMENTS = st.integers(0, 10**13).map(
    lambda us: datetime(2020, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)
)
WORDS = st.text("ab [] é日\n", min_size=1, max_size=8)
NAMES = st.text("ab-é", min_size=1, max_size=4)
META = st.dictionaries(
    st.sampled_from(["filePath", "frontmatter", "headings", "x-1"]),
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text("aé", max_size=3)),
        lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(NAMES, inner)),
        max_leaves=4,
    ),
    max_size=3,
)
ATTRIBUTES = st.fixed_dictionaries(
    {"layer": NAMES},
    optional={
        "category": st.sampled_from(["events", "entities", "gossip"]),
        "tier": NAMES,
        "origin": st.sampled_from(["owner", "agent"]),
        "session": NAMES,
        "project": NAMES,
        "subject": NAMES,
        "gist": NAMES,
        "salience": st.floats(0, 1),
        "confidence": st.floats(0, 1),
        "pinned": st.booleans(),
        "retracted_at": MOMENTS,
        "superseded_at": MOMENTS,
        "valid_from": MOMENTS,
        "duplicate_of": NAMES,
        "reason": NAMES,
        "tags": st.lists(st.text("a, é", min_size=1, max_size=3), max_size=3),
        "status": st.sampled_from(["current", "superseded", "retracted"]),
        "scope": NAMES,
        "meta": META,
    },
)


@st.composite
def statements(draw: st.DrawFn) -> Stated:
    said, title = draw(ATTRIBUTES), draw(st.one_of(st.none(), WORDS.filter(str.strip)))
    text = draw(WORDS.filter(str.strip))
    if title is not None and draw(st.booleans()):
        text = f"[{title}] {text}"
    if said.get("status") == "superseded":
        said["superseded_by"] = draw(NAMES)
    said |= {"title": title, "memory_id": draw(NAMES), "gated": draw(st.booleans())}
    said["event_at"], said["known_at"] = draw(
        st.one_of(
            st.tuples(st.none(), st.none()),
            MOMENTS.map(lambda at: (at, at)),
            st.tuples(st.one_of(st.none(), MOMENTS), MOMENTS),
        )
    )
    if said["gated"]:
        said["told_at"] = draw(st.one_of(st.none(), MOMENTS))
    return stated(text, **said)


@given(st.lists(statements(), max_size=4), st.one_of(st.none(), st.just("b-1")))
def test_what_was_written_is_read_again(tmp_path_factory, memories, batch_id):
    folder = tmp_path_factory.mktemp("out")
    path = write_connector(memories, folder / "c.json", **HEAD, batch_id=batch_id)
    read = read_back(path)
    expected = [with_hints(one, batch_id) for one in memories]
    assert sorted(map(plain, read)) == sorted(map(plain, expected))
    again = write_connector(reversed(read), folder / "d.json", **HEAD, batch_id=batch_id)
    assert again.read_bytes() == path.read_bytes()
    assert read_back(again) == read


def test_the_file_is_private_and_has_the_fields_of_the_format(tmp_path):
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    one = stated("[T] tea", title="T", category="events", salience=0.5, tags=["x"], event_at=at,
                 known_at=at, meta={"categoryHint": "events", "filePath": "a.md"})  # fmt: skip
    path = write_connector([one], tmp_path / "c.json", **HEAD, batch_id="b")
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text(encoding="utf-8")) == {
        "version": "connector-v1",
        "source": "notes",
        "scope": "s",
        "batchId": "b",
        "producedAt": "2026-02-01T00:00:00+00:00",
        "records": [
            {
                "id": "m",
                "text": "tea",
                "title": "T",
                "categoryHint": "events",
                "importanceHint": 0.5,
                "tags": ["x"],
                "timestamp": "2026-01-02T03:04:05+00:00",
                "contentHash": text_hash("[T] tea"),
                "sourceMetadata": {"layer": "log", "filePath": "a.md"},
            }
        ],
    }


def test_a_hint_is_written_as_the_source_had_it_while_it_stands_for_the_value(tmp_path):
    kept = stated(memory_id="a", category="entities", meta={"categoryHint": "facts"})
    stale = stated(memory_id="b", category="events", meta={"categoryHint": "facts"})
    path = write_connector([kept, stale], tmp_path / "c.json", **HEAD)
    records = json.loads(path.read_text(encoding="utf-8"))["records"]
    assert [record["categoryHint"] for record in records] == ["facts", "events"]


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (stated(" "), "has no text"),
        (stated(audience="one"), "is for 'one' only"),
        (stated(event_at=WHEN), "happened at a time and was known always"),
        (stated(meta={"layer": "user"}), "names an attribute, one of layer"),
        (stated(meta={"told-At": None}), "names an attribute, one of told-At"),
        (stated(meta={"x": "y" * 300_000}), "has more in meta than is read"),
    ],
)
def test_a_memory_that_would_be_read_as_another_is_refused(tmp_path, one, why):
    with pytest.raises(ContractError, match=f"memory 'm' .*{why}"):
        write_connector([one], tmp_path / "c.json", **HEAD)
    assert list(tmp_path.iterdir()) == []


def test_arguments_that_no_payload_may_have_are_refused(tmp_path):
    path = tmp_path / "c.json"
    with pytest.raises(ParameterError, match="source must be text that is not blank, got ' '"):
        write_connector([], path, **HEAD | {"source": " "})
    with pytest.raises(ParameterError, match="produced_at needs a time zone"):
        write_connector([], path, **HEAD | {"produced_at": datetime(2026, 1, 1)})  # noqa: DTZ001
    with pytest.raises(ParameterError, match="path must be in a folder that is there"):
        write_connector([], tmp_path / "no" / "c.json", **HEAD)
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ParameterError, match="path must be a plain file or a new one"):
        write_connector([], path, **HEAD)


# bug bank N98
def test_a_write_that_fails_leaves_the_old_file_byte_for_byte(tmp_path, monkeypatch):
    path = write_connector([stated()], tmp_path / "c.json", **HEAD)
    before = path.read_bytes()

    def no_space(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space left"):
        connector_out.write_connector([stated("coffee")], path, **HEAD)
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == ["c.json"]
