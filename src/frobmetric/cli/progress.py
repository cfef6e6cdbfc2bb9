"""What one step of a fit, of a nearest matrix, of an SDP or of an unfolding tells people."""

from __future__ import annotations

from math import isfinite, sqrt
from time import perf_counter

from ..sdp.sdpa import sdpa_objectives


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


class NearestProgress:
    """A callback for nearest matrices; the dual is a bound on half the squared distance."""

    def __init__(self, show):
        self.show, self.count = show, 0

    def __call__(self, step):
        self.count += 1
        self.show(
            f"step {self.count}   distance at least {sqrt(2 * max(0.0, step.dual)):.6g}   "
            f"{step.seconds:.1f} s"
        )


class SDPProgress:
    """A callback for `solve_sdp` that hands a line to `show`, not more often than people can read.

    The objective is <F0, X> of the SDPA format.
    """

    #: Seconds between two lines.
    PAUSE = 0.3

    def __init__(self, show):
        self.show, self.began, self.last = show, perf_counter(), -self.PAUSE

    def __call__(self, step):
        seconds = perf_counter() - self.began
        if seconds - self.last < self.PAUSE:
            return
        self.last = seconds
        errors = {"eta_p": step.eta_p, "eta_d": step.eta_d, "eta_g": step.eta_g}
        known = (f"{name} {error:.1e}" for name, error in errors.items() if isfinite(error))
        # short enough for 80 columns
        _, value = sdpa_objectives(step)
        self.show(f"{step.phase}  {seconds:.1f} s  {' '.join(known)}  value {value:.6g}")


class UnfoldingProgress(Progress):
    """The same for `MaximumVarianceUnfolding`: what is reached, and what the most is."""

    def __call__(self, step):
        self.count += 1
        bound = f"   at most {step.dual:.6g}" if isfinite(step.dual) else ""
        self.show(
            f"step {self.count}   value {step.primal:.6g}{bound}   rank {step.rank}   "
            f"{perf_counter() - self.began:.1f} s"
        )
