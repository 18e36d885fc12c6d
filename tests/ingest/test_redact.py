"""Secrets in imported text: every planted kind is replaced, clean words are left alone.

The tokens are put together at run time, so that none stands in the repository.
"""

from __future__ import annotations

import json
import random
import re
import string
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalltune.ingest import ingest
from recalltune.ingest import redact as module
from recalltune.ingest.redact import redact, redact_value

draw = random.Random(7)


def some(count: int, signs: str = string.ascii_letters + string.digits) -> str:
    """Random signs, with a letter and a digit among them."""
    made = "".join(draw.choices(signs, k=count - 2))
    return made + next(s for s in signs if s.isalpha()) + next(s for s in signs if s.isdigit())


HEX, UPPER = "0123456789abcdef", string.ascii_uppercase + string.digits
WORD = string.ascii_letters + string.digits + "_-"
JWT = ".".join(["eyJ" + "hbGciOiJIUzI1NiJ9", "eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0", some(43, WORD)])
PLANTED = {
    "aws access key": "AK" + "IA" + some(16, UPPER),
    "aws secret": f'aws_secret_access_key = "{some(40)}"',
    "github token": "gh" + "p_" + some(36),
    "github fine token": "github" + "_pat_" + some(82),
    "gitlab token": "gl" + "pat-" + some(20),
    "slack token": "xo" + "xb-123456789012-1234567890123-" + some(24),
    "slack hook": "https://hooks."
    + "slack.com/services/T"
    + some(8)
    + "/B"
    + some(8)
    + "/"
    + some(24),
    "stripe key": "sk" + "_live_" + some(24),
    "openai key": "sk" + "-" + some(20) + "T3Blbk" + "FJ" + some(20),
    "openai project key": "sk" + "-proj-" + some(48),
    "anthropic key": "sk" + "-ant-api03-" + some(80, WORD),
    "google api key": "AI" + "za" + some(35, WORD),
    "google oauth": "GOC" + "SPX-" + some(28, WORD),
    "hugging face token": "hf" + "_" + some(34),
    "npm token": "np" + "m_" + some(36),
    "pypi token": "pypi-" + "AgEIcHlwaS5vcmc" + some(90, WORD),
    "sendgrid key": "SG" + "." + some(22) + "." + some(43),
    "square secret": "sq0" + "csp-" + some(43),
    "mailchimp key": some(32, HEX) + "-us" + "12",
    "twilio key": "SK" + some(32, HEX),
    "telegram bot token": "1234567" + "89:" + some(35),
    "discord bot token": "M" + some(24) + "." + some(6) + "." + some(27),
    "azure storage key": "AccountKey" + "=" + some(86) + "==",
    "json web token": JWT,
    "bearer token": "Authorization: Bearer " + some(40),
    "password in an address": "postgres://bob:" + some(12) + "@db.example/x",
    "password": "password: " + some(12),
    "quoted password": f"db_password = '{some(16)}'",
    "chinese password": "密码是 " + some(10),
    "digitalocean token": "dop" + "_v1_" + some(64, HEX),
    "databricks token": "da" + "pi" + some(32, HEX),
    "age key": "AGE-SECRET" + "-KEY-1" + some(58, UPPER),
    "artifactory": "header AKC" + some(12) + " ",
    "ibm cloud key": 'ibm_cloud_api_key: "' + some(44) + '"',
    "private key": "\n".join(
        [
            "-----BEGIN RSA PRIVATE" + " KEY-----",
            some(64),
            some(64),
            "-----END RSA PRIVATE" + " KEY-----",
        ]
    ),
}
CLEAN = (
    'password = os.environ["DB_PW1"]',
    'api_key: "your-key-here-1"',
    "token: str = field(default=None2)",
    "secret = get_secret(name1)",
    "password: <your password 1>",
    "PASSWORD=${DB_PASSWORD_1}",
    "The password must have 8 characters and 1 digit.",
    "tokens: 1234567",
    "max_tokens = 4096",
    "token=config.token.value1",
    "https://example.org:8080/path@v2",
    "commit 3f5e9a1c2b4d6e8f0a1b2c3d4e5f6a7b8c9d0e1f",
    "uuid 258c7280-ae70-4798-800f-63464d01a85d",
    "把密码改成更长的",
    "sk-learn and task-force-2024-planning-notes are words",
    "the APIs and APEnvironment of v2",
)


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_secret_is_replaced_and_the_words_around_it_stay(kind):
    counts = Counter[str]()
    secret = PLANTED[kind]
    text = redact(f"先说一句。 so I ran {secret} and then 结束", counts)
    assert text.startswith("先说一句。 so I ran ")
    assert text.endswith(" and then 结束")
    assert "[redacted: " in text
    assert counts.total() >= 1
    core = max(re.split(r"[\s\"'=:@]+", secret), key=len)
    assert core[-10:] not in text


