"""Compiled loops: how a kernel is declared, and whether numba is here to compile it.

Numba (extra ``fast``) is speed and nothing else: a kernel has a NumPy twin with the same bits, or
asks NumPy wherever its own bits could decide (`rank/feedback.py`). It is imported when the first
kernel is wanted, never by importing the package.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TypeVar

__all__ = ["compiled_kernels", "kernel"]

Loop = TypeVar("Loop", bound=Callable[..., object])


def compiled_kernels() -> bool:
    """Whether kernels can be compiled here."""
    return find_spec("numba") is not None


def kernel(loop: Loop) -> Loop:
    """Compile a loop; what was compiled is kept on disk where that can be written.

    Never ``fastmath``: sums keep their order and no product is fused, so bits equal NumPy's.
    """
    import numba

    try:
        compiled = numba.njit(loop, cache=True, nogil=True, error_model="numpy", fastmath=False)
    except RuntimeError:  # no folder to keep it in
        compiled = numba.njit(loop, nogil=True, error_model="numpy", fastmath=False)
    return compiled  # type: ignore[no-any-return]
