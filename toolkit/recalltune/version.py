"""Which code made a number: the digest of the package's own source."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

__all__ = ["VERSION", "code_digest"]

VERSION = "0.1.0"


@cache
def code_digest() -> str:
    """First 8 hex digits of the sha256 over every source file and preset of the package."""
    digest = hashlib.sha256()
    for name, content in sorted(_sources(resources.files("recalltune"), "")):
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:8]


def _sources(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _sources(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith((".py", ".toml")):
            found.append((prefix + entry.name, entry.read_bytes()))
    return found
