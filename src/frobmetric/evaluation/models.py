"""Models under test: the metric inside, its name, its proof, and copies that are fitted again."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from ..metric import FrobMetric
from ..metric.base import MapEstimator

#: Relative gap up to which an answer counts as proven, of a learner without a tolerance `tol`.
PROVEN = 1e-3
#: Longest name of a model in a table.
LONGEST_NAME = 20


def is_fitted(model: Any) -> bool:
    """Return whether a model was fitted."""
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def steps_of(model: Any) -> list[Any]:
    """Return the steps of a pipeline; of a search or a frozen model those of the model inside."""
    for name in ("best_estimator_", "estimator"):
        model = getattr(model, name, model)
    return [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]


def metric_of(model: Any) -> Any:
    """Return the last estimator of this library inside a model, None if there is none."""
    steps = steps_of(model)[::-1]
    return next((step for step in steps if isinstance(step, MapEstimator)), None)


def mapping_of(model: Any) -> Any:
    """Return a model without its classifier: what maps samples."""
    return model if hasattr(model, "transform") else model[:-1]


def name_of(model: Any) -> str:
    """Return the name of a model in a table, without its classifier."""
    steps, metric = steps_of(mapping_of(model)), metric_of(model)
    text = " + ".join(type(step).__name__ for step in steps)
    shortest = type(steps[-1] if metric is None else metric).__name__
    return text if len(text) <= LONGEST_NAME else shortest[:LONGEST_NAME]


def rule_of(model: Any) -> str:
    """Return the name of the rule by which a model classifies."""
    rule = type(model[-1]).__name__ if isinstance(model, Pipeline) else "its own rule"
    return f"with {rule}"[:LONGEST_NAME]


def is_classifier(model: Any) -> bool:
    """Return whether `predict` of a fitted model answers with class labels of samples."""
    tags = get_tags(model)
    is_kind = tags.estimator_type in (None, "classifier", "transformer")
    # a metric from a file has its choice of options, but not the samples that its rule needs
    is_chosen = isinstance(model, MapEstimator) and hasattr(model, "best_params_")
    is_whole = not is_chosen or hasattr(model, "classifier_")
    is_right = is_kind and is_whole and not tags.input_tags.three_d_array
    return is_right and hasattr(model, "predict")


def scales_features(model: Any) -> bool:
    """Return whether a learner chooses the units of its features itself."""
    return isinstance(model, FrobMetric)


def proof_of(model: Any) -> tuple[float | None, bool]:
    """Return the relative error of the certificate, and whether it is within the tolerance."""
    for step in steps_of(model)[::-1]:
        if hasattr(step, "certificate_"):
            certificate, tol = step.certificate_, getattr(step, "tol", None) or PROVEN
            return float(certificate.error), bool(certificate.is_within(tol))
    return None, False


# Copies that are fitted again


def copy_for_refits(model: Any, choose_again: bool) -> Any:
    """Return the model to fit again, None if labels are not what it learns from."""
    if get_tags(model).input_tags.three_d_array or isinstance(model, FrozenEstimator):
        return None
    if choose_again or not hasattr(model, "best_params_"):
        return clone(model)
    shared = FrobMetric().get_params(deep=False)
    own = {name: value for name, value in model.get_params(deep=False).items() if name in shared}
    return FrobMetric(**own | model.best_params_ | {"callback": None})


def copy_with_units(copy: Any, fitted: Any) -> Any:
    """Return a copy of a model that does not choose its units again."""
    copy = clone(copy)
    for step, done in zip(steps_of(copy), steps_of(fitted), strict=True):
        if step.get_params(deep=False).get("units") == "auto" and hasattr(done, "units_"):
            step.set_params(units=done.units_)
    return copy


def tested_model(model: Any, copy: Any, has_test: bool) -> tuple[Any, list[str]]:
    """Return the model to test, and notes on what the test means.

    `copy` is the model to fit again, None if it cannot be; `has_test` whether there are samples
    that had no part in the fit.
    """
    if has_test:
        return model, []
    if copy is None:
        note = (
            "The model was tested as it is. If it was learned from these samples, its errors are "
            "too small; give test samples that it has not seen."
        )
        return FrozenEstimator(model), [note]
    if type(copy) is not type(model):
        note = (
            "Each fold was fitted with the options that were chosen by all samples; "
            "choose_again=True (--choose-again) chooses them in each fold."
        )
        return copy, [note]
    return copy, []
