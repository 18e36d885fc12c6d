"""RecallNest's config.json read as a RankingConfig: where a sweep starts from.

In: the file production runs with. Out: the preset with the file's values, and a list of what the
file holds that the preset does not model. Values are checked with file:line.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recalltune.errors import SourceError, nearest
from recalltune.pipeline.address import set_many
from recalltune.pipeline.config import RankingConfig, preset
from recalltune.production.json_spans import Node, parse_spans
from recalltune.production.recallnest_keys import KEYS, KNOWN_KEYS, MINIMA, WEIGHTS, WIDEST
from recalltune.production.replacing import read_original

__all__ = ["RecallNestFile", "import_recallnest", "read_recallnest"]

_TOP_KEYS = ("dbPath", "embedding", "retrieval")
_MODELLED = (
    {key.path[0] for key in KEYS} | {"mode", "minScore", "candidatePoolSize"} | {"sourceDiversity"}
)
_DEAD_IN_VECTOR_MODE = {
    "vectorWeight",
    "bm25Weight",
    "rerank",
    "rerankModel",
    "rerankEndpoint",
    "rerankProvider",
    "rerankApiKey",
    "multiHopMaxQueries",
    "rifThreshold",
    "rifScoreRatio",
}


@dataclass(frozen=True)
class RecallNestFile:
    """A production config as read."""

    path: Path
    content: bytes
    """The file, byte for byte."""
    text: str
    """The same without its byte order mark."""
    mode: Any
    """`retrieval.mode`, whatever it is; vector where it is missing."""
    mode_line: int
    config: RankingConfig
    """The preset with the file's values, in vector mode; profiles are production's own."""
    present: dict[tuple[str, ...], float]
    """Path below `retrieval` -> the number the file gives, for the mapped keys."""
    effective: dict[tuple[str, ...], float]
    """The same with what production takes for the keys that are missing."""
    keys: tuple[str, ...]
    """Every key of `retrieval`."""
    pool: float | None
    """candidatePoolSize as given."""
    min_score: float | None
    """minScore as given."""
    diverse: bool
    """Whether sourceDiversity is on."""
    unknown: tuple[str, ...]
    """Keys of `retrieval` RecallNest does not know; it ignores them."""
    not_modelled: tuple[str, ...]
    """Known keys whose values differ from the default and that the preset does not model."""


def import_recallnest(path: str | Path) -> RankingConfig:
    """Return the RankingConfig that ranks as RecallNest with this config.json does.

    Parameters
    ----------
    path
        A RecallNest config.json whose `retrieval.mode` is vector (the default).

    Raises
    ------
    SourceError
        If the file is no RecallNest config, runs in another mode, or holds a value out of range;
        the message starts with file:line.
    """
    file = read_recallnest(path)
    if file.mode != "vector":
        known = nearest(str(file.mode), ("vector", "hybrid"))
        message = (
            f"{path}:{file.mode_line}: retrieval.mode must be 'vector' to be modelled, got "
            f"{file.mode!r}; {known}"
        )
        raise SourceError(message)
    return file.config


def read_recallnest(path: str | Path) -> RecallNestFile:
    """Return the file with everything a report needs, in whatever mode it runs.

    Raises
    ------
    SourceError
        If the file is no RecallNest config or holds a value out of range.
    """
    path = Path(path)
    content = read_original(path)
    try:
        text = content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = f"{path}:{line}: not UTF-8 at byte {error.start}"
        raise SourceError(message) from None
    block = _Block(_retrieval(parse_spans(text, str(path)), text, path), text, path)
    mode = block.node("mode")
    return RecallNestFile(
        path=path,
        content=content,
        text=text,
        mode="vector" if mode is None else mode.value,
        mode_line=_line(text, 0 if mode is None else mode.start),
        config=block.config(),
        present=block.present(),
        effective=block.effective(),
        keys=block.keys,
        pool=block.number("candidatePoolSize", low=1, high=1_000_000),
        min_score=block.number("minScore", low=0, high=1),
        diverse=block.diverse(),
        unknown=tuple(key for key in block.keys if key not in KNOWN_KEYS),
        not_modelled=block.not_modelled(),
    )


def _retrieval(root: Node, text: str, path: Path) -> Node | None:
    if root.kind != "object" or not set(_TOP_KEYS) & set(root.keys):
        seen = (", ".join(root.keys[:8]) or "none") if root.kind == "object" else root.kind
        message = (
            f"{path}:1: not a RecallNest config: none of the keys {', '.join(_TOP_KEYS)} at the "
            f"top, got {seen}"
        )
        raise SourceError(message)
    block = root.get("retrieval")
    if root.keys.count("retrieval") > 1:
        raise _refusal(text, path, root, "the key 'retrieval' occurs twice")
    if block is not None and block.kind != "object":
        raise _refusal(text, path, block, f"retrieval must be an object, got {block.kind}")
    return block


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _refusal(text: str, path: Path, node: Node, reason: str) -> SourceError:
    return SourceError(f"{path}:{_line(text, node.start)}: {reason}")


class _Block:
    """The `retrieval` block with its values checked."""

    def __init__(self, block: Node | None, text: str, path: Path) -> None:
        self.block, self.text, self.path = block, text, path
        self.keys = () if block is None else tuple(block.keys)

    def node(self, *keys: str) -> Node | None:
        node = self.block
        for depth, key in enumerate(keys):
            if node is None:
                return None
            if node.kind != "object":
                name = ".".join(("retrieval", *keys[:depth]))
                reason = f"{name} must be an object, got {node.kind}"
                raise _refusal(self.text, self.path, node, reason)
            if node.keys.count(key) > 1:
                reason = f"the key {key!r} occurs twice in the same object"
                raise _refusal(self.text, self.path, node, reason)
            node = node.get(key)
        return node

    def number(self, *keys: str, low: float, high: float) -> float | None:
        node = self.node(*keys)
        if node is None:
            return None
        if node.kind != "number" or not low <= node.value <= high:
            name = ".".join(("retrieval", *keys))
            seen = self.text[node.start : min(node.end, node.start + 40)]
            reason = f"{name} must be a number in [{low:g}, {high:g}], got {seen}"
            raise _refusal(self.text, self.path, node, reason)
        return float(node.value)

    def present(self) -> dict[tuple[str, ...], float]:
        found = {key.path: self.number(*key.path, low=key.low, high=key.high) for key in KEYS}
        return {path: value for path, value in found.items() if value is not None}

    def effective(self) -> dict[tuple[str, ...], float]:
        present = self.present()
        values = {key.path: key.default for key in KEYS} | present
        if "categoryMinScores" in self.keys:
            # A partial map: production sends every category it leaves out to hardMinScore.
            missing = [key.path for key in MINIMA if key.path not in present]
            values |= dict.fromkeys(missing, values["hardMinScore",])
        return values

    def diverse(self) -> bool:
        return self.number("sourceDiversity", low=0, high=1) != 0

    def config(self) -> RankingConfig:
        values = self.effective()
        off = {key.kind for key in KEYS if key.zero_is_off and values[key.path] == 0}
        if not self.diverse():
            off.add("source_diversity")
        base = preset("recallnest")
        kept = tuple(stage for stage in base.stages if stage.kind not in off)
        profiles = {
            name: {a: v for a, v in overrides.items() if a.partition(".")[0] not in off}
            for name, overrides in base.profiles.items()
        }
        listed = base.with_(name=self.path.name[:80], stages=kept, profiles=profiles)
        changes: dict[str, Any] = {
            key.address: values[key.path] for key in KEYS if key.kind not in off
        }
        return set_many(listed, changes | self.barely_read())

    def barely_read(self) -> dict[str, Any]:
        """Address -> value of the keys that vector mode reads in part, or not at all."""
        found: dict[str, Any] = {}
        pool = self.number("candidatePoolSize", low=1, high=1_000_000)
        if pool is not None:
            found["arms.dense.width"] = min(int(pool), WIDEST)
        floor = self.number("minScore", low=0, high=1)
        if floor is not None:
            found["similarity_minimum.min_score"] = floor
        weights = {address: self.node(key) for key, address in WEIGHTS.items()}
        given = {a: node.value for a, node in weights.items() if node and node.kind == "number"}
        # Whatever they are they do nothing, so what our fusion has no range for is left out.
        usable = any(given.values()) and all(0 <= value <= 10 for value in given.values())
        return found | ({a: float(value) for a, value in given.items()} if usable else {})

    def not_modelled(self) -> tuple[str, ...]:
        others = set(KNOWN_KEYS) - _MODELLED - _DEAD_IN_VECTOR_MODE
        nodes = {key: self.node(key) for key in sorted(others & set(self.keys))}
        return tuple(k for k, node in nodes.items() if node and node.value != KNOWN_KEYS[k])
