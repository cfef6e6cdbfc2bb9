"""Hints: what to try next, given the options of a model and how it did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .paired import PairedErrors

#: A feature with this many times the usual standard deviation dominates every distance.
UNEVEN_SPREAD = 10.0
#: Largest number of hints at options.
MOST_HINTS = 4
#: Number of samples per feature from which on a covariance within classes is well known.
MANY_SAMPLES = 5
#: Number of samples of a class from which on more neighbours are worth a try.
LARGE_CLASS = 30
#: Number of standard errors by which the best of several methods must be better than chance.
CLEAR = 3.0
#: Baselines besides Euclid, as calls of scikit-learn.
BASELINES = {"lda": "LinearDiscriminantAnalysis()", "nca": "NeighborhoodComponentsAnalysis()"}
#: Largest number of test samples that a hint asks for.
MOST_SAMPLES = 1_000_000


@dataclass(frozen=True)
class Hint:
    """One suggestion.

    Attributes
    ----------
    reason : str
        What it does, or why it may help.
    python : str
        The option or call in Python; empty if the reason says everything.
    command : str
        The option on the command line; empty if there is none.
    """

    reason: str
    python: str = ""
    command: str = ""

    def sentence(self, *, command_line: bool = False) -> str:
        """Return the hint as one line of text, in the words of Python or of the command line."""
        option = self.python
        if command_line:
            option = self.command or (f"in Python, {self.python}" if self.python else "")
        return f"{option}: {self.reason}" if option else self.reason

    def to_dict(self) -> dict[str, str]:
        """Return all texts for JSON."""
        return {"reason": self.reason, "python": self.python, "command": self.command}


@dataclass(frozen=True, eq=False)
class Situation:
    """All that hints depend on: the model and its options, the data, and the comparison.

    `metric` is the last estimator of this library in the model, None if there is none; `steps` are
    the other steps. `X` and `y` are the training samples.
    """

    metric: Any
    steps: tuple[Any, ...]
    X: Any
    y: Any
    comparison: Any

    @property
    def options(self) -> dict[str, Any]:
        """Parameters of the metric."""
        return {} if self.metric is None else self.metric.get_params(deep=False)

    @property
    def is_chosen(self) -> bool:
        """Whether the metric chooses its options by validation."""
        return "cv" in self.options

    @property
    def is_linear(self) -> bool:
        """Whether the metric is one of the features of X, and not of a kernel."""
        return self.options.get("kernel", "linear") == "linear"

    @property
    def has_units(self) -> bool:
        """Whether units of features matter to the model."""
        scalers = (type(step).__module__.startswith("sklearn.preprocessing") for step in self.steps)
        if any(scalers) or self.options.get("kernel") == "precomputed":
            return False
        prior = self.options.get("prior")
        is_free = isinstance(prior, str) and prior != "identity"
        # without the parameter, the attribute tells that the metric chooses units by itself
        default = "auto" if hasattr(self.metric, "units_") else "raw"
        return not is_free and self.options.get("units", default) == "raw"

    @property
    def spread_ratio(self) -> float:
        """Largest standard deviation of a feature over the median one."""
        X = self.X
        if sp.issparse(X):
            mean = np.asarray(X.mean(axis=0)).ravel()
            variance = np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2
        else:
            variance = X.var(axis=0, dtype=np.float64)
        spread = np.sqrt(variance[variance > 0]) if (variance > 0).any() else np.ones(1)
        return float(spread.max() / np.quantile(spread, 0.5, method="lower"))


def find_hints(situation: Situation) -> tuple[Hint, ...]:
    """Return the hints that apply, the most promising first."""
    comparison = situation.comparison
    if comparison.verdict == "nothing to gain":
        return ()
    if _labels_say_nothing(comparison):
        return (_about_labels(comparison),)
    hints = [hint for rule in RULES if (hint := rule(situation)) is not None]
    return (*hints[:MOST_HINTS], *_more_samples(comparison.errors))


def _labels_say_nothing(comparison: Any) -> bool:
    """Return whether even the best row is not clearly better than the most frequent class."""
    best, chance = min(row.error for row in comparison.measured), comparison.constant_error
    return chance - best <= CLEAR * np.sqrt(chance * (1 - chance) / comparison.n_test)


def _about_labels(comparison: Any) -> Hint:
    share = f"{100 * comparison.constant_error:.1f} %"
    reason = (
        "no method is clearly better than always answering the most frequent class, which has "
        f"{share} errors; "
    )
    if comparison.constant_error < 0.2:
        return Hint(reason + "with classes this uneven, error rates say little about a metric")
    return Hint(reason + "check that y belongs to the rows of X, and that X can tell the classes")


def _better_optimisation(s: Situation) -> Hint | None:
    if s.comparison.is_certified is False and "max_iter" in s.options:
        more = 10 * s.options["max_iter"]
        reason = "the optimisation ended before it was certified"
        return Hint(reason, f"max_iter={more}", f"--max-iter {more}")
    return None


def _scale(s: Situation) -> Hint | None:
    if not s.has_units or _helped(s):
        return None
    ratio = s.spread_ratio
    if ratio <= UNEVEN_SPREAD:
        return None
    reason = f"one feature has {ratio:.0f} times the median standard deviation"
    if "units" in s.options:
        return Hint(reason, 'units="auto"', "--units auto")
    name = type(s.metric).__name__ + "()" if s.metric is not None else "model"
    return Hint(reason, f"make_pipeline(StandardScaler(), {name})")


def _choose(s: Situation) -> Hint | None:
    if s.is_chosen or _helped(s) or not s.is_linear:
        return None
    reason = (
        "chooses units, prior, C and the other options by held-out errors, and keeps Euclid if "
        "nothing is better"
    )
    return Hint(reason, "FrobMetricCV()", "--cv 3")


def _prior(s: Situation) -> Hint | None:
    if "prior" not in s.options or s.is_chosen or not s.is_linear:
        return None
    prior = s.options["prior"]
    rows = [row.key for row in s.comparison.measured]
    if "lda" in rows and s.comparison.against("lda").verdict == "hurt" and prior != "discriminant":
        reason = "LDA makes fewer errors here, and this prior begins where LDA ends"
        return Hint(reason, 'prior="discriminant"', "--prior discriminant")
    if _helped(s):
        return None
    is_plain = prior is None or (isinstance(prior, str) and prior in ("identity", "diagonal"))
    many = len(s.y) >= MANY_SAMPLES * s.X.shape[1]
    if is_plain and many:
        reason = "weighs all directions by their noise within classes"
        return Hint(reason, 'prior="within"', "--prior within")
    if isinstance(prior, str) and prior == "within" and not many:
        reason = f"{len(s.y)} samples are few for a covariance of {s.X.shape[1]} features"
        return Hint(reason, 'prior="diagonal"', "--prior diagonal")
    return None


def _baseline(s: Situation) -> Hint | None:
    """Return the hint at a plain method with clearly fewer errors, if no option follows from it."""
    prior = _prior(s)
    if prior is not None and "LDA" in prior.reason:
        return None
    rows = [row for row in s.comparison.measured if row.key in BASELINES]
    rows = [row for row in rows if s.comparison.against(row.key).verdict == "hurt"]
    if not rows:
        return None
    best = min(rows, key=lambda row: row.error)
    error = s.comparison["model"].percent()
    reason = f"{best.label} has fewer errors here, {best.percent()} against {error}"
    return Hint(reason, BASELINES[best.key])


def _passes(s: Situation) -> Hint | None:
    if s.options.get("n_passes") != 1 or s.is_chosen or _helped(s):
        return None
    reason = "searches neighbours again under the learned metric"
    return Hint(reason, "n_passes=3", "--n-passes 3")


def _neighbors(s: Situation) -> Hint | None:
    if s.is_chosen or _helped(s) or s.options.get("n_neighbors", np.inf) >= 10:
        return None
    size = int(np.median(np.unique(s.y, return_counts=True)[1]))
    if size < LARGE_CLASS:
        return None
    reason = f"learns from more neighbours of each sample; classes have {size} (median)"
    return Hint(reason, "n_neighbors=10", "--n-neighbors 10")


def _rule(s: Situation) -> Hint | None:
    has_rule = s.is_chosen or "rule" in [row.key for row in s.comparison.rows]
    if _helped(s) or s.metric is None or has_rule:
        return None
    name = type(s.metric).__name__
    reason = "another rule of classification than a vote, with the same metric"
    return Hint(reason, f"make_pipeline({name}(), NearestClass())")


def _kernel(s: Situation) -> Hint | None:
    if _helped(s) or not s.is_chosen:
        return None
    reason = "a linear map may not be able to separate these classes"
    return Hint(reason, 'FrobMetric(kernel="rbf")', "--kernel rbf")


def _more_samples(errors: PairedErrors) -> tuple[Hint, ...]:
    """Return the hint at the number of test samples that would tell, if they are too few."""
    if errors.verdict != "unclear":
        return ()
    reason = "more samples would tell"
    if errors.n_needed <= MOST_SAMPLES:
        reason += f": about {_round(errors.n_needed)} tested, if the difference stays as it is"
    return (Hint(reason),)


def _helped(s: Situation) -> bool:
    return s.comparison.verdict == "helped"


def _round(number: float) -> str:
    """Return a number with two digits, as text."""
    return f"{float(f'{number:.1e}'):,.0f}"


#: Rules in the order of their promise.
RULES = (
    *(_better_optimisation, _baseline, _scale, _choose, _prior, _passes, _neighbors),
    *(_rule, _kernel),
)
