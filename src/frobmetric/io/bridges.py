"""Fitted state of an `EncoderBridge` as tensors and plain values, and the way back, checked."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from ..core import Certificate
from ..embeddings.bridge import EncoderBridge
from ..embeddings.bridge.choice import Bridge, BridgeReport, Setting
from ..embeddings.bridge.ridge import Cells
from ..embeddings.bridge.trust import OldIndex, TrustScore

#: Tensors of trust, which a bridge without calibration lacks.
TRUST = ("trust.X_fit", "trust.coefficients", "trust.bad_scores")
SCALES = ("new_scale_", "old_scale_")
SINGLE = ("n_features_in_", "status_", "n_iter_")


def bridge_contents(estimator: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the tensors of a fitted bridge, and everything else as plain values."""
    if type(estimator) is not EncoderBridge:
        raise TypeError(f"{type(estimator)} is not the EncoderBridge of frobmetric.embeddings")
    bridge, index = estimator.bridge_, estimator.index_
    tensors = {
        "mean": bridge.cells.mean,
        "centers": bridge.cells.centers,
        "coefficients": bridge.coefficients,
        "index": index.vectors,
    }
    fields = {name: getattr(estimator, name) for name in (*SCALES, *SINGLE)}
    fields |= {"cell_scale": bridge.cells.scale, "n_neighbors": index.n_neighbors}
    fields |= {"is_unit": index.is_unit, "setting": asdict(bridge.setting)}
    fields |= {"report": estimator.report_.to_fields()}
    if hasattr(estimator, "trust_"):
        trust = estimator.trust_
        values = (trust.X_fit, trust.coefficients, trust.bad_scores)
        tensors |= dict(zip(TRUST, values, strict=True))
        fields["n_calibration"] = trust.n_calibration
    return tensors, fields


def rebuild_bridge(
    estimator: Any, tensors: dict[str, np.ndarray], fields: dict[str, Any], certificate: Certificate
) -> None:
    """Set the fitted attributes of a bridge from the contents of a file."""
    _check(tensors, fields)
    cells = Cells(tensors["mean"], float(fields["cell_scale"]), tensors["centers"])
    setting = Setting(**fields["setting"])
    given = (certificate, setting, str(fields["status_"]), int(fields["n_iter_"]))
    index = OldIndex(tensors["index"], int(fields["n_neighbors"]), bool(fields["is_unit"]))
    estimator.bridge_ = Bridge(cells, tensors["coefficients"], *given)
    estimator.index_, estimator.certificate_ = index, certificate
    estimator.report_ = BridgeReport.from_fields(fields["report"])
    estimator.status_, estimator.n_iter_ = given[2:]
    estimator.n_features_in_ = int(fields["n_features_in_"])
    for name in SCALES:
        setattr(estimator, name, float(fields[name]))
    if "n_calibration" in fields:
        X_fit, coefficients, bad = (tensors[name] for name in TRUST)
        n_calibration = int(fields["n_calibration"])
        estimator.trust_ = TrustScore(index, X_fit, coefficients, bad, n_calibration)


def _check(tensors, fields):
    """Refuse tensors that do not fit each other."""
    for name, tensor in tensors.items():
        if tensor.dtype != np.float64 or not np.isfinite(tensor).all():
            raise ValueError(f"{name} must hold finite numbers in double precision")
    n_new, n_cells = int(fields["n_features_in_"]), len(tensors["centers"])
    n_old = tensors["index"].shape[1] if tensors["index"].ndim == 2 else -1
    expected = {
        "mean": (n_new,),
        "centers": (n_cells, n_new),
        "coefficients": ((n_cells + 1) * (n_new + 1), n_old),
        "index": (len(tensors["index"]), n_old),
    }
    if "n_calibration" in fields:
        expected["trust.X_fit"] = (len(tensors["trust.X_fit"]), n_new)
        expected["trust.coefficients"] = (7,)
        expected["trust.bad_scores"] = (len(tensors["trust.bad_scores"]),)
        if len(tensors["trust.bad_scores"]) > int(fields["n_calibration"]):
            raise ValueError("it has more bad calibration pairs than calibration pairs")
    for name, shape in expected.items():
        if tensors[name].shape != shape:
            raise ValueError(f"{name} has shape {tensors[name].shape}; expected {shape}")
    for name in (*SCALES, "cell_scale"):
        if not 0 < float(fields[name]) < np.inf:
            raise ValueError(f"{name} = {fields[name]} is not a positive number")