def test_there_are_planted_kinds_enough():
    assert len(PLANTED) >= 25


@pytest.mark.parametrize("text", CLEAN)
def test_what_only_talks_of_secrets_is_the_same_object(text):
    assert redact(text, counts := Counter()) is text
    assert not counts


def test_a_key_word_stays_and_its_value_goes():
    made = redact("user: bob, password: hunter2xyz9, host: db", counts := Counter())
    assert made == "user: bob, password: [redacted: password], host: db"
    assert counts == {"password": 1}


@given(
    st.lists(st.one_of(st.sampled_from(sorted(PLANTED.values())), st.text(max_size=30)), max_size=5)
)
def test_redacting_again_changes_nothing(parts):
    once = redact("\n".join(parts), Counter())
    assert redact(once, counts := Counter()) == once
    assert not counts


def test_values_inside_values_are_redacted_and_an_unchanged_one_is_the_same():
    clean = {"a": ["x", {"b": 1}], "c": None}
    assert redact_value(clean, Counter()) is clean
    made = redact_value({"env": [PLANTED["github token"]], "n": 1}, counts := Counter())
    assert made == {"env": ["[redacted: github token]"], "n": 1}
    assert counts == {"github token": 1}


@pytest.mark.parametrize(
    "text",
    [
        "a" * 10**6,
        "eyJ" * 10**5,
        "password=" * 10**5,
        "-----BEGIN RSA PRIVATE" + " KEY-----" + "x" * 10**6,
        "://a:b@" * 10**5,
        "AK" + "IA" * 10**5,
        "ibm_cloud_api_key" * 10**4 + "=",
    ],
    ids=["plain", "jwt", "words", "key", "address", "aws", "ibm"],
)
def test_no_pattern_of_a_plugin_sees_more_than_a_window(monkeypatch, text):
    seen: list[int] = []

    class Rule:
        def finditer(self, window: str) -> list:
            seen.append(len(window))
            return []

    class Plugin:
        denylist = (Rule(),)

    monkeypatch.setattr(module, "_plugins", lambda: (("any", Plugin()),))
    redact(text, Counter())
    assert max(seen, default=0) <= 2_048
    assert sum(seen) <= 3 * len(text) + 10_000


def test_an_import_counts_what_it_redacted_and_stores_none_of_it(lab, write):
    secret = PLANTED["github token"]
    line = {
        "type": "user",
        "uuid": "u",
        "sessionId": "s",
        "message": {"role": "user", "content": f"use {secret} please"},
    }
    report = ingest(lab, write("s.jsonl", [line]), turns_as_memories=True)
    assert report.redacted.rows() == [("github token", 1)]
    assert secret.encode() not in lab.path.read_bytes()


def test_what_a_payload_says_beside_its_text_is_redacted_too(lab, write):
    secret = PLANTED["github token"]
    payload = {
        "version": "connector-v1",
        "source": "s",
        "scope": "x",
        "producedAt": "2026-01-01T00:00:00Z",
        "records": [
            {
                "id": "r",
                "text": "words",
                "title": f"about {secret}",
                "tags": [secret],
                "sourceMetadata": {"env": {"TOKEN": secret}},
            }
        ],
    }
    ingest(lab, write("p.json", payload))
    assert secret.encode() not in lab.path.read_bytes()


@pytest.mark.shared
def test_of_a_thousand_real_turns_at_most_one_is_hit_for_nothing(shared, lab):
    conversations = json.loads((shared / "data" / "locomo" / "locomo.json").read_text("utf-8"))
    turns = [
        turn["text"]
        for item in conversations
        for name, session in item["conversation"].items()
        if isinstance(session, list)
        for turn in session
    ]
    travel = json.loads(
        (shared / "data" / "proactivemembench" / "travel_conversations.json").read_text("utf-8")
    )
    turns += [text for text in _strings(travel) if len(text) > 20]
    for chat in ("1", "6", "8"):
        told = json.loads((shared / "data" / "beam_100k" / chat / "chat.json").read_text("utf-8"))
        turns += [text for text in _strings(told) if len(text) > 20]
    assert len(turns) > 4_000
    counts = Counter[str]()
    hit = [text for text in turns if redact(text, counts) != text]
    assert len(hit) <= len(turns) / 1_000, counts


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in inner for text in _strings(item)]
