"""The candidate table: one row per (query, memory), as of the query's time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recalltune.candidates.corpus import Corpus
from recalltune.candidates.world import DAY_US
from recalltune.errors import ContractError, ParameterError, nearest

__all__ = ["DEGRADED", "NO_DENSE_ARM", "QUERY_COLUMNS", "Candidates", "Stamp"]

NO_DENSE_ARM = "no dense arm"
DEGRADED = "missing: lexical only"

QUERY_COLUMNS: Mapping[str, Any] = {
    "query_id": pl.String,
    "text": pl.String,
    "asked_at": pl.Int64,
    "scope": pl.String,
    "profile": pl.String,
    "top_k": pl.Int64,
    "session": pl.String,
    "kind": pl.String,
    "lang": pl.String,
    "split": pl.String,
}


@dataclass(frozen=True)
class Stamp:
    """Digests that say which inputs made a table; runs with different stamps are not compared."""

    setup: str
    """Digest of the admit and arms models."""
    data: str
    """Digest of the store's content."""
    encoder: str
    """encoder_id; NO_DENSE_ARM where none was asked for, DEGRADED where none could run."""
    vectors: str = ""
    """Digest of the vectors used; empty without a dense arm."""

    def refusal(self, other: Stamp) -> str | None:
        """Say why runs with these two stamps must not be compared; None where they may be."""
        if self.data != other.data:
            return f"the data differ ({self.data}, {other.data})"
        used = {stamp.encoder for stamp in (self, other)} - {NO_DENSE_ARM}
        if DEGRADED in used:
            return "a run without its encoder is degraded to lexical only"
        if len(used) > 1:
            return f"the encoders differ ({', '.join(sorted(used))})"
        digests = {stamp.vectors for stamp in (self, other)} - {""}
        return "the vectors differ" if len(digests) > 1 else None


