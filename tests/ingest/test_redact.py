"""Secrets in imported text: every planted kind is replaced, clean words are left alone.

The tokens are put together at run time, so that none stands in the repository.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from recalltune.ingest import ingest, secret_plugins
from recalltune.ingest import redact as module
from recalltune.ingest.redact import redact, redact_value

draw = random.Random(7)


def some(count: int, signs: str = string.ascii_letters + string.digits) -> str:
    """Random signs, with a letter and a digit among them."""
    made = "".join(draw.choices(signs, k=count - 2))
    return made + next(s for s in signs if s.isalpha()) + next(s for s in signs if s.isdigit())


HEX, UPPER = "0123456789abcdef", string.ascii_uppercase + string.digits
WORD = string.ascii_letters + string.digits + "_-"


def json64(value: object) -> str:
    """JSON in base64 for addresses, as the parts of a web token are."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def web_token(size: int) -> str:
    return ".".join([json64({"alg": "HS256"}), json64({"sub": some(size)}), some(43)])


def block(name: str, *, line: str = "\n") -> str:
    edge = "PRIVATE" + " KEY"
    inner = [some(64), some(64), some(22) + "=="]
    return line.join([f"-----BEGIN {name}{edge}-----", *inner, f"-----END {name}{edge}-----"])


PLANTED = [
    # kind, what stands before, the secret, what stands after
    ("aws access key", "id ", "AK" + "IA" + some(16, UPPER), ""),
    ("aws access key", 'aws_secret_access_key = "', some(40), '"'),
    ("password", "export AWS_SECRET_ACCESS_KEY=", some(38) + "/b", ""),
    ("password", "AWS_SESSION_TOKEN=", some(900) + "/+" + some(40) + "==", ""),
    ("github token", "", "gh" + "p_" + some(36), ""),
    ("github token", "", "gh" + "p_" + some(50), ", longer than it was"),
    ("github token", r"KEY=\n", "gh" + "s_" + some(36), r"\nNEXT"),
    ("github token", "", "github" + "_pat_" + some(82), "."),
    ("gitlab token", "", "gl" + "pat-" + some(20), ""),
    ("gitlab token", "", "gl" + "soat-" + some(20), ""),
    ("slack token", "", "xo" + "xb-123456789012-1234567890123-" + some(24), ""),
    (
        "slack token",
        "post to ",
        "https://hooks." + f"slack.com/services/T{some(8)}/B{some(8)}/{some(24)}",
        "",
    ),
    ("stripe key", "", "sk" + "_live_" + some(24), ""),
    ("openai key", "", "sk" + "-" + some(20) + "T3Blbk" + "FJ" + some(20), ""),
    ("openai key", "", "sk" + "-proj-" + some(120, WORD), ""),
    ("anthropic key", "ANTHROPIC_API_KEY=", "sk" + "-ant-api03-" + some(80, WORD), ""),
    ("openrouter key", "", "sk" + "-or-v1-" + some(64, HEX), ""),
    ("groq key", "", "gs" + "k_" + some(52), ""),
    ("google api key", "?key=", "AI" + "za" + some(35, WORD), "&x=1"),
    ("google oauth token", "", "GOC" + "SPX-" + some(28, WORD), ""),
    ("hugging face token", "", "hf" + "_" + some(34), ""),
    ("npm token", "//registry.npmjs.org/:_authToken=", "np" + "m_" + some(36), " # mine"),
    ("pypi token", "", "pypi-" + "AgEIcHlwaS5vcmc" + some(150, WORD), ""),
    ("sendgrid key", "", "SG" + "." + some(22) + "." + some(43), ""),
    ("square secret", "", "sq0" + "csp-" + some(43), ""),
    ("mailchimp key", "", some(32, string.ascii_lowercase + string.digits) + "-us" + "12", ""),
    ("twilio key", "", "SK" + some(32, HEX), ""),
    ("telegram bot token", "bot ", "1234567" + "89:" + some(35), ""),
    ("discord bot token", "", "M" + some(24) + "." + some(6) + "." + some(27), ""),
    (
        "discord webhook",
        "",
        "https://discord.com/api/" + f"webhooks/123456789012345678/{some(68)}",
        "",
    ),
    ("azure storage key", "AccountName=x;AccountKey=", some(86) + "==", ";EndpointSuffix=core"),
    ("azure signature", "https://a.blob/b?sv=2022-11-02&sig=", some(43) + "%3D", ""),
    ("json web token", "", web_token(20), " is it"),
    ("json web token", "Authorization: Bearer ", web_token(3_000), ""),
    ("bearer token", "Authorization: Bearer ", some(900), ""),
    (
        "basic credentials",
        "Authorization: Basic ",
        base64.b64encode(b"bob:open sesame").decode(),
        "",
    ),
    ("password in an address", "postgres://bob:", some(12), "@db.example/x"),
    ("password in an address", "redis://:", "swordfish", "@cache:6379"),
    ("password", "password: ", some(12), ""),
    ("password", "db_password = '", some(16), "'"),
    ("password", r"{\"password\": \"", some(10), r"\"}"),
    ("password", "**Password:** ", some(10), ""),
    ("password", "the password is ", some(10), ". Remember it"),
    ("password", "mysql --password ", some(10), " -h db"),
    ("password", "machine x login bob password ", some(10), ""),
    ("password", "curl -u bob:", some(10), " https://x.example"),
    ("password", "CLOUDFLARE_API_TOKEN=", some(40), ""),
    ("password", "password=", "pa$$" + "w0rd99", ""),
    ("password", "密码是 ", some(10), "，别告诉人"),
    ("digitalocean token", "", "dop" + "_v1_" + some(64, HEX), ""),
    ("databricks token", "", "da" + "pi" + some(32, HEX), ""),
    ("age secret key", "", "AGE-SECRET" + "-KEY-1" + some(58, UPPER), ""),
    ("artifactory credentials", "header ", "AKC" + some(12), ""),
    ("ibm cloud key", 'ibm_cloud_api_key: "', some(44), '"'),
    ("ibm cos key", "cos_hmac_secret_access_key = ", some(48, HEX), ""),
    ("cloudant credentials", "cloudant_pw = ", some(64, HEX), ""),
    ("softlayer credentials", "softlayer_key: ", some(64, HEX), ""),
    ("private key", "", block("RSA "), ""),
    ("private key", '{"key": "', block("OPENSSH ", line=r"\n"), r'\n"}'),
    ("private key", "", block("").rpartition("\n")[0], ""),
]
IDS = [f"{number}: {kind}" for number, (kind, *_) in enumerate(PLANTED)]
CLEAN = (
    'password = os.environ["DB_PW1"]',
    'api_key: "your-key-here-1"',
    'OPENAI_API_KEY="sk-' + 'your-openai-api-key-goes-here-1234"',
    "sk-" + "ant-api03-" + "x" * 40,
    "sk-" + "ant-...",
    "token: str = field(default=None2)",
    "secret = get_secret(name1)",
    "password: <your password 1>",
    "PASSWORD=${DB_PASSWORD_1}",
    "password=$DB_PASSWORD_1",
    "password = password2",
    "token: uint256",
    "secret: db-secrets-v2.yaml",
    "api_key = API_KEY_2",
    "The password must have 8 characters and 1 digit.",
    "tokens: 1234567",
    "max_tokens = 4096",
    "token=config.token.value1",
    "https://example.org:8080/path@v2",
    "postgres://user:password@localhost/db",
    "postgres://$USER:$PASS1@host/db",
    "Basic principles of 2024, and bearer of news",
    "commit 3f5e9a1c2b4d6e8f0a1b2c3d4e5f6a7b8c9d0e1f",
    "uuid 258c7280-ae70-4798-800f-63464d01a85d",
    "把密码改成更长的",
    '密码: "至少8位abc"',
    "sk-learn and task-force-2024-planning-notes are words",
    'class="sk-estimator-doc-link-wrapper-2024-some-long-name"',
    "the APIs and APEnvironment of v2",
    'if text.startswith("-----BEGIN RSA PRIVATE' + ' KEY-----"): raise InvalidKeyFormatOfALine',
)


