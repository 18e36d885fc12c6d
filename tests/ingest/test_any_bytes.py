"""Any bytes as any format: the account adds up, or one clear error says why not."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recalltune.errors import RecalltuneError
from recalltune.ingest import FORMATS, Detection, Source, detect
from recalltune.ingest.parsed import Parsed, Settings

# Keys and values that the formats look for, so that drawn records come close to real ones.
KEYS = """
    type uuid parentUuid sessionId timestamp message content role text isSidechain isMeta
    agentId isCompactSummary payload id session messages mapping current_node children
    author parts create_time chat_messages sender created_at version source scope producedAt
    records title sourceMetadata batchId contentHash categoryHint importanceHint tags toldAt
    at perLayer tier0Meta degradations samples candidates picked dropped tokens kind reason
    entries memory_id
    used_at query_id query shown scores asked_at conversation qa question evidence _id
    question_id haystack_sessions haystack_session_ids haystack_dates answer_session_ids ts
    user bot_id thread_ts origin input time tool_use_id name items
"""
SAYINGS = """
    user assistant human text message tool_use tool_result summary system session_meta
    response_item event_msg user_message agent_message input_text output_text gemini info
    connector-v1 2026-01-01T00:00:00Z 1767225600 turn.prompt session root
"""
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False),
    st.sampled_from(SAYINGS.split()),
    st.text(max_size=12),
)
RECORD = st.recursive(
    st.dictionaries(st.sampled_from(KEYS.split()), VALUES, max_size=6),
    lambda inner: st.one_of(
        st.dictionaries(
            st.sampled_from(KEYS.split()),
            st.one_of(VALUES, inner, st.lists(inner, max_size=3)),
            max_size=6,
        ),
        st.lists(inner, max_size=3),
    ),
    max_leaves=12,
)
LINES = st.lists(
    st.one_of(
        RECORD.map(json.dumps).map(str.encode),
        st.binary(max_size=30),
        st.sampled_from(
            [
                b"---", b"# Heading", b"- item", b"User: hi", b"Assistant: yes", b"q1 0 d1 1",
                b"q1 Q0 d1 1 0.5 tag", b"query-id\tcorpus-id\tscore", b"q1\td1\t1",
                b"[[Link|alias]]",
                b"told_at: never", b"_**User (2026-01-01 00:00Z)**_", b"\xff\xfe", b"",
            ]
        ),
    ),
    max_size=8,
)  # fmt: skip
CONTENT = st.one_of(
    st.binary(max_size=200),
    st.binary(max_size=200).map(lambda rest: b"SQLite format 3\0" + rest),
    LINES.map(b"\n".join),
    RECORD.map(json.dumps).map(str.encode),
    st.lists(RECORD, max_size=3).map(json.dumps).map(str.encode),
    LINES.map(b"\n".join).map(gzip.compress),
    LINES.map(b"\n".join).map(gzip.compress).map(lambda packed: packed[:-5]),
)
NAMES = st.sampled_from(
    [
        "a.jsonl",
        "a.json",
        "memory/2026-05-14.md",
        "MEMORY.md",
        "note.md",
        "a.txt",
        "a.sqlite",
        "qrels/test.tsv",
    ]
)  # fmt: skip


def refusal(work: Callable[[], None]) -> str | None:
    """Words of the one kind of error that bad input may end in."""
    try:
        work()
    except RecalltuneError as error:
        return str(error)
    return None


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=CONTENT, inside=NAMES, remembered=st.booleans())
def test_any_bytes_as_any_format(tmp_path: Path, name, content, inside, remembered):
    path = tmp_path / Path(inside).name
    path.write_bytes(content)
    source = Source(path, inside, f"src/{inside}")
    parsed = Parsed(name, source.file, Settings(turns_as_memories=remembered))
    if (error := refusal(lambda: FORMATS[name].read(source, parsed))) is not None:
        assert source.file in error or path.name in error
        return
    assert parsed.kept >= 0
    assert all(drop.count > 0 and drop.lines for drop in parsed.drops.values())
    assert parsed.records == parsed.kept + sum(drop.count for drop in parsed.drops.values())
    ids = [turn.turn_id for turn in parsed.turns]
    assert len(set(ids)) == len(ids)
    hashes = {turn.text_hash for turn in parsed.turns}
    hashes |= {claim.memory.text_hash for claim in parsed.claims if not claim.withheld}
    assert hashes <= parsed.texts.keys()
    for text in parsed.texts.values():
        text.encode()


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=CONTENT, inside=NAMES)
def test_telling_a_format_never_fails_but_in_one_way_and_is_never_in_doubt(
    tmp_path: Path, content, inside
):
    path = tmp_path / Path(inside).name
    path.write_bytes(content)
    source = Source(path, inside, f"src/{inside}")
    found: list[Detection | None] = []
    if (error := refusal(lambda: found.append(detect(source)))) is not None:
        assert "format not recognised" in error or "damaged gzip file" in error
        return
    assert found[0] is None or 0.5 <= found[0].confidence <= 1.0
