"""The gate fails closed: a telling rule in the wrong place is never read as told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import recalltune as rt
from recalltune.errors import SourceError
from recalltune.store import read_memories

FRONT = {
    "a blank line first": "\n---\ntold_at: none\n---\n\n- secret tea\n",
    "dots at the end": "---\ntold_at: none\n...\n\n- secret tea\n",
    "a comment first": "---\n# private\ntold_at: none\n---\n\n- secret tea\n",
    "a quoted key in other words": '---\n"told at": none\n---\n\n- secret tea\n',
    "no space": "---\ntold_at:none\n---\n\n- secret tea\n",
    "old line ends": "---\rtold_at: none\r---\r\r- secret tea\r",
    "too long": "---\n" + "x: 1\n" * 300 + "told_at: none\n---\n\n- secret tea\n",
}
ITEMS = {
    "no id": "- secret tea {told_at=none}\n",
    "text behind": "- secret tea {#a told_at=none} indeed\n",
    "two braces": "- secret tea {#a told_at=none} {#b}\n",
    "much in them": "- secret tea {#a told_at=none reason=" + "x" * 2100 + "}\n",
    "another case": "- secret tea {Told_At=none}\n",
    "wide colon": "told_at：none\n\n- secret tea\n",
    "bold": "**told_at**: none\n\n- secret tea\n",
    "code": "`told_at: none`\n\n- secret tea\n",
    "plus": "+ told_at: none\n",
    "box": "- [ ] told_at: none\n",
    "blank in the key": "Told At: none\n\nsecret tea\n",
    "comment": "<!-- told_at: none -->\nsecret tea\n",
    "table": "| told_at: none | x |\n",
    "inline field": "[told_at:: none] secret tea\n",
    "wide blank": "\u00a0told_at: none\n\nsecret tea\n",
    "line separator": "secret tea\u2028told_at: none\n",
    "wide brace": "- secret tea ｛#a told_at=none｝\n",
    "many blanks": "told_at            : none\n\nsecret tea\n",
}


@pytest.mark.parametrize("text", [*FRONT.values(), *ITEMS.values()], ids=[*FRONT, *ITEMS])
def test_a_rule_that_is_not_read_never_ends_as_told(text: str, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "MEMORY.md").write_text(text, encoding="utf-8", newline="")
    lab = rt.open(tmp_path / "l.duckdb")
    with pytest.raises(SourceError, match=r"MEMORY\.md:\d+"):
        rt.ingest(lab, tmp_path / "notes")
    with lab.reading() as con:
        assert read_memories(con).height == 0


@pytest.mark.parametrize(
    "change",
    [
        {"sourceMetadata": '{"toldAt": null}'},
        {"toldAt": None},
        {"sourceMetadata": {"toldat": None}},
        {"sourceMetadata": {"told-at": None}},
        {"sourceMetadata": {"frontmatter": {"told_at": None}}},
        {"sourceMetadata": {"deep": [{"er": {"toldAt": "none"}}]}},
        {"metadata": {"toldAt": None}},
    ],
)
def test_a_record_whose_rule_is_not_read_is_dropped_and_counted(
    change: dict, tmp_path: Path
) -> None:
    plain = {"id": "open", "text": "tea for all"}
    payload = {
        "version": "connector-v1",
        "source": "s",
        "scope": "team",
        "producedAt": "2026-01-01T00:00:00Z",
        "records": [plain, {"id": "secret", "text": "secret tea", **change}],
    }
    file = tmp_path / "c.json"
    file.write_text(json.dumps(payload), encoding="utf-8")
    lab = rt.open(tmp_path / "l.duckdb")
    report = rt.ingest(lab, file)
    assert report.frame["dropped"].to_list() == [1]
    with lab.reading() as con:
        assert read_memories(con)["memory_id"].to_list() == ["open"]


def test_prose_about_telling_is_no_rule(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    text = "- Mira asked what told_at means; the column told_at: see the docs\n"
    (tmp_path / "notes" / "MEMORY.md").write_text(text, encoding="utf-8")
    assert rt.ingest(rt.open(tmp_path / "l.duckdb"), tmp_path / "notes").frame["kept"].sum() == 1


@pytest.mark.parametrize(
    "above",
    [{"toldAt": "none"}, {"sourceMetadata": {"toldAt": "none"}}, {"defaults": [{"told_at": None}]}],
)
def test_a_rule_above_the_records_refuses_the_payload(above: dict, tmp_path: Path) -> None:
    payload = {
        "version": "connector-v1",
        "source": "s",
        "scope": "team",
        "producedAt": "2026-01-01T00:00:00Z",
        "records": [{"id": "secret", "text": "secret tea"}],
        **above,
    }
    file = tmp_path / "c.json"
    file.write_text(json.dumps(payload), encoding="utf-8")
    with pytest.raises(SourceError, match="outside the records"):
        rt.ingest(rt.open(tmp_path / "l.duckdb"), file)