@pytest.mark.parametrize(("kind", "before", "secret", "after"), PLANTED, ids=IDS)
def test_a_planted_secret_is_replaced_and_every_sign_around_it_stays(kind, before, secret, after):
    counts = Counter[str]()
    text = redact(f"先说一句。 so I ran {before}{secret}{after} and then 结束", counts)
    assert text == f"先说一句。 so I ran {before}[redacted: {kind}]{after} and then 结束"
    assert counts == {kind: 1}


def test_there_are_planted_kinds_enough():
    assert len({kind for kind, *_ in PLANTED}) >= 25


@pytest.mark.parametrize("text", CLEAN)
def test_what_only_talks_of_secrets_is_the_same_object(text):
    assert redact(text, counts := Counter()) is text
    assert not counts


def test_a_key_word_stays_and_its_value_goes():
    made = redact("user: bob, password: hunter2xyz9, host: db", counts := Counter())
    assert made == "user: bob, password: [redacted: password], host: db"
    assert counts == {"password": 1}


def test_a_second_key_word_keeps_its_own_value():
    made = redact("secret: password=hunter2xyz", counts := Counter())
    assert made == "secret: password=[redacted: password]"
    assert counts == {"password": 1}


def test_the_words_of_a_mark_are_no_key_word():
    text = f"{PLANTED[4][2]}: abc12345x"
    once = redact(text, Counter())
    assert once == "[redacted: github token]: abc12345x"
    assert redact(once, Counter()) is once


