"""Canaries: words nobody else says, in things nobody was told, each beside a twin that was told.

`plant` writes two corpora that differ in the untold things alone: one holds them and their twins,
the other the twins. `readings` opens up whatever was written, so that a word is found in it however
it was packed.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import html
import json
import re
import shutil
import struct
import urllib.parse
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recalltune.store import text_hash

SEED = 847
COUNT = 50
SCOPE = "project:heronfield"
SAID = "the gauge under the bridge reads too high before the flood"
"""What every planted text says beside its word: common words, so that it would be found."""
AT = "2026-06-01T00:00:00Z"
NEW = {"version": "connector-v1", "source": "quiet-notes", "scope": SCOPE,
       "producedAt": "2026-08-15T07:00:00Z"}  # fmt: skip


def words(count: int, seed: int) -> list[str]:
    """Distinct words of eleven letters, or of six Chinese signs, in turn."""
    rng = np.random.default_rng(seed)
    letters, found = "bcdfghjklmnpqrstvwxz", []
    while len(found) < count:
        if len(found) % 2:
            word = "".join(chr(int(one)) for one in rng.integers(0x4E00, 0x9FA5, 6))
        else:
            word = "".join(letters[int(one)] for one in rng.integers(0, len(letters), 11))
        if word not in found:
            found.append(word)
    return found


@dataclass(frozen=True)
class Planted:
    """The words of one corpus pair."""

    untold: dict[str, str]
    """kind -> word that must be nowhere."""
    told: dict[str, str]
    """kind -> word of the same thing, told."""


KINDS = (
    "text", "title", "tags", "id", "layer", "category", "tier", "project", "subject", "origin",
    "scope", "meta", "session", "turn_id", "reason", "edit", "edit title", "edit layer",
    "edit tags", "successor id", "successor text", "copy title", "copy id", "copied text",
    "copied id", "used id", "used text", "shown id", "note text", "note id", "note of a file",
    "retracted text", "retracted id", "target id", "target text", "expected word", "like id",
    "pinned text", "undated text", "cut text", "html text", "json text", "old text", "future text",
    "reply", "reply gist", "lived", "event", "event id", "refused reply",
)  # fmt: skip


def record(memory_id: str, text: str, *, at: str = AT, title: str = "", **said: Any) -> Any:
    tags = said.pop("tags", [])
    found = {"id": memory_id, "text": text, "timestamp": at, "title": title, "tags": tags}
    return found | {"importanceHint": 0.9, "sourceMetadata": {"layer": "project"} | said}


def records(word: dict[str, str], gate: dict[str, Any], name: str) -> list[Any]:
    """One record a kind; ``gate`` says whether it was told, ``name`` whose twin it is."""

    def of(kind: str, memory_id: str = "", text: str = "", **said: Any) -> Any:
        slug = f"{name}-{kind.replace(' ', '-')}"
        return record(memory_id or slug, text or f"{SAID} {slug}", **(gate | said))

    w = word
    return [
        of("text", text=f"{w['text']} {SAID}"),
        of("title", title=w["title"]),
        of("tags", tags=[w["tags"]]),
        of("id", memory_id=w["id"]),
        *(
            of(kind, **{kind: w[kind]})
            for kind in ("layer", "category", "tier", "project", "subject", "origin", "scope",
                         "session", "turn_id")
        ),
        of("meta", secretly=w["meta"]),
        of("reason", reason=w["reason"], status="retracted", retractedAt=AT),
        of("successor", memory_id=w["successor id"], text=f"{w['successor text']} {SAID}"),
        of("copy", memory_id=w["copy id"], text=f"{SAID} twice {name}", title=w["copy title"]),
        of("copied", memory_id=w["copied id"], text=f"{w['copied text']} {SAID}"),
        of("copied", text=f"{w['copied text']} {SAID}"),
        of("used", memory_id=w["used id"], text=f"{w['used text']} {SAID}"),
        of("shown", memory_id=w["shown id"]),
        of("retracted", memory_id=w["retracted id"], text=f"{w['retracted text']} {SAID}",
           status="retracted", retractedAt="2026-06-05T00:00:00Z"),
        of("target", memory_id=w["target id"], text=f"{w['target text']} {SAID}"),
        of("expected", text=f"{SAID} {w['expected word']}"),
        of("like", memory_id=f"{w['like id']}-1"),
        of("pinned", text=f"{w['pinned text']} {SAID}", pinned=True),
        of("undated", text=f"{w['undated text']} {SAID}", at=""),
        of("cut", text=f"{w['cut text']} {SAID} " + "again and again " * 200),
        of("html", text=f"<b>{w['html text']}</b> \"{SAID}\" & </script>"),
        of("json", text=f"\\\"{w['json text']}\\u0041\u202e\n {SAID}"),
        of("old", text=f"{w['old text']} {SAID}", at="2019-01-01T00:00:00Z"),
    ]  # fmt: skip


def openly(name: str) -> list[Any]:
    """What is told of the twins in both corpora: what they replace, copy or edit."""
    return [
        record(f"{name}-edit", f"{SAID} before the edit {name}"),
        record(f"{name}-replaced", f"{SAID} until replaced {name}", status="superseded",
               supersededBy="WORD"),
        record(f"{name}-twice", f"{SAID} twice {name}", at="2026-06-02T00:00:00Z"),
    ]  # fmt: skip


def plant(folder: Path, data: Path, *, whole: bool = False) -> tuple[Path, Path, Planted]:
    """Write the two corpora, with and without the untold: a few things, or all of ``data`` too."""
    planted = Planted(
        dict(zip(KINDS, words(COUNT, SEED), strict=True)),
        dict(zip(KINDS, words(COUNT, SEED + 1), strict=True)),
    )
    pair = []
    for which in ("with", "without"):
        corpus = folder / which / "data"
        if whole:
            shutil.copytree(data, corpus)
        else:
            _small(corpus, data / "companion", planted.told)
        hidden = which == "with"
        _connector(corpus / "connector", planted, hidden)
        _notes(corpus / "memory" / "memory", planted, hidden)
        _companion(corpus / "companion" / "shelf.json", planted, hidden)
        _log(corpus / "search_log" / "search_log.jsonl", planted)
        _case(corpus / "cases" / "demo.json", planted.told)
        if hidden:
            _case(corpus / "cases" / "planted.json", planted.untold)
            for number in range(6):
                # Questions with an answer, so that there is something to report on.
                beside = {"name": f"beside-{number}", "session": f"beside-{number}"}
                _case(corpus / "cases" / "planted.json", planted.told, **beside)
        pair.append(corpus)
    return pair[0], pair[1], planted


def _small(corpus: Path, companion: Path, word: dict[str, str]) -> None:
    """A corpus of next to nothing: a session that asks, and cases about what was told."""
    for name in ("connector", "memory/memory", "transcripts", "search_log", "cases"):
        (corpus / name).mkdir(parents=True)
    shutil.copytree(companion, corpus / "companion")
    turns = [
        {"type": role, "uuid": f"turn-{n}", "sessionId": "session-one",
         "timestamp": f"2026-07-0{n}T00:00:00Z", "message": {"role": role, "content": text}}
        for n, (role, text) in enumerate(
            [("user", "what does the gauge under the bridge read?"), ("assistant", "too high"),
             ("user", "and before the flood? 风筝")], start=1)
    ]  # fmt: skip
    lines = "".join(json.dumps(one) + "\n" for one in turns)
    (corpus / "transcripts" / "session.jsonl").write_text(lines, encoding="utf-8")
    for number, kind in enumerate(("text", "reply", "pinned text", "old text") * 4):
        _case(corpus / "cases" / "demo.json", word, name=f"case-{number:02}",
              query=f"gauge {word[kind]}", session=f"s{number:02}")  # fmt: skip


def _connector(folder: Path, planted: Planted, hidden: bool) -> None:
    tellings = {"t": (planted.told, {"origin": "owner"})}
    if hidden:
        tellings["u"] = (planted.untold, {"origin": "self_life", "toldAt": None})
    for name, (word, gate) in tellings.items():
        _write(folder / f"{name}-1.json", records(word, gate, name))
        edit = record(f"{name}-edit", f"{word['edit']} {SAID}", at="2026-06-10T00:00:00Z",
                      title=word["edit title"], tags=[word["edit tags"]],
                      **(gate | {"layer": word["edit layer"]}))  # fmt: skip
        # Dated in the future: the default time of a question must not follow it.
        future = record(f"{name}-future", f"{word['future text']} {SAID}",
                        at="2026-08-20T00:00:00Z" if name == "t" else "2030-01-01T00:00:00Z",
                        **gate)  # fmt: skip
        _write(folder / f"{name}-2.json", [edit, future])
    for name, word in (("t", planted.told), ("u", planted.untold)):
        open_ones = openly(name)
        # What replaces it is named in both corpora; it is there, untold, in one of them.
        open_ones[1]["sourceMetadata"]["supersededBy"] = word["successor id"]
        _write(folder / f"{name}-0.json", open_ones)


def _write(path: Path, payload: list[Any]) -> None:
    path.write_text(json.dumps(NEW | {"records": payload}, ensure_ascii=False), encoding="utf-8")


def _notes(folder: Path, planted: Planted, hidden: bool) -> None:
    def item(word: dict[str, str], rule: str) -> str:
        return f"{word['note text']} {SAID}. {{#{word['note id']}{rule}}}\n\n"

    text = f"# 2026-06-14\n\n## 06:00\n\n{item(planted.told, '')}"
    if hidden:
        text += "## 07:00\n\n" + item(planted.untold, " told_at=null")
        whole = f"---\nscope: {SCOPE}\ntold_at: null\n---\n# 2026-06-27\n\n## 06:00\n\n"
        (folder / "2026-06-27.md").write_text(
            whole + f"{planted.untold['note of a file']} {SAID}.\n", encoding="utf-8"
        )
    (folder / "2026-06-14.md").write_text(f'---\nscope: "{SCOPE}"\n---\n{text}', encoding="utf-8")


def _companion(path: Path, planted: Planted, hidden: bool) -> None:
    said = json.loads(path.read_text(encoding="utf-8"))
    exchanges = []
    for name, word, there in (("k", planted.told, True), ("v", planted.untold, hidden)):
        exchange = {
            "exchange_id": f"{name}1",
            "at": "2026-08-19T12:00:00Z",
            "user": {"text": f"风筝 {SAID} {name}", "gist": f"风筝 {name}", "salience": 0.9},
        }
        if there:
            exchange["companion"] = {
                "text": f"风筝 {word['reply']} {SAID}", "gist": word["reply gist"], "salience": 0.9,
            }  # fmt: skip
            told_at = "2026-08-20T00:00:00Z" if name == "k" else None
            said["events"].append(
                {"event_id": word["event id"], "at": "2026-08-18T12:00:00Z",
                 "text": word["event"], "told_at": told_at}
            )  # fmt: skip
            said["attempts"].append(
                {"exchange_id": f"{name}1", "events": [word["event id"]],
                 "acknowledged_at": "2026-08-19T13:00:00Z", "judged_at": "2026-08-19T13:00:00Z"}
            )  # fmt: skip
            lived = {"text": f"风筝 {word['lived']} {SAID}", "at": "2026-08-19T14:00:00Z"}
            said["lived"] += [lived] if name == "v" else []
        exchanges.append(exchange)
    # Ids count up with what is said: the untold stands last, so that no id differs.
    said["exchanges"] = [*exchanges[:1], *said["exchanges"], *exchanges[1:]]
    if hidden:
        # A reply that nothing was ever stated of says something else there.
        [reply] = [one["companion"] for one in said["exchanges"] if one["exchange_id"] == "t4"]
        reply["text"] = f"风筝 {planted.untold['refused reply']} {SAID}"
    else:
        said["lived"] = []
    path.write_text(json.dumps(said, ensure_ascii=False), encoding="utf-8")


def _log(path: Path, planted: Planted) -> None:
    """A search that showed both, and so tells of both being used."""
    entry = {
        "query_id": "s-planted", "query": SAID, "asked_at": "2026-07-01T00:00:00Z", "scope": SCOPE,
        "shown": [planted.untold["shown id"], planted.told["shown id"], planted.untold["used id"]],
        "scores": [3.0, 2.0, 1.0],
    }  # fmt: skip
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry, ensure_ascii=False) + "\n")


def _case(path: Path, word: dict[str, str], **said: str) -> None:
    """A case more; of an untold memory, its id and expected word are what the writer knows."""
    cases = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    cases.append(
        {"name": "planted", "query": "gauge under the bridge flood", "lang": "en",
         "kind": "single_fact", "session": "planted", "at": "2026-07-20T00:00:00Z",
         "scope": SCOPE, "limit": 8, "targets": [word["target id"]],
         "hardNegatives": [word["successor id"]], "expectContentAny": [word["expected word"]],
         "expectTopK": 8}
        | said
    )  # fmt: skip
    path.write_text(json.dumps(cases, ensure_ascii=False), encoding="utf-8")


# Finding them again.


def forms(word: str) -> set[str]:
    """A word, and the digest of what it is the whole text of."""
    return {word, text_hash(word), text_hash(f"{word} {SAID}"), text_hash(f"风筝 {word} {SAID}")}


def leaks(data: bytes, words_of: dict[str, str]) -> list[str]:
    """Kinds whose word stands in some bytes, however packed."""
    opened = list(readings(data))
    return [
        kind
        for kind, word in words_of.items()
        if any(
            form.encode(encoding) in one
            for form in forms(word)
            for encoding in ("utf-8", "utf-16-le", "utf-16-be", "gb18030")
            for one in opened
        )
    ]


def readings(data: bytes, depth: int = 4) -> Iterator[bytes]:
    """Some bytes, and everything that can be unpacked out of them."""
    yield data
    if depth:
        for inner in _opened(data):
            if inner and inner != data:
                yield from readings(inner, depth - 1)


def _opened(data: bytes) -> Iterator[bytes]:
    if data[:8] == b"\x89PNG\r\n\x1a\n":
        yield from _png_texts(data)
        return
    if data[:2] == b"\x1f\x8b":
        yield gzip.decompress(data)
    for start in (match.start() for match in re.finditer(rb"x[\x01\x5e\x9c\xda]", data)):
        try:
            yield zlib.decompressobj().decompress(data[start:], 10_000_000)
        except zlib.error:
            continue
    for run in re.findall(rb"[A-Za-z0-9+/_-]{16,}={0,2}", data):
        exact = run.translate(bytes.maketrans(b"-_", b"+/")).rstrip(b"=")
        try:
            yield base64.b64decode(exact + b"=" * (-len(exact) % 4))
        except binascii.Error:
            continue
    text = data.decode("utf-8", "replace")
    if "\\u" in text or "\\x" in text:
        yield re.sub(
            r"\\+(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))",
            lambda hit: chr(int(hit[1] or hit[2], 16)), text,
        ).encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()  # fmt: skip
    if "&" in text:
        yield html.unescape(text).encode("utf-8", "replace")
    if "%" in text:
        yield urllib.parse.unquote_to_bytes(data)


def _png_texts(data: bytes) -> Iterator[bytes]:
    at = 8
    while at + 8 <= len(data):
        (size,), kind = struct.unpack(">I", data[at : at + 4]), data[at + 4 : at + 8]
        body = data[at + 8 : at + 8 + size]
        at += 12 + size
        if kind in (b"tEXt", b"eXIf"):
            yield body
        elif kind == b"zTXt":
            yield zlib.decompress(body.split(b"\0", 1)[1][1:])
        elif kind == b"iTXt":
            _, rest = body.split(b"\0", 1)
            text = rest[2:].split(b"\0", 2)[2]
            yield zlib.decompress(text) if rest[0] else text
