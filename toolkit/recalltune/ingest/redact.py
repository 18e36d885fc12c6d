"""Secrets in imported text are replaced by ``[redacted: kind]``, and counted.

One linear pass of RE2 flags what may be near a secret; only there, in windows of bounded length,
the rules of detect-secrets and our own are tried. So the whole stays linear in the text, whatever
is in it.

References
----------
Yelp, detect-secrets: the rules of its plugins; neither entropy nor addresses are looked at.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

import re2

__all__ = ["redact", "redact_value"]

_WINDOW = 2_048
_BEFORE, _AFTER = 80, 700
_LONGEST_KEY = 16_384
_SHORTEST = 6
_PLUGINS = {
    "artifactory": ("ArtifactoryDetector", "artifactory credentials"),
    "aws": ("AWSKeyDetector", "aws access key"),
    "azure_storage_key": ("AzureStorageKeyDetector", "azure storage key"),
    "basic_auth": ("BasicAuthDetector", "password in an address"),
    "cloudant": ("CloudantDetector", "cloudant credentials"),
    "discord": ("DiscordBotTokenDetector", "discord bot token"),
    "github_token": ("GitHubTokenDetector", "github token"),
    "gitlab_token": ("GitLabTokenDetector", "gitlab token"),
    "ibm_cloud_iam": ("IbmCloudIamDetector", "ibm cloud key"),
    "ibm_cos_hmac": ("IbmCosHmacDetector", "ibm cos key"),
    "jwt": ("JwtTokenDetector", "json web token"),
    "mailchimp": ("MailchimpDetector", "mailchimp key"),
    "npm": ("NpmDetector", "npm token"),
    "openai": ("OpenAIDetector", "openai key"),
    "pypi_token": ("PypiTokenDetector", "pypi token"),
    "sendgrid": ("SendGridDetector", "sendgrid key"),
    "slack": ("SlackDetector", "slack token"),
    "softlayer": ("SoftlayerDetector", "softlayer credentials"),
    "square_oauth": ("SquareOAuthDetector", "square secret"),
    "stripe": ("StripeDetector", "stripe key"),
    "telegram_token": ("TelegramBotTokenDetector", "telegram bot token"),
    "twilio": ("TwilioKeyDetector", "twilio key"),
}
"""Module -> class and kind. The keyword plugin is not among them: `_KEYWORD` replaces values."""

_KEY_WORDS = (
    r"(?i:pass(?:word|wd|phrase)?|pwd|secret(?:[_-]?(?:access)?[_-]?key)?|token|api[_-]?key"
    r"|access[_-]?key(?:[_-]?id)?|account[_-]?key|private[_-]?key|client[_-]?secret|credentials?)"
    r"|密码|口令|密钥"
)
_BETWEEN = r"[\"'\]]{0,2}[ \t]{0,3}(?::=|=>|::|=|:|：|是)[ \t]{0,3}"
_FLAGS = re2.compile(
    "|".join(
        (
            r"A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA",
            r"gh[pousr]_|github_pat_|gl(?:pat|dt|ft|soat|rt|cbt|imt|ptt|agent|oas)-|GR1348941",
            r"xox[a-z]-|hooks\.slack\.com/|eyJ[A-Za-z0-9_=-]{8}|PRIVATE KEY|PuTTY-User-Key-File",
            r"://[^\s/@:]{1,80}:[^\s/@]",
            r"sk-[A-Za-z0-9_-]{16}|[rs]k_(?:live|test)_|AIza|hf_[A-Za-z0-9]{8}|npm_[A-Za-z0-9]{8}",
            r"_authToken|pypi-AgE|SG\.[A-Za-z0-9_-]{8}|sq0[a-z]{3}-|[0-9a-f]{8}-us[0-9]",
            r"\b(?:AC|SK)[a-z0-9]{16}|[0-9]{8}:[0-9A-Za-z_-]{16}|[MNO][A-Za-z0-9_-]{23}",
            r"\bAKC[a-zA-Z0-9]{8}|\bAP[0-9A-F][a-zA-Z0-9]{8}",
            r"dop_v1_|shp(?:at|ss|ca)_|AGE-SECRET-KEY-1|ya29\.|GOCSPX-|glsa_|dapi[0-9a-f]{8}",
            r"(?i:bearer)[ \t]{1,3}[A-Za-z0-9]",
            f"(?:{_KEY_WORDS}){_BETWEEN}[^\\s]",
        )
    )
)
_OWN = tuple(
    (kind, re2.compile(rule))
    for kind, rule in (
        ("anthropic key", r"\b(sk-ant-[A-Za-z0-9_-]{20,200})"),
        ("openai key", r"\b(sk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{32,200})"),
        ("google api key", r"\b(AIza[0-9A-Za-z_-]{35})"),
        ("google oauth token", r"\b(ya29\.[0-9A-Za-z_-]{20,300}|GOCSPX-[0-9A-Za-z_-]{20,40})"),
        ("hugging face token", r"\b(hf_[A-Za-z0-9]{30,60})"),
        ("github token", r"\b(github_pat_[A-Za-z0-9_]{40,120})"),
        ("npm token", r"\b(npm_[A-Za-z0-9]{36})"),
        ("digitalocean token", r"\b(dop_v1_[0-9a-f]{64})"),
        ("shopify token", r"\b(shp(?:at|ss|ca)_[0-9a-fA-F]{32})"),
        ("grafana token", r"\b(glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8})"),
        ("databricks token", r"\b(dapi[0-9a-f]{32})"),
        ("age secret key", r"(AGE-SECRET-KEY-1[0-9A-Z]{58})"),
        ("stripe key", r"\b([rs]k_(?:live|test)_[0-9a-zA-Z]{16,100})"),
        ("slack token", r"\b(xox[a-z]-[A-Za-z0-9-]{10,200}|xapp-[A-Za-z0-9-]{20,200})"),
        ("json web token", r"\b(eyJ[A-Za-z0-9_=-]+\.eyJ[A-Za-z0-9_=-]+(?:\.[A-Za-z0-9_=-]*)?)"),
        ("bearer token", r"(?i:bearer)[ \t]{1,3}([A-Za-z0-9._~+/=-]{20,1000})"),
    )
)
_KEYWORD = re2.compile(
    f"(?:{_KEY_WORDS}){_BETWEEN}"
    r"(?:\"([^\"\s]{6,200})\"|'([^'\s]{6,200})'|([A-Za-z0-9!@#$%^&*_+=/.~-]{8,200}))"
)
_HEADER = re2.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d"
)
_FOOTER = re2.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|Private-MAC: [0-9a-f]+")
_STAND_INS = (
    "your", "example", "changeme", "placeholder", "redacted", "xxx", "...", "***", "dummy", "none",
    "null", "true", "false", "undefined", "os.", "process.", "env.", "self.", "config.",
    "settings.", "getenv", "secrets.", "password", "passwd", "secret", "token",
)  # fmt: skip
_CODE = frozenset("<>{}()[]$\\|`")


def redact(text: str, counts: Counter[str]) -> str:
    """Text without its secrets; the same object where there are none.

    Parameters
    ----------
    text
        Any text.
    counts
        Counter that receives one count per secret, by kind.

    Examples
    --------
    >>> redact("the password is written down, password: hunter2xyz9", counts := Counter())
    'the password is written down, password: [redacted: password]'
    >>> counts
    Counter({'password': 1})
    """
    if _FLAGS.search(text) is None:
        return text
    spans = [*_private_keys(text)]
    for start, end in _windows(text):
        spans += _secrets(text[start:end], start)
    pieces, done = [], 0
    # Where two overlap, the one that begins first, and of those the longer, is replaced.
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1], span[2])):
        if start >= done:
            pieces += [text[done:start], f"[redacted: {kind}]"]
            counts[kind] += 1
            done = end
    return "".join([*pieces, text[done:]]) if pieces else text


def redact_value(value: Any, counts: Counter[str]) -> Any:
    """JSON-like value without secrets in texts and keys; the same object where there are none."""
    if isinstance(value, str):
        return redact(value, counts)
    if isinstance(value, list | tuple):
        items = [redact_value(item, counts) for item in value]
        same = all(one is other for one, other in zip(items, value, strict=True))
        return value if same else type(value)(items)
    if isinstance(value, dict):
        pairs = {
            redact_value(key, counts): redact_value(item, counts) for key, item in value.items()
        }
        same = list(pairs) == list(value) and all(pairs[key] is value[key] for key in value)
        return value if same else pairs
    return value


def _windows(text: str) -> Iterator[tuple[int, int]]:
    """Stretches of text around what was flagged; none longer than the bound, in order."""
    start = end = 0
    for found in _FLAGS.finditer(text):
        first, last = max(found.start() - _BEFORE, 0), found.end() + _AFTER
        if first <= end and last - start <= _WINDOW:
            end = last
            continue
        if end:
            yield start, end
        start, end = first, min(last, first + _WINDOW)
    if end:
        yield start, end


def _secrets(window: str, offset: int) -> Iterator[tuple[int, int, str]]:
    for kind, rule in _OWN:
        for found in rule.finditer(window):
            if _telling(found.group(1)):
                yield offset + found.start(1), offset + found.end(1), kind
    for found in _KEYWORD.finditer(window):
        number = next(n for n in (1, 2, 3) if found.group(n) is not None)
        value = found.group(number)
        if _telling(value) and not _stands_in(value, quoted=number < 3):
            yield offset + found.start(number), offset + found.end(number), "password"
    for kind, plugin in _plugins():
        # The patterns of a plugin backtrack: they see one window only.
        for rule in plugin.denylist:
            for found in rule.finditer(window):
                start, end = _span(found)
                secret = window[start:end]
                if (
                    _telling(secret)
                    and not _stands_in(secret, quoted=True)
                    and _valid(plugin, secret)
                ):
                    yield offset + start, offset + end, kind


def _span(found: re.Match[str]) -> tuple[int, int]:
    """Where the secret stands: in the group that holds a value, else all that was found."""
    groups = [found.span(number) for number in range(1, (found.re.groups or 0) + 1)]
    long = [(start, end) for start, end in groups if end - start >= _SHORTEST]
    return min(long) if long else found.span()


def _valid(plugin: Any, secret: str) -> bool:
    """Whether a token that has an inner form has it."""
    return not hasattr(plugin, "is_formally_valid") or plugin.is_formally_valid(secret)


def _private_keys(text: str) -> Iterator[tuple[int, int, str]]:
    """Whole blocks, from header to footer; without a footer, what may be a key after the header."""
    done = 0
    for found in _HEADER.finditer(text):
        if found.start() < done:
            continue
        closing = _FOOTER.search(text[found.end() : found.end() + _LONGEST_KEY])
        done = found.end() + (closing.end() if closing else _LONGEST_KEY)
        yield found.start(), min(done, len(text)), "private key"


def _telling(value: str) -> bool:
    """Whether a value has what secrets have: letters and digits, and not one sign all over."""
    return (
        any(sign.isdigit() for sign in value)
        and any(sign.isalpha() for sign in value)
        and len(set(value)) > 4
    )


def _stands_in(value: str, *, quoted: bool) -> bool:
    """Whether a value only stands where a secret would: a name, a call, a place to fill in."""
    plain = value.lower()
    if plain.startswith(_STAND_INS) or _CODE & set(value):
        return True
    # Without quotes a dotted name is code.
    return not quoted and all(part.isidentifier() for part in value.split(".")) and "." in value


@cache
def _plugins() -> tuple[tuple[str, Any], ...]:
    """detect-secrets' rules, loaded when the first text asks for them."""
    return tuple(
        (kind, getattr(import_module(f"detect_secrets.plugins.{module}"), name)())
        for module, (name, kind) in _PLUGINS.items()
    )
