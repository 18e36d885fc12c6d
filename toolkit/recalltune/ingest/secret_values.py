"""Whether a value is a secret, or only stands where one would: a name, a call, a place to fill in.

None of these knows the text around the value; each takes time linear in it.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode

__all__ = ["is_basic_credentials", "is_filled_in", "is_password_of_address", "is_secret"]

_STAND_INS = (
    "your", "example", "changeme", "change_me", "placeholder", "redacted", "xxx", "...", "***",
    "dummy", "none", "null", "true", "false", "undefined", "os.", "process.", "env.", "self.",
    "this.", "config.", "settings.", "getenv", "secrets.", "%s", "./", "../", "~/",
    "http:", "https:",
)  # fmt: skip
_FILLED_IN = ("xxxx", "XXXX", "****", "....", "your", "YOUR", "example", "placeholder", "-here")
_CODE = frozenset("<>{}()[]|\\`")
_NAME = re.compile(
    # password2, token_v2, secret; sha256, uint64_t; a variable; a file
    r"(?i:(?:pass(?:word|wd)?|secret|token|key|pwd|pw)[_a-z]{0,20}\d{0,2}"
    r"|(?:u?int|float|base|sha|utf|oauth|md|hmac|bytes|varchar|string)[_-]?\w{0,6}\d[\w-]{0,8}"
    r"|[\w.-]{1,80}\.(?:json|ya?ml|txt|pem|py|ts|js|md|key|crt|toml|ini|cfg|html?))"
    r"|\$[A-Za-z_]\w*|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"
)
_KNOWN_BY_ALL = {
    "guest",
    "user",
    "pass",
    "root",
    "admin",
    "test",
    "password",
    "pwd",
    "pw",
    "passwd",
}


def is_secret(value: str, *, quoted: bool) -> bool:
    """Whether a value has what secrets have, and is no name, call, file or place to fill in."""
    if not any(map(str.isdigit, value)) or not any(map(str.isalpha, value)) or len(set(value)) < 5:
        return False
    if value.lower().startswith(_STAND_INS) or is_filled_in(value) or _CODE & set(value):
        return False
    if "://" in value or _NAME.fullmatch(value) or (value[0] == "/" and value == value.lower()):
        return False
    # Without quotes a dotted name is code.
    return quoted or "." not in value or not all(part.isidentifier() for part in value.split("."))


def is_filled_in(value: str) -> bool:
    """Whether it is a place to fill in, or redacted already."""
    return any(word in value for word in _FILLED_IN)


def is_password_of_address(value: str) -> bool:
    """Whether it is a password, in ``scheme://name:password@host``, that not everybody knows."""
    plain = value.lower()
    return not (
        plain in _KNOWN_BY_ALL
        or plain.startswith(_STAND_INS)
        or plain[0] in "$%"
        or len(set(plain)) < 3
        or (plain.isdigit() and len(plain) < 6)
    )


def is_basic_credentials(value: str) -> bool:
    """Whether it is ``name:password`` in base64."""
    try:
        name, colon, password = b64decode(value, validate=True).partition(b":")
    except (binascii.Error, ValueError):
        return False
    return bool(name + password) and bool(colon)
