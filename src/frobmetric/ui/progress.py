"""What one step of a fit tells people."""

from __future__ import annotations

from time import perf_counter


class Progress:
    """A callback for `FrobMetric` that hands a line of text to `show` after each step.

    Steps and seconds count on through the passes and folds of a fit.
    """

    def __init__(self, show):
        self.show, self.count, self.began = show, 0, perf_counter()

    def __call__(self, step):
        self.count += 1
        self.show(
            f"step {self.count}   relative gap {step.relative_gap:.1e}   rank {step.rank}   "
            f"{perf_counter() - self.began:.1f} s"
        )
