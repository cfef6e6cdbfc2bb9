"""Adapters of embeddings in files: their report, and checks of what belongs together."""

from __future__ import annotations

from dataclasses import asdict
from operator import index
from typing import Any

import numpy as np

from ..checks.parameters import check_parameters
from ..embeddings import AdapterReport, Cleaning, EmbeddingAdapter

#: Fitted attributes that an adapter in a file must have.
REQUIRED = (
    *("components_", "query_components_", "n_features_in_", "strength_", "changed_"),
    *("status_", "n_iter_", "report_", "kept_share_", "truncation_bound_"),
)


def report_of(adapter: EmbeddingAdapter) -> dict[str, Any]:
    """Return the report of an adapter and the count of its examples, as plain values."""
    cleaning = adapter.cleaning_
    values = adapter.report_.to_fields()
    return {"report": values, "cleaning": None if cleaning is None else asdict(cleaning)}


def set_report(adapter: EmbeddingAdapter, values: dict[str, Any]) -> None:
    """Set the attributes whose `report_of` gave these values."""
    adapter.report_ = AdapterReport.from_fields(values["report"])
    cleaning = values["cleaning"]
    if cleaning is not None:
        counts = {name: index(n) for name, n in cleaning.items() if name != "of"}
        cleaning = Cleaning(str(cleaning["of"]), **counts)
    adapter.cleaning_ = cleaning
    if not hasattr(adapter, "weights_"):
        adapter.weights_ = None


def check_adapter(adapter: EmbeddingAdapter) -> None:
    """Raise ValueError unless the fitted attributes of an adapter match each other."""
    check_parameters(adapter, adapter._rules)
    for name in REQUIRED:
        if not hasattr(adapter, name):
            raise ValueError(f"it lacks {name}")
    shape = adapter.components_.shape
    for name in ("components_", "query_components_"):
        matrix = getattr(adapter, name)
        if matrix.ndim != 2 or matrix.shape != (shape[0], adapter.n_features_in_):
            expected = f"(n_components, {adapter.n_features_in_}), equal for both sides"
            raise ValueError(f"{name} has shape {matrix.shape}; expected {expected}")
        if matrix.dtype not in (np.float32, np.float64) or not np.isfinite(matrix).all():
            raise ValueError(f"{name} must hold finite numbers in single or double precision")
    if adapter.n_components is not None and len(adapter.components_) != adapter.n_components:
        raise ValueError(f"it has {shape[0]} components, and n_components={adapter.n_components}")
    if adapter.strength_ != adapter.report_.strength or adapter.strength_ < 0:
        raise ValueError(
            f"strength_ = {adapter.strength_:g} is not that of its report, "
            f"{adapter.report_.strength:g}"
        )
    if adapter.changed_ != (adapter.strength_ > 0):
        raise ValueError(f"changed_ = {adapter.changed_} with strength_ = {adapter.strength_:g}")
    names = getattr(adapter, "feature_names_in_", None)
    if names is not None and len(names) != adapter.n_features_in_:
        raise ValueError(f"it has {len(names)} feature names for {adapter.n_features_in_} features")
    if not 0 <= adapter.kept_share_ <= 1 or not 0 <= adapter.truncation_bound_ < np.inf:
        raise ValueError("kept_share_ or truncation_bound_ is not possible")
