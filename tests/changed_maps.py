"""Maps of estimators with other parts, as somebody forges them."""

from dataclasses import replace


def with_part(value, path, part):
    """Return a frozen value in which the part of a dotted name is another one."""
    first, _, rest = path.partition(".")
    return replace(value, **{first: with_part(getattr(value, first), rest, part) if rest else part})


def forge(estimator, path, part):
    """Give an estimator a map in which the part of a dotted name is another one."""
    estimator.map_ = with_part(estimator.map_, path, part)
    return estimator