def test_secrets_that_touch_leave_nothing_between_them():
    text = PLANTED[4][2] + PLANTED[15][2]
    assert redact(text, counts := Counter()) == "[redacted: github token]"
    assert counts == {"github token": 1}


def test_a_surrogate_beside_a_secret_stays():
    secret = PLANTED[4][2]
    assert redact(f"\ud83d {secret} \udc00", Counter()) == "\ud83d [redacted: github token] \udc00"
    assert redact(lone := "only \ud83d", Counter()) is lone


JOINTS = st.one_of(st.text(max_size=30), st.sampled_from([" ", ": ", "=", "]", "_", "-", ".", "@"]))
PIECES = st.sampled_from([before + secret + after for _, before, secret, after in PLANTED])


@settings(max_examples=300)
@given(
    st.lists(st.one_of(PIECES, st.sampled_from(CLEAN), st.text(max_size=30), JOINTS), max_size=7)
)
def test_redacting_again_changes_nothing(parts):
    counts = Counter[str]()
    text = "".join(parts)
    once = redact(text, counts)
    assert redact(once, again := Counter()) == once
    assert not again
    assert (once is text) == (not counts)
    # One mark for each that was counted, and what is left stands in the text, in order.
    marks = sum(once.count(f"[redacted: {kind}]") for kind in counts)
    assert marks - text.count("[redacted: ") == counts.total()
    at = 0
    for piece in re.split(r"\[redacted: [a-z ]+\]", once):
        at = text.index(piece, at) + len(piece)


# A digit of another script is a digit to `re`, but in no token.
ASCII = st.characters(codec="ascii")
RULES = [
    (kind, rule)
    for kind, plugin in secret_plugins._plugins()
    for rule in plugin.denylist
    # Addresses with a password are flagged, and read, by a rule of our own.
    if "cloudant\\.com" not in rule.pattern
]
NUMBERED = [f"{number}: {kind}" for number, (kind, _) in enumerate(RULES)]


@pytest.mark.parametrize(("kind", "rule"), RULES, ids=NUMBERED)
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_whatever_a_plugin_finds_was_flagged_before(kind, rule, data):
    found = data.draw(st.from_regex(rule, fullmatch=True, alphabet=ASCII))
    # Blanks without end between key and value are read up to a dozen.
    assume(" " * 5 not in found)
    assert 2 in (module._prefilter().Match(found) or ())


def test_values_inside_values_are_redacted_and_an_unchanged_one_is_the_same():
    clean = {"a": ["x", {"b": 1}], "c": None}
    assert redact_value(clean, Counter()) is clean
    made = redact_value({"env": [PLANTED[4][2]], "n": 1}, counts := Counter())
    assert made == {"env": ["[redacted: github token]"], "n": 1}
    assert counts == {"github token": 1}


