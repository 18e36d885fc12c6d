"""Parameter addresses: `decay.half_life_days`, `select.floors.project`, `arms.lexical.k1`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recalltune.candidates.settings import Admit, Arms
from recalltune.errors import ParameterError, checked, nearest
from recalltune.pipeline.config import RankingConfig
from recalltune.pipeline.stage import Stage

__all__ = [
    "UNNAMED",
    "addresses",
    "effective",
    "get",
    "is_read",
    "resolve",
    "set_many",
    "value_text",
]

UNNAMED = {"weights": 1.0, "floors": 0}
"""What a layer or arm has that a mapping does not name."""


def addresses(config: RankingConfig) -> dict[str, Any]:
    """Return every address of ``config`` with its present value.

    Mappings such as floors appear under their own address and under one address a layer or arm.
    """
    found: dict[str, Any] = {}
    for root, model in [
        ("admit", config.admit),
        *((f"arms.{arm}", getattr(config.arms, arm)) for arm in config.arms.names),
        *((stage.name, stage) for stage in config.stages),
    ]:
        for field_name in type(model).model_fields:
            if field_name in ("kind", "name"):
                continue
            value = getattr(model, field_name)
            found[f"{root}.{field_name}"] = value
            if isinstance(value, Mapping):
                for key in _keys(config, field_name):
                    unnamed = UNNAMED.get(field_name)
                    found[f"{root}.{field_name}.{key}"] = value.get(key, unnamed)
    return found


def _keys(config: RankingConfig, field_name: str) -> tuple[str, ...]:
    if field_name in ("floors", "caps", "layer_days"):
        return config.layers
    return config.arms.names if field_name in ("weights", "calibration") else ()


def resolve(config: RankingConfig, address: str) -> str:
    """Return the full address; a bare field is accepted where exactly one stage has it."""
    known = addresses(config)
    if address in known:
        return address
    # `weights.dense` and `half_life_days` may leave the stage out when that is unambiguous.
    matches = [full for full in known if full.endswith(f".{address}")]
    if len(matches) == 1:
        return matches[0]
    if matches:
        message = f"parameter {address!r} is ambiguous; write one of {', '.join(matches)}"
        raise ParameterError(message)
    message = f"parameter {address!r} is unknown; {nearest(address, known)}"
    raise ParameterError(message)


def get(config: RankingConfig, address: str) -> Any:
    """Return the value at an address."""
    return addresses(config)[resolve(config, address)]


def value_text(value: Any) -> str:
    """Return a parameter value as people read it.

    Examples
    --------
    >>> value_text(30.0), value_text("weibull"), value_text(None)
    ('30', 'weibull', 'not set')
    """
    if value is None:
        return "not set"
    return f"{value:g}" if isinstance(value, float) else str(value)


def is_read(config: RankingConfig, address: str) -> bool:
    """Whether a parameter at a full address has an effect, as the parameters beside it stand."""
    root, field_name, *_ = address.split(".")
    return field_name not in _part(config, root).unread()


def effective(config: RankingConfig, address: str) -> Any:
    """Return the parameter at a full address; None where it has no effect on the ranking."""
    root, *path = address.split(".")
    node: Any = _part(config, root).canonical()
    for step in path:
        node = node.get(step) if isinstance(node, Mapping) else None
    return node


def _part(config: RankingConfig, root: str) -> Admit | Arms | Stage:
    if root == "admit":
        return config.admit
    return config.arms if root == "arms" else config.stage(root)


def set_many(config: RankingConfig, changes: Mapping[str, Any]) -> RankingConfig:
    """Return a checked copy with the values at some addresses replaced, all at once.

    Raises
    ------
    ParameterError
        If an address is unknown or ambiguous, or the result breaks a range.
    """
    tree = config.model_dump(mode="json")
    for address, value in changes.items():
        root, *path = resolve(config, address).split(".")
        if root in ("admit", "arms"):
            node = tree[root]
        else:
            node = next(stage for stage in tree["stages"] if stage["name"] == root)
        *inner, last = path
        for step in inner:
            node = node[step]
        if value is None and inner and inner[-1] in ("floors", "caps", "layer_days"):
            node.pop(last, None)
        else:
            node[last] = value.item() if hasattr(value, "item") else value
    return checked(RankingConfig, tree)
