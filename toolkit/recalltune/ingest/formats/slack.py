"""Slack's export, a folder of channels with one list of messages a day, to turns.

A file is such a list (``channel/YYYY-MM-DD.json``) or one object with ``messages``. The role of a
turn is who speaks: the name that the file itself gives (``users``, or the message's own
``user_profile``), else the user's id. What bots say, joins, leaves and other notices are left out
by reason. A thread is a session of its own, everything else in a channel one more.

``ts`` is when a message was said, in seconds with six digits, which are kept exactly; with the
channel it is the message's id. An edited message has its last text under its first time, counted.

References
----------
Slack, "Message event" and "How to read Slack data exports".
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recalltune.errors import SourceError
from recalltune.ingest.format import Format, Sample, Source
from recalltune.ingest.json_source import json_document
from recalltune.ingest.kinds import path_parts
from recalltune.ingest.moments import read_moment
from recalltune.ingest.parsed import Parsed
from recalltune.ingest.text_parts import read_parts, why_nothing

__all__ = ["FORMAT"]

NAME = "slack"
_SAID = (None, "", "thread_broadcast", "me_message", "file_share", "reply_broadcast")
"""Subtypes of messages that a person wrote."""
_TS = re.compile(r"(\d{9,11})\.(\d{1,6})", re.ASCII)
_DAY = re.compile(r"\d{4}-\d\d-\d\d\.json(?:\.gz)?", re.ASCII)
_OWN_ROLES = ("user", "assistant")


def _read(source: Source, parsed: Parsed) -> None:
    """Turns of one file, of scope ``slack:<channel>``.

    Raises
    ------
    SourceError
        If the file is no JSON document, or neither a list nor an object with ``messages``.
    """
    document = json_document(source.path, source.file, parsed)
    messages = document.get("messages") if isinstance(document, dict) else document
    if not isinstance(messages, list):
        msg = f"{source.file}:1: not a Slack export: no list of messages"
        raise SourceError(msg)
    channel = _Channel.of(document, source)
    for number, message in enumerate(messages, start=1):
        channel.say(message, number, parsed)


@dataclass(frozen=True)
class _Channel:
    """Channel of a file, and the names the file gives its people."""

    name: str
    names: Mapping[str, str]

    @classmethod
    def of(cls, document: Any, source: Source) -> _Channel:
        facts = document if isinstance(document, dict) else {}
        told = (facts.get(key) for key in ("channel", "channel_id", "channel_name", "name"))
        name = next((one for one in told if isinstance(one, str) and one), None)
        *folders, file = path_parts(source.file)
        if name is None:
            day = folders and _DAY.fullmatch(file)
            name = folders[-1] if day else file.removesuffix(".gz").removesuffix(".json")
        users = facts.get("users")
        people = users if isinstance(users, list) else []
        named = {
            one["id"]: called
            for one in people
            if isinstance(one, dict) and isinstance(one.get("id"), str) and (called := _name(one))
        }
        return cls(name, named)

    def say(self, message: Any, number: int, parsed: Parsed) -> None:
        """Account for one message."""
        if not isinstance(message, dict):
            parsed.drop("not a JSON object", number)
            return
        speaker = self._speaker(message)
        reason, text = _reason(message), _text(message)
        said = read_parts(text)
        for key in ("files", "attachments"):
            if isinstance(attached := message.get(key), list) and attached:
                said.parts[key.removesuffix("s")] += len(attached)
        if reason is None and not said.text:
            reason = why_nothing(said.parts)
        if reason is None and speaker is None:
            reason = "message without a speaker"
        if reason is not None or speaker is None:
            parsed.drop(reason or "message without a speaker", number)
            return
        if message.get("edited"):
            parsed.notes["message edited later, as it then was"] += 1
        ts, thread = message.get("ts"), message.get("thread_ts")
        known = isinstance(ts, str | int | float) and ts != ""
        parsed.say(
            f"{NAME}:{self.name}/{ts}" if known else f"{NAME}:{parsed.file}#{number}",
            session=f"{self.name}/{thread}" if isinstance(thread, str) and thread else self.name,
            seq=number - 1,
            role=speaker,
            text=said.text,
            said_at=_moment(ts, parsed),
            line=number,
            raw=json.dumps(message),
            scope=f"{NAME}:{self.name}",
            parts=said.parts,
        )

    def _speaker(self, message: dict[str, Any]) -> str | None:
        user, profile = message.get("user"), message.get("user_profile")
        if not isinstance(user, str) or not user:
            return None
        called = self.names.get(user) or (_name(profile) if isinstance(profile, dict) else None)
        # Whoever calls himself so is a person in a channel all the same.
        return called if called and called.casefold() not in _OWN_ROLES else user


def _name(person: dict[str, Any]) -> str | None:
    found = (person.get(key) for key in ("real_name", "display_name", "name"))
    return next((one.strip() for one in found if isinstance(one, str) and one.strip()), None)


def _reason(message: dict[str, Any]) -> str | None:
    """Why a message is no person's."""
    kind, subtype = message.get("type", "message"), message.get("subtype")
    if kind != "message":
        return f"not a message: {str(kind)[:40]}"
    if message.get("bot_id") or subtype == "bot_message":
        return "a bot's message"
    return None if subtype in _SAID else f"not a message: {str(subtype)[:40]}"


def _text(message: dict[str, Any]) -> str | None:
    text = message.get("text")
    if not isinstance(text, str):
        return None
    # Slack escapes these three and no others; the ampersand last, so that none is undone twice.
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _moment(ts: Any, parsed: Parsed) -> datetime | None:
    found = _TS.fullmatch(ts) if isinstance(ts, str) else None
    # As a float, the sixth digit of the seconds would be a guess.
    exact = int(found[1]) * 10**6 + int(found[2].ljust(6, "0")) if found else ts
    return read_moment(exact, parsed.notes, what="ts")


def _is_message(value: Any) -> bool:
    ts = value.get("ts") if isinstance(value, dict) else None
    if not isinstance(ts, str) or not _TS.fullmatch(ts):
        return False
    return "text" in value and any(key in value for key in ("user", "bot_id", "subtype", "type"))


def _fits(sample: Sample) -> float:
    document = sample.document
    messages = document.get("messages") if isinstance(document, dict) else document
    if not isinstance(messages, list) or not messages:
        return 0.0
    return sum(map(_is_message, messages)) / len(messages)


FORMAT = Format(
    name=NAME,
    title="Slack export (one JSON list of messages a day and channel)",
    suffixes=frozenset({".json"}),
    fits=_fits,
    read=_read,
)