@dataclass(frozen=True, eq=False)
class Candidates:
    """What every stage reads: (Q, C) arrays whose columns stand in memory_id order.

    Column order is the tie rule, so no stage ever compares ids. A row with fewer than C
    candidates is padded on the right with span -1.
    """

    queries: pl.DataFrame
    """Q rows; columns of QUERY_COLUMNS."""
    spans: pl.DataFrame
    """The memory spans that `span` points into: memory_id, text, layer, scope, ..."""
    span: NDArray[np.int64]
    """shape (Q, C); row of `spans`, -1 = padding."""
    features: Mapping[str, NDArray[Any]]
    """name -> shape (Q, C). NaN = the value is absent (a rank an arm did not give, no age)."""
    codes: Mapping[str, tuple[str, ...]]
    """For coded features (layer, category, tier, scope): the texts behind the integers."""
    vectors: NDArray[np.float32] | None = None
    """shape (S, d), unit or zero rows; one per row of `spans`."""
    corpus: Corpus | None = None
    """What was searched; None for a table made by hand."""
    asked: NDArray[np.float32] | None = None
    """shape (Q, d), unit or zero rows: the queries as the dense arm saw them."""
    in_prompt: Sequence[NDArray[np.intp]] = ()
    """Q arrays: rows of `spans` that the prompt of each query holds already."""
    token_sets: Sequence[frozenset[str]] | None = None
    """One per row of `spans`; for token similarity."""
    uses: Sequence[NDArray[np.int64]] | None = None
    """One per row of `spans`: microseconds of every use of its memory, rising."""
    labels: pl.DataFrame = field(default_factory=pl.DataFrame)
    """query_id, memory_id, role, gain: the judgements, when the queries are eval cases."""
    expectations: Mapping[str, Any] = field(default_factory=dict)
    """query_id -> the case's other expectations, for the verdict."""
    stamp: Stamp = Stamp("none", "none", "none")
    corpus_notices: Mapping[str, int] = field(default_factory=dict)
    """What was withheld or missing in the memory, by name, whatever is asked."""
    query_notices: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    """What was clamped or missing for each query, by name; shape (Q,)."""
    _kept: dict[str, NDArray[Any]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        shape = self.span.shape
        if len(shape) != 2 or shape[0] != self.queries.height:
            message = f"span must be ({self.queries.height}, C), got {shape}"
            raise ContractError(message)
        for name, values in self.features.items():
            if values.shape != shape:
                message = f"feature {name!r} must be {shape} to match span, got {values.shape}"
                raise ContractError(message)

    @property
    def notices(self) -> dict[str, int]:
        """What was clamped, withheld or missing, by name, over the queries of this table."""
        counted = {name: int(counts.sum()) for name, counts in self.query_notices.items()}
        return counted | dict(self.corpus_notices)

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Shape (Q, C); False on padding."""
        return self.span >= 0

    def feature(self, name: str) -> NDArray[Any]:
        """Return one feature column, or say which exist."""
        if name not in self.features:
            message = f"candidates lack the feature {name!r}; {nearest(name, self.features)}"
            raise ContractError(message)
        return self.features[name]

    def optional(self, name: str, *, absent: float = np.nan) -> NDArray[np.float64]:
        """Return one feature column; every row gets ``absent`` where the table does not have it."""
        if name in self.features:
            return self.features[name].astype(np.float64, copy=False)
        return np.full(self.span.shape, absent)

    def kept(self, name: str, make: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """Return what ``make`` derives from this table, made at most once under that name."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]

    def keeps(self, name: str) -> bool:
        """Whether `kept` has made something under that name already."""
        return name in self._kept

    def use_ages(self, query: int) -> NDArray[np.float64]:
        """Return shape (C, U): days since birth and since each use before the query, NaN = none.

        Raises
        ------
        ContractError
            If the table was made without the history of use.
        """
        if self.uses is None:
            raise ContractError("candidates hold no history of use; candidates(...) reads it")
        asked = int(self.queries["asked_at"][query])
        born = self.feature("age_days")[query]
        used = [
            self.uses[row][: np.searchsorted(self.uses[row], asked)] if row >= 0 else np.array([])
            for row in self.span[query].tolist()
        ]
        ages = np.full((born.size, 1 + max((one.size for one in used), default=0)), np.nan)
        ages[:, 0] = born
        for column, times in enumerate(used):
            ages[column, 1 : 1 + times.size] = (asked - times) / DAY_US
        return ages

    def code(self, column: str, value: str) -> int:
        """Return the integer for ``value`` in a coded feature; -1 if it never occurs."""
        known = self.codes.get(column, ())
        return known.index(value) if value in known else -1

    def memory_id(self, query: int, column: int) -> str:
        """Return the id behind one cell."""
        return str(self.spans["memory_id"][int(self.span[query, column])])

    def seen_by(self, query: int) -> dict[str, dict[str, Any]]:
        """Return memory_id -> its span, as the candidates of one query stood when it was asked."""
        rows = self.span[query][self.valid[query]]
        return {span["memory_id"]: span for span in self.spans[rows.tolist()].to_dicts()}

    def position(self, query_id: str) -> int:
        """Return the row of one query."""
        known = self.queries["query_id"].to_list()
        if query_id not in known:
            message = f"query_id {query_id!r} is unknown; {nearest(query_id, known)}"
            raise ParameterError(message)
        return known.index(query_id)

    def take(self, rows: Sequence[int]) -> Candidates:
        """Return the same table for some of the queries, in the order given."""
        index = np.asarray(rows, dtype=np.int64)
        kept = self.queries[index.tolist()]
        labels = self.labels
        if labels.height:
            labels = labels.filter(pl.col("query_id").is_in(kept["query_id"].to_list()))
        return replace(
            self,
            queries=kept,
            span=self.span[index],
            features={name: values[index] for name, values in self.features.items()},
            asked=None if self.asked is None else self.asked[index],
            in_prompt=[self.in_prompt[row] for row in index] if self.in_prompt else (),
            query_notices={name: counts[index] for name, counts in self.query_notices.items()},
            labels=labels,
            _kept={},
        )