def test_a_value_under_a_key_that_names_a_secret_is_one():
    made = redact_value({"password": "hunter2xyz", "name": "hunter2xyz"}, counts := Counter())
    assert made == {"password": "[redacted: password]", "name": "hunter2xyz"}
    assert counts == {"password": 1}
    assert redact_value(made, Counter()) is made


def test_no_value_is_lost_where_two_keys_become_one():
    made = redact_value({PLANTED[4][2]: 1, PLANTED[5][2]: 2, PLANTED[7][2]: 3}, Counter())
    mark = "[redacted: github token]"
    assert made == {mark: 1, f"{mark}~2": 2, f"{mark}~3": 3}


BEGIN = "-----BEGIN RSA PRIVATE" + " KEY-----"
HOSTILE = {
    "plain": "a" * 10**6,
    "eyJ": "eyJ" * 10**5,
    "eyJ in one run": ("eyJabcdefgh-gh" + "p_" + "a1" * 18 + "-") * 3_000,
    "key words": "password=" * 30_000,
    "key words in quotes": 'password="' * 30_000,
    "key words with digits": "token=a1:" * 30_000,
    "begin": "-----BEGIN" * 10**5,
    "headers": BEGIN * 10**4,
    "one header": BEGIN + "x" * 10**6,
    "addresses": "://a:b" * 30_000,
    "addresses with a sign": "://a:b@" * 30_000,
    "aws": "AK" + "IA" * 10**5,
    "telegram": ("12345678:" + "a" * 35) * 5_000,
    "assignments": ("key=" + "a" * 24 + " ") * 10_000,
    "npm": "//a/:_authToken= " * 10_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_rule_that_may_read_back_sees_more_than_a_window(monkeypatch, text):
    seen: list[int] = []

    class Rule:
        def search(self, window: str, at: int) -> None:
            seen.append(len(window))

    class Plugin:
        denylist = (Rule(),)

    monkeypatch.setattr(secret_plugins, "_plugins", lambda: (("any", Plugin()),))
    redact(text, Counter())
    assert max(seen, default=0) <= 1_025
    assert sum(seen) <= 3 * len(text) + 1_025


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_each_beginning_is_read_once_and_over_a_bounded_stretch(monkeypatch, text):
    read: list[int] = []
    bounds = {"_BARE": 512, "_QUOTED": 4_200, "_JWT": 4_200, "_ADDRESS": 600, "_LONG": 4_096}
    for name, bound in bounds.items():
        rule = getattr(module, name)

        class Counted:
            def match(self, text, at, rule=rule, bound=bound):
                found = rule.match(text, at)
                # The stretch a rejected beginning costs; an accepted one is not read again.
                read.append(0 if found is None else min(found.end() - at, bound))
                assert found is None or found.end() - at <= bound
                return found

        monkeypatch.setattr(module, name, Counted())
    redact(text, Counter())
    beginnings = sum(1 for _ in module._LEAD.finditer(text))
    assert len(read) <= 2 * beginnings


def test_loading_the_package_loads_no_plugin():
    code = "import recalltune.ingest.redact, sys; print('detect_secrets' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


def test_an_import_counts_what_it_redacted_and_stores_none_of_it(lab, write):
    secret = PLANTED[4][2]
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
    secret = PLANTED[4][2]
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
    for path in sorted((shared / "data" / "transcripts").rglob("*.*")):
        if path.suffix in {".json", ".jsonl"}:
            lines = path.read_text("utf-8", "replace").split(
                "\n" if path.suffix == ".jsonl" else "\0"
            )
            turns += [text for line in lines for text in _strings(_read(line)) if len(text) > 20]
        elif path.suffix == ".md":
            turns += path.read_text("utf-8").split("\n\n")
    assert len(turns) > 20_000
    counts = Counter[str]()
    hit = [text for text in turns if redact(text, counts) != text]
    assert len(hit) <= len(turns) / 1_000, counts


def _read(line: str) -> object:
    try:
        return json.loads(line)
    except ValueError:
        return line


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in inner for text in _strings(item)]
