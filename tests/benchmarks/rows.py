"""What a workload reports: times side by side, their ratio, and the share of a limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.timing import Timed


@dataclass(frozen=True)
class Row:
    """Ours against one peer at the same work."""

    workload: str
    ours_ms: float
    peer: str
    peer_ms: float
    ratio: float
    """Times faster than the peer, in wall time; below 1 the peer is faster."""
    cpu_ratio: float
    """The same in processor time."""
    limit: str = ""
    """Share of a measured machine limit, in words."""

    def line(self) -> str:
        return (
            f"  {self.workload:<34}{_told(self.ours_ms):>11}  {self.peer:<30}"
            f"{_told(self.peer_ms):>11}{self.ratio:>9.2f}x{self.cpu_ratio:>9.2f}x  {self.limit}"
        ).rstrip()

    def record(self) -> dict[str, Any]:
        return asdict(self)


HEAD = (
    f"  {'workload':<34}{'ours':>11}  {'peer':<30}{'peer':>11}"
    f"{'wall':>10}{'cpu':>10}  share of a limit"
)


def against(
    workload: str,
    times: Mapping[str, Timed],
    *,
    ours: str = "ours",
    per: Mapping[str, float] | None = None,
    limit: str = "",
) -> list[Row]:
    """One row a peer. ``per`` divides a contestant's time by its number of units of work."""
    share = per or {}
    mine = times[ours].median / share.get(ours, 1)
    mine_cpu = times[ours].cpu_median / share.get(ours, 1)
    rows = []
    for peer, timed in times.items():
        if peer == ours:
            continue
        theirs, theirs_cpu = (
            timed.median / share.get(peer, 1),
            timed.cpu_median / share.get(peer, 1),
        )
        rows.append(
            Row(
                workload,
                ours_ms=1e3 * mine,
                peer=peer,
                peer_ms=1e3 * theirs,
                ratio=theirs / mine,
                cpu_ratio=theirs_cpu / max(mine_cpu, 1e-9),
                limit=limit,
            )
        )
    return rows


def _told(milliseconds: float) -> str:
    if milliseconds < 1:
        return f"{1e3 * milliseconds:,.1f} us"
    return f"{milliseconds:,.2f} ms" if milliseconds < 1e3 else f"{milliseconds / 1e3:,.2f} s"
