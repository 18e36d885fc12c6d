"""Any sentence-transformers model, from a checked folder, with its query and passage prompts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recalltune.encode.contract import (
    Kind,
    Lengths,
    has_words,
    identity,
    printable,
    unit_rows,
)
from recalltune.encode.folder import ModelFolder
from recalltune.errors import ContractError, ParameterError

__all__ = ["SentenceEncoder"]


class SentenceEncoder:
    """A sentence-transformers model on one CPU thread in float32."""

    def __init__(self, folder: ModelFolder) -> None:
        self._folder = folder

    @property
    def dim(self) -> int:
        """Width of the vectors; the model is loaded only where its files do not tell it."""
        return self._folder.dim or int(_load(self._folder.path).get_embedding_dimension())

    @property
    def encoder_id(self) -> str:
        """Identity with the prompts of both kinds."""
        query, passage = self.id_of("query"), self.id_of("passage")
        if query == passage:
            return query
        return self._identity({kind: self._told(kind) for kind in ("query", "passage")})

    def id_of(self, kind: Kind) -> str:
        """Identity of the vectors of one kind."""
        return self._identity(self._told(kind))

    def encode(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """Unit rows, shape (n, dim); see `recalltune.encode.Encoder`."""
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        spoken = [place for place, text in enumerate(texts) if has_words(text)]
        if spoken:
            model = _load(self._folder.path)
            encode = model.encode_query if kind == "query" else model.encode_document
            with _one_thread():
                found = encode(
                    [printable(texts[i]) for i in spoken],
                    # Given, not looked up by the library: the id names this very prompt.
                    prompt=self._folder.prompts[kind],
                    show_progress_bar=False,
                )
            if found.shape[1] != self.dim:
                msg = f"{self.encoder_id} must give {self.dim} values a text, got {found.shape[1]}"
                raise ContractError(msg)
            rows[spoken] = found
        return unit_rows(rows, texts, dim=self.dim, encoder_id=self.encoder_id)

    def lengths(self, texts: Sequence[str], kind: Kind) -> Lengths | None:
        """Whole and kept lengths in the model's tokens, special tokens and prompt included."""
        limit, tokenizer = self._folder.max_tokens, self._folder.tokenizer
        if limit is None or tokenizer is None:
            return None
        prompt = self._folder.prompts[kind]
        counted = _tokenizer(tokenizer).encode_batch_fast([prompt + printable(t) for t in texts])
        whole = np.fromiter(map(len, counted), dtype=np.int64, count=len(texts))
        return Lengths(whole=whole, kept=np.minimum(whole, limit))

    def _told(self, kind: Kind) -> str:
        prompt = self._folder.prompts[kind]
        return f"route={kind} {prompt}" if self._folder.routed else prompt

    def _identity(self, prompt: str | dict[Kind, str]) -> str:
        folder = self._folder
        return identity(folder.name, folder.revision, prompt=prompt, dim=self.dim)


@contextmanager
def _one_thread() -> Iterator[None]:
    """One thread and reproducible kernels while encoding; what was set before comes back."""
    import torch
    from threadpoolctl import threadpool_limits

    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    warn = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(strict, warn_only=warn)


@cache
def _load(folder: Path) -> Any:
    import torch
    from sentence_transformers import SentenceTransformer

    try:
        with _no_bar():
            return SentenceTransformer(
                str(folder),
                device="cpu",
                trust_remote_code=False,
                local_files_only=True,
                # float32 whatever the file holds: bf16 is other numbers on other processors.
                model_kwargs={"use_safetensors": True, "dtype": torch.float32},
            )
    except Exception as error:  # the loader raises whatever a broken file makes it raise
        told = " ".join(str(error).split())[:200]
        msg = f"{folder} must be a complete sentence-transformers model; loading failed: {told}"
        raise ParameterError(msg) from error


@contextmanager
def _no_bar() -> Iterator[None]:
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


@cache
def _tokenizer(path: Path) -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
