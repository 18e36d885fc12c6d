"""Accessibility: how well a memory can still be reached, raised by use.

In: where it started and how often it was used since. Out: a value in [0, 1]; what lies below
`LEAST_ACCESSIBLE` is not found. The HEL-847 plan states the step, the limit and no rule of fading:
what a memory has faded to is the caller's to say.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from recalltune.rank._check import FloatArray, fitting, in_range

__all__ = ["LEAST_ACCESSIBLE", "STEP", "accessibility"]

LEAST_ACCESSIBLE = 0.05
"""Below it a memory is not found."""
STEP = 0.25
"""What one use adds."""


@fitting
def accessibility(uses: ArrayLike, start: ArrayLike = 1.0, *, step: float = STEP) -> FloatArray:
    """Accessibility after some uses: ``min(1, start + step * uses)``.

    Parameters
    ----------
    uses
        shape (…), uses since ``start``, >= 0.
    start
        in [0, 1], broadcasts. Where it stood before; 1 = has not faded.
    step
        in [0, 1].

    Returns
    -------
    NDArray[np.float64]
        shape (…), in [0, 1].

    Raises
    ------
    ParameterError
        If a number leaves its range.

    References
    ----------
    HEL-847 plan, ``ProdEpisodic.context_block`` (the step) and ``search`` (the limit).

    Examples
    --------
    >>> accessibility([0, 1, 4], 0.05).tolist()
    [0.05, 0.3, 1.0]
    """
    counted = in_range("uses", uses, low=0.0, high_open=True)
    stood = in_range("start", start, low=0.0, high=1.0)
    raised: FloatArray = (stood + in_range("step", step, low=0.0, high=1.0) * counted).clip(max=1.0)
    return raised
