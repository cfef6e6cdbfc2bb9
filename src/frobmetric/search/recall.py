"""Recall of an approximate search, measured on rows drawn at random."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.stats import binomtest

from ..core.points import Index


@dataclass(frozen=True)
class MiningRecall:
    """Share of the true neighbours that an approximate search found, on rows drawn at random.

    `near` and `far` are the shares for neighbours of the same class and of other classes, each
    with a confidence interval of 95 % (Wilson's, with the rows as observations).
    """

    near: float
    near_interval: tuple[float, float]
    far: float
    far_interval: tuple[float, float]
    n_rows: int

    def __post_init__(self) -> None:
        for share, (low, high) in ((self.near, self.near_interval), (self.far, self.far_interval)):
            if not 0 <= low <= high <= 1 or not 0 <= share <= 1 or self.n_rows < 1:
                raise ValueError(
                    f"a recall of {share} in [{low}, {high}] on {self.n_rows} rows is not possible"
                )

    @property
    def missed_impostors(self) -> float:
        """Upper confidence bound on the share of true neighbours of other classes not found."""
        return 1 - self.far_interval[0]

    def __str__(self) -> str:
        kinds = ("near", self.near, self.near_interval), ("far", self.far, self.far_interval)
        shares = (
            f"{name} {share:.3f} [{low:.3f}, {high:.3f}]" for name, share, (low, high) in kinds
        )
        return (
            f"recall of mining {', '.join(shares)}; with confidence 95 % at most "
            f"{self.missed_impostors:.1%} of the impostors were missed"
        )


def share_found(found: Index, exact: Index) -> tuple[float, tuple[float, float]]:
    """Return the share of the true neighbours that were found, with a Wilson interval."""
    is_true = exact >= 0
    is_found = (exact[:, :, None] == found[:, None, :]).any(axis=2) & is_true
    share = is_found.sum() / max(1, is_true.sum())
    n_rows = len(exact)
    interval = binomtest(round(share * n_rows), n_rows).proportion_ci(0.95, method="wilson")
    return float(share), (float(interval.low), float(interval.high))
