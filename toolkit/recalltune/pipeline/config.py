"""RankingConfig: the whole of a ranking, as data. TOML in, TOML out, one fingerprint."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Self

import tomli_w
from pydantic import Field, field_validator, model_validator

from recalltune.candidates.settings import Admit, Arms
from recalltune.errors import ParameterError, Settings, SourceError, checked, nearest
from recalltune.pipeline.stages import FUSIONS, AnyStage

__all__ = [
    "LAYERS",
    "RankingConfig",
    "digest",
    "load_config",
    "parse_config",
    "preset",
    "preset_names",
    "setup_of",
]

LAYERS = ("project", "whiteboard", "user", "reflection", "log")
_LARGEST_FILE = 1_000_000


def digest(value: Any, *, digits: int = 8) -> str:
    """Return the first hex digits of the sha256 of the canonical JSON of ``value``."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


def setup_of(admit: Admit, arms: Arms) -> str:
    """Return the digest of admit and arms: what a candidate table depends on."""
    return digest([admit.canonical(), arms.canonical()])


class RankingConfig(Settings):
    """Admit, arms, then the stages in the order they run."""

    name: str = Field(default="unnamed", max_length=80)
    """Shown in tables and charts; no part of the fingerprint."""
    layers: tuple[str, ...] = LAYERS
    """The layers in their declared order; rounding and displays follow it."""
    admit: Admit = Admit()
    arms: Arms
    stages: tuple[AnyStage, ...] = Field(min_length=1)
    """From fusion to selection. A kind may occur more than once under different names."""
    profiles: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """profile -> {parameter address: value}; what a case's profile changes."""

    @field_validator("stages", mode="before")
    @classmethod
    def _named(cls, stages: Any) -> Any:
        if not isinstance(stages, list | tuple):
            return stages
        return tuple(_with_default_name(stage) for stage in stages)

    @field_validator("layers", mode="before")
    @classmethod
    def _as_tuple(cls, layers: Any) -> Any:
        return tuple(layers) if isinstance(layers, list) else layers

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.arms.names:
            message = "arms: none is on; at least one of dense, lexical, substring is needed"
            raise ValueError(message)
        names = [stage.name for stage in self.stages]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            message = f"stage names must be unique, got {twice} more than once; set name"
            raise ValueError(message)
        reserved = sorted({"admit", "arms"} & set(names))
        if reserved:
            message = f"stage names {reserved} are reserved"
            raise ValueError(message)
        first = next((stage for stage in self.stages if not stage.gates), self.stages[-1])
        if not first.fuses:
            known = ", ".join(FUSIONS)
            message = f"stages must start with a fusion ({known}), got {first.kind!r}"
            raise ValueError(message)
        for stage in self.stages:
            for layer in stage.layers_named():
                if layer not in self.layers:
                    tail = nearest(layer, self.layers)
                    message = f"{stage.name} names the layer {layer!r}; {tail}"
                    raise ValueError(message)
            for arm in getattr(stage, "weights", {}):
                if arm not in self.arms.names:
                    message = f"{stage.name}.weights names the arm {arm!r}; on: {self.arms.names}"
                    raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _profiles_apply(self) -> Self:
        # address reads configs, so it is named here and not above.
        from recalltune.pipeline.address import resolve, set_many

        bare = self.model_copy(update={"profiles": {}})
        for name, overrides in self.profiles.items():
            try:
                for address in overrides:
                    if resolve(bare, address).partition(".")[0] in ("admit", "arms"):
                        message = f"{address} changes the candidates, which a profile may not"
                        raise ParameterError(message)
                set_many(bare, overrides)
            except ParameterError as error:
                message = f"profile {name!r}: {error}"
                raise ValueError(message) from None
        return self

    def stage(self, name: str) -> Any:
        """Return the stage of that name."""
        for stage in self.stages:
            if stage.name == name:
                return stage
        known = [stage.name for stage in self.stages]
        message = f"no stage is named {name!r}; {nearest(name, known)}"
        raise ParameterError(message)

    def canonical(self) -> dict[str, Any]:
        """Return what decides the ranking, and nothing else."""
        return {
            "layers": list(self.layers),
            "admit": self.admit.canonical(),
            "arms": self.arms.canonical(),
            "stages": [stage.canonical() for stage in self.stages],
            "profiles": {
                name: dict(sorted(p.items())) for name, p in sorted(self.profiles.items())
            },
        }

    @property
    def fingerprint(self) -> str:
        """Return the first 8 hex digits that identify the ranking."""
        return digest(self.canonical())

    @property
    def setup(self) -> str:
        """Return the digest of admit and arms: what a candidate table depends on."""
        return setup_of(self.admit, self.arms)

    def to_toml(self) -> str:
        """Return the TOML text that `load_config` reads back to an equal config."""
        return tomli_w.dumps(self.model_dump(mode="json", exclude_none=True))


def _with_default_name(stage: Any) -> Any:
    if isinstance(stage, Mapping):
        return {**stage, "name": stage.get("name") or stage.get("kind", "")}
    if getattr(stage, "name", None) == "":
        return stage.with_(name=stage.kind)
    return stage


def load_config(source: str | Path) -> RankingConfig:
    """Read a preset by name, or a TOML file by path.

    Raises
    ------
    ParameterError
        If a parameter is unknown or out of range; the message names the file.
    SourceError
        If the file cannot be read as TOML; the message starts with file:line.
    """
    path = Path(source)
    if path.suffix != ".toml" and str(source) in preset_names():
        return preset(str(source))
    if not path.is_file():
        message = f"config {str(source)!r} is neither a file nor a preset; " + nearest(
            str(source), preset_names()
        )
        raise ParameterError(message)
    if path.stat().st_size > _LARGEST_FILE:
        message = (
            f"{path}: a config file may hold {_LARGEST_FILE:,} bytes, got {path.stat().st_size:,}"
        )
        raise SourceError(message)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        message = f"{path}:1: not UTF-8 at byte {error.start}"
        raise SourceError(message) from None
    return parse_config(text, str(path))


def preset_names() -> list[str]:
    """Return the names of the presets that ship with the package."""
    folder = resources.files("recalltune.pipeline") / "presets"
    return sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".toml"))


def preset(name: str) -> RankingConfig:
    """Return the preset of that name.

    Examples
    --------
    >>> preset("textbook").arms.names
    ('dense', 'lexical')
    """
    if name not in preset_names():
        message = f"no preset is named {name!r}; {nearest(name, preset_names())}"
        raise ParameterError(message)
    file = resources.files("recalltune.pipeline") / "presets" / f"{name}.toml"
    return parse_config(file.read_text(encoding="utf-8"), f"{name}.toml")


def parse_config(text: str, where: str) -> RankingConfig:
    """Read a config from TOML text; ``where`` names it in errors."""
    try:
        values = tomllib.loads(text)
    except RecursionError:
        message = f"{where}:1: not TOML: nested too deeply"
        raise SourceError(message) from None
    except tomllib.TOMLDecodeError as error:
        line = str(error).rpartition("at line ")[2].partition(",")[0]
        message = f"{where}:{line if line.isdigit() else '1'}: not TOML: {error}"
        raise SourceError(message) from None
    return checked(RankingConfig, values, where=where)
