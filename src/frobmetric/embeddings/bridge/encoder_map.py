"""Value of a fitted bridge: the map, the index that it searches, its report and its trust."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.points import Array, Vector
from ...model.linear_map import Features
from ...model.value import Value
from .choice import Bridge, BridgeReport
from .trust import N_DESCRIBING, OldIndex, TrustScore


@dataclass(frozen=True, eq=False)
class EncoderMap(Value):
    """Map from the vectors of a new encoder to those of an old one, and the index of the old one.

    Attributes
    ----------
    features : Features
        Vectors of the new encoder; with `unit_length`, vectors of both are scaled to length one.
    new_scale, old_scale : float
        Numbers that vectors of the new and of the old encoder are divided by; 1 at unit length.
    bridge : Bridge
        Map of scaled vectors, with its certificate.
    index : OldIndex
        Scaled vectors of the old encoder, in which recall is measured.
    report : BridgeReport
    trust : TrustScore or None
        Score and calibration; None without calibration pairs.
    """

    features: Features
    new_scale: float
    old_scale: float
    bridge: Bridge
    index: OldIndex
    report: BridgeReport
    trust: TrustScore | None = None

    def __post_init__(self) -> None:
        cells = self.bridge.cells
        scales = {"new_scale": self.new_scale, "old_scale": self.old_scale}
        for name, scale in (scales | {"cell_scale": cells.scale}).items():
            if not 0 < scale < np.inf:
                raise ValueError(f"{name} = {scale} is not a positive number")
        if self.index.is_unit != self.features.unit_length:
            raise ValueError("only one of map and index has vectors of unit length")
        n_new, n_old = self.features.number, self.index.vectors.shape[-1]
        n_lifted = (len(cells.centers) + 1) * (n_new + 1)
        _require("mean", cells.mean, (n_new,))
        _require("centers", cells.centers, (None, n_new))
        _require("coefficients", self.bridge.coefficients, (n_lifted, n_old))
        _require("index", self.index.vectors, (None, n_old))
        if self.trust is not None:
            _require("trust.X_fit", self.trust.X_fit, (None, n_new))
            _require("trust.coefficients", self.trust.coefficients, (N_DESCRIBING,))
            _require("trust.bad_scores", self.trust.bad_scores, (None,))

    def transform(self, X: Array) -> Array:
        """Map vectors of the new encoder, in their precision."""
        mapped = self.features.vectors(self.bridge(self._scaled(X))) * self.old_scale
        return mapped.astype(X.dtype, copy=False)

    def confidence(self, X: Array) -> Vector:
        """Return 1 - p with the conformal p-value of "this query is bad"; see `TrustScore`."""
        if self.trust is None:
            raise ValueError(
                "no pairs were kept to calibrate trust with; fit with calibration=0.2, for example"
            )
        scaled = self._scaled(X)
        score = self.trust.score(self.index, scaled, self.bridge(scaled))
        return 1 - self.trust.p_value(score)

    def recall(self, X: Array, old: Array) -> Vector:
        """Return the share of the neighbours of old vectors that the mapped ones find."""
        n_old = self.index.vectors.shape[1]
        if old.shape[1] != n_old:
            raise ValueError(
                f"y has {old.shape[1]} features; the old vectors of the fit have {n_old}, so "
                "expected as many"
            )
        questions = self.index.questions(self.features.vectors(old) / self.old_scale)
        return questions.recall(self.bridge(self._scaled(X)))

    def _scaled(self, X: Array) -> Array:
        return self.features.vectors(X.astype(np.float64)) / self.new_scale


def _require(name: str, array: Array, shape: tuple[int | None, ...]) -> None:
    """Refuse an array of another shape, where None is any length, or without finite numbers."""
    if array.dtype != np.float64 or not np.isfinite(array).all():
        raise ValueError(f"{name} must hold finite numbers in double precision")
    lengths = zip(array.shape, shape, strict=False)
    if array.ndim != len(shape) or any(n not in (None, has) for has, n in lengths):
        raise ValueError(f"{name} has shape {array.shape}; expected {shape}")
