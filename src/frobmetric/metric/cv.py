"""FrobMetricCV: FrobMetric whose options are chosen by errors on held-out samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from ..checks.arguments import check_count
from ..checks.parameters import FOLDS, NONE, NUMBERS, Rule, check_parameters, choice, integer
from ..checks.samples import check_cv
from ..checks.text import shown
from ..core.points import Index, Vector
from ..core.solution import Certificate
from ..evaluation.choice import SelectionReport, report_of, warn_of_choice
from ..evaluation.division import stratified_folds
from ..evaluation.race import Race
from ..evaluation.selection import N_STAGES, Choice, Options, Setting, choose
from ..learning.journal import journal_of
from ..learning.learn import learn
from ..learning.parameters import MOST_PASSES
from ..learning.problem import PROBLEM_RULES
from ..learning.prove import check_class_names
from ..model.fitted import Fitted
from ..model.recipe import Recipe
from ..model.units import UNITS
from ..neighbors.classification import NearestClass, NearestVote, share_right
from ..runtime.checkpoint import SECONDS
from ..runtime.environment import limit_threads
from ..runtime.progress import stage
from .frob import FrobMetric, samples_of
from .path import check_grid

#: Values of C to begin with; larger ones follow while they are better.
CS = (1e2, 1e3)
#: Number of samples by which options are chosen, if the samples are in shards.
MOST_SAMPLES = 10_000
#: Priors, numbers of neighbours and of passes to choose from, the first ones first.
PRIORS = (None, "identity", "shrunk", "within")
NEIGHBORS = (3, 6)
PASSES = (2, 1)
#: Rules of classification to choose from, by the names that the report gives them.
CLASSIFIERS = {
    "a vote of 3 neighbours": NearestVote(3),
    "a vote of 9 neighbours, weighted by distance": NearestVote(9, weights="distance"),
    "the nearest center of 3 neighbours of each class": NearestClass(3),
    "the nearest center of 8 neighbours of each class": NearestClass(8),
    "the mean distance of 3 neighbours of each class": NearestClass(3, rule="distances"),
    "the mean distance of 8 neighbours of each class": NearestClass(8, rule="distances"),
}
AUTO = choice(["auto"])


class FrobMetricCV(ClassifierMixin, FrobMetric):
    """FrobMetric that chooses its options, and that tells whether learning helps.

    Units of the features, prior, C, numbers of neighbours and passes, and the rule of
    classification are chosen by nearest-neighbour errors on held-out samples. The Euclidean metric,
    of raw and of scaled features, takes part: if nothing learned is better, it is kept, and
    `report_` says so. Settings share the search for neighbours, follow warm-started paths over C,
    and leave the race when they are clearly behind the best. The choice is then fitted to all data.

    Each option can be fixed by giving its value in place of "auto".

    Parameters
    ----------
    units : {"auto", "raw", "deviation", "within"}, default="auto"
        Units of the features, as in `FrobMetric`.
    prior : str, ndarray or None, default="auto"
        Metric to stay close to, as in `FrobMetric`; "auto" chooses of None, "identity",
        "shrunk" and "within".
    Cs : sequence of float, default=None
        Values of C to choose from; None is 100, 1000, and larger ones while they are better.
    n_neighbors : int or "auto", default="auto"
        Number of nearest samples of the same class that each sample is compared with; "auto"
        chooses of 3 and 6.
    n_impostors : int, default=None
        The same number for samples of other classes, by default as many.
    n_passes : int or "auto", default="auto"
        Number of searches for neighbours, as in `FrobMetric`; "auto" chooses of 1 and 2.
    rule : classifier or "auto", default="auto"
        Rule of classification of `predict`, such as `NearestClass()`.
    cv : int, splitter or iterable, default=3
        Folds as in scikit-learn; an int divides every class evenly, and fewer than 1000 samples
        several times. Every training part needs two classes.
    max_samples : int, default=750
        Largest number of samples that settings learn from in each fold of an integer `cv`; twice as
        many are tested. They are spread evenly over the classes.
    n_components : int or "rank", default=None
        Number of leading directions of the metric to keep, by default all; "rank" keeps those that
        are not zero.
    loss : {"hinge", "smoothed_hinge", "squared_hinge"}, default="hinge"
        Loss of a triplet as a function of its margin.
    pull : float, default=0
        Weight of the distances of near pairs themselves.
    tol : float, default=1e-3
        Relative duality gap at which the solves of the final fit end.
    max_iter : int, default=1000
        Largest number of steps of a solve, each with at most one eigen-decomposition.
    solver : str, default="auto"
        Method that solves the problem. Its name is one of `frobmetric.solvers.FROBENIUS_SOLVERS`.
    keep_dual : bool, default=False
        Keep dual variables and triplets in the model, so that `certify` can prove the result again.
        They are `dual_coef_` and `triplets_`.
    n_jobs : int, default=None
        Limit on threads, by default that of the numerical libraries.
    verbose : int, default=0
        Number of steps of the final fit between two lines of progress; 0 writes none.
    callback : callable, default=None
        Function called with each step of the final fit; a true result ends it.

    Attributes
    ----------
    report_ : SelectionReport
        What was chosen, the held-out errors before and after with a paired interval, and whether
        the metric helps, in words.
    best_params_ : dict
        Chosen units, prior, C, n_neighbors and n_passes. An unchanged Euclidean metric is the prior
        "identity" with a C next to zero.
    C_ : float
        Chosen value of C.
    cv_results_ : dict
        One entry a setting: `params`, `score` (the mean error of votes of 1, 3 and 5 neighbours),
        `error` (of 3 neighbours) and `n_folds`, fewer than all if the setting left the race.
    classifier_ : classifier
        Chosen rule of classification, fitted to the mapped training samples; not in saved models.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    components_, certificate_, status_, history_, rank_, n_iter_, n_triplets_, scale_, units_
        As in `FrobMetric`, and so are the other attributes.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from frobmetric import FrobMetricCV
    >>> X, y = make_classification(400, 12, n_informative=3, n_redundant=0, random_state=2)
    >>> metric = FrobMetricCV().fit(X[::2], y[::2])
    >>> metric.report_.verdict
    'helped'
    >>> bool(metric.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    _needs: ClassVar[dict[str, type]] = FrobMetric._needs | {"choice": Choice}
    _rules: ClassVar[dict[str, Rule]] = {
        **{name: rule for name, rule in PROBLEM_RULES.items() if name != "C"},
        "units": choice(["auto", *UNITS]),
        "prior": PROBLEM_RULES["prior"] | AUTO,
        "Cs": NUMBERS | NONE,
        "n_neighbors": integer(1) | AUTO,
        "n_impostors": integer(1) | NONE,
        "n_passes": integer(1, MOST_PASSES) | AUTO,
        "rule": AUTO | Rule("a classifier", lambda value: hasattr(value, "predict")),
        "cv": FOLDS,
        "max_samples": integer(2),
    }

    def __init__(
        self,
        *,
        units: str = "auto",
        prior: Any = "auto",
        Cs: ArrayLike | None = None,
        n_neighbors: int | str = "auto",
        n_impostors: int | None = None,
        n_passes: int | str = "auto",
        rule: Any = "auto",
        cv: Any = 3,
        max_samples: int = 750,
        n_components: int | str | None = None,
        loss: str = "hinge",
        pull: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = 1000,
        solver: str = "auto",
        keep_dual: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.units, self.prior, self.Cs = units, prior, Cs
        self.n_neighbors, self.n_passes = n_neighbors, n_passes  # type: ignore[assignment]
        self.n_impostors = n_impostors
        self.rule, self.cv, self.max_samples = rule, cv, max_samples
        self.n_components, self.loss, self.pull = n_components, loss, pull
        self.tol, self.max_iter, self.solver = tol, max_iter, solver
        self.keep_dual, self.n_jobs = keep_dual, n_jobs
        self.verbose, self.callback = verbose, callback

    C_ = Fitted[float]("choice.C")
    best_params_ = Fitted[dict[str, Any]](lambda learned: dict(learned.choice.params))
    classes_ = Fitted[Vector]("choice.classes")
    report_ = Fitted[SelectionReport]("choice.report")
    cv_results_ = Fitted[dict[str, Any]]("choice.results")
    classifier_ = Fitted[Any]("choice.classifier")

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        checkpoint: Any = None,
        checkpoint_seconds: float = SECONDS,
    ) -> Self:
        """Choose the options on held-out parts of X, then learn the metric from all of it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels. If they are numbers, -1 is no label where there are two other classes.
            Rows without label have no part in the choice, and count for scale, units and prior.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, as in `FrobMetric.fit`; held-out errors are weighted too. Equal
            rows of one class have one vote in `predict`, whatever their weight.
        checkpoint, checkpoint_seconds : optional
            File in which the last fit, to all samples, keeps its state, as in `FrobMetric.fit`. A
            fit that goes on makes the same choice again before.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        grid, run = self._grid(), self._options()
        recipe, reader = self._recipe(), self._reader()
        samples = samples_of(recipe, run, reader, X, y, sample_weight)
        few = samples.excerpt(MOST_SAMPLES).labelled()
        grid = replace(grid, priors=tuple(filter(samples.takes_prior, grid.priors)))
        classes, labels = np.unique(few.y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"y has one class ({shown(classes[0])}); triplets need samples of at least two "
                "classes"
            )
        with limit_threads(self.n_jobs):
            race = Race(recipe, run, few.X, labels, *self._folds(few, labels))
            setting = choose(race, grid)
            rule, rule_error = self._choose_rule(race, setting)
        params, report = race.parameters(setting), report_of(race, setting, rule, rule_error)
        recipe = replace(recipe, **params)
        journal = journal_of(recipe, run, samples, checkpoint, checkpoint_seconds)
        with stage(N_STAGES, N_STAGES):
            learned = learn(recipe, samples, run, journal, is_chosen=True)
        choice = Choice(params, setting.C, classes, report, race.results())
        if samples.is_in_memory:
            mapped = np.asarray(few.X @ learned.components.T)
            classifier = clone(self._classifiers()[rule]).fit(mapped, few.y)
            choice = replace(choice, classifier=classifier)
        sizes = np.bincount(labels, few.weight)
        chance = 1 - sizes.max() / sizes.sum()
        warn_of_choice(report, chance, None if self.Cs is None else grid.Cs)
        return self._accept(replace(learned, choice=choice))

    def score(self, X: Any, y: ArrayLike, sample_weight: Any = None) -> float:
        """Return the share of samples whose class is predicted, each with its weight."""
        return share_right(self.predict(X), y, sample_weight)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each sample by the chosen metric and rule.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        if self.map_.choice.classifier is None:
            raise ValueError(
                "there are no training samples to take neighbours from: a saved model, an updated "
                "one and one of samples in shards have none; fit a classifier such as "
                "NearestClass() to transform(X), y"
            )
        mapped = np.asarray(self._check_samples(X) @ self.components_.T)
        return self.map_.choice.classifier.predict(mapped)

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, classes: Any = None, **given: Any
    ) -> Self:
        """Update the metric with new samples, by the chosen options: see `FrobMetric.partial_fit`.

        `predict` is lost by an update, as it has no training samples in the new metric. `classes`,
        which scikit-learn gives to classifiers, is not needed.
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y, sample_weight, **given)
        check_parameters(self, self._rules)
        before = self.map_
        recipe, run = replace(self._recipe(), **before.choice.params), self._options()
        reader = self._reader(of_fit=False)
        triplets, weight = given.pop("triplets", None), given.pop("triplet_weight", None)
        samples = samples_of(recipe, run, reader, X, y, sample_weight, triplets, weight)
        path, seconds = given.pop("checkpoint", None), given.pop("checkpoint_seconds", SECONDS)
        if given:
            raise TypeError(f"partial_fit() got an unexpected keyword argument {min(given)!r}")
        journal = journal_of(recipe, run, samples, path, seconds, before)
        learned = learn(recipe, samples, run, journal, before)
        choice = replace(before.choice, classifier=None)
        return self._accept(replace(learned, choice=choice))

    def certify(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, exact: bool = False
    ) -> Certificate:
        """Prove again how good the metric is: see `FrobMetric.certify`."""
        check_is_fitted(self)
        if y is not None:
            check_class_names(self.classes_, y)
        return super().certify(X, y, sample_weight, exact=exact)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        """Return what a notebook shows: scikit-learn's diagram, and the report of a fit."""
        bundle = super()._repr_mimebundle_(**options)
        if "text/html" in bundle and self.__sklearn_is_fitted__():
            bundle["text/html"] += self.report_._repr_html_()
        return bundle

    def _recipe(self) -> Recipe:
        """Return the recipe of the parameters that are not chosen."""
        recipe, auto = super()._recipe(), Recipe.of(FrobMetric().get_params(deep=False))
        names = (field.name for field in fields(Recipe))
        chosen = {name: getattr(auto, name) for name in names if _is_auto(getattr(recipe, name))}
        return replace(recipe, **chosen, neighbors=auto.neighbors)

    def _grid(self) -> Options:
        """Return the values to choose from."""
        Cs = CS if self.Cs is None else tuple(check_grid(self.Cs).tolist())
        is_matrix = not isinstance(self.prior, str | None)
        units = "raw" if is_matrix and self.units == "auto" else self.units
        return Options(
            units=UNITS if units == "auto" else (units,),
            priors=PRIORS if _is_auto(self.prior) else (None if is_matrix else self.prior,),
            Cs=Cs,
            n_neighbors=NEIGHBORS if _is_auto(self.n_neighbors) else (self.n_neighbors,),
            n_passes=PASSES if _is_auto(self.n_passes) else (self.n_passes,),
            is_open=self.Cs is None,
        )

    def _folds(self, samples: Any, y: Index) -> tuple[Any, Vector | None, Any]:
        """Return folds, each of whose training parts must give triplets, and the weights in them.

        Folds that the user gives are of rows; those of a number are of distinct samples, or of rows
        if these are too few.
        """
        merge, parts = samples.merge, None
        n_rows = len(y if merge is None else merge.y)
        is_number = isinstance(self.cv, (int, np.integer))
        if is_number:
            check_count(self.cv, name="cv", at_least=2)
            n_folds = min(int(self.cv), n_rows)
            folds = stratified_folds(y, n_folds, self.max_samples)
            is_short = n_folds > len(y) or _part_without_triplets(folds, y) is not None
            if merge is not None and is_short:
                labels = np.unique(merge.y, return_inverse=True)[1]
                folds, parts = merge.folds(stratified_folds(labels, n_folds, self.max_samples))
        elif merge is None:
            folds = check_cv(self.cv, samples.X, y)
        else:
            folds, parts = merge.folds(check_cv(self.cv, merge.X, merge.y))
        sizes = _part_without_triplets(folds, y)
        if sizes is not None:
            raise ValueError(
                f"a training part of {sizes.sum()} samples has {len(sizes)} classes, the "
                f"largest of {sizes.max()}; the choice of options needs two classes, one of "
                "them with two samples, in each part: give more samples, or use FrobMetric"
            )
        if is_number and self.cv > n_rows:
            raise ValueError(
                f"cv={int(self.cv)!s:.80}, but there are {n_rows} samples to divide; choose a "
                "smaller cv"
            )
        return folds, samples.weight, parts

    def _classifiers(self) -> dict[str, Any]:
        if _is_auto(self.rule):
            return CLASSIFIERS
        return {str(self.rule): self.rule}

    def _choose_rule(self, race: Race, setting: Setting) -> tuple[str, float]:
        """Return name and held-out error of the rule of classification with the fewest errors."""
        errors = {name: race.error_of(rule, setting) for name, rule in self._classifiers().items()}
        return min(errors.items(), key=lambda item: item[1])


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _part_without_triplets(folds: Any, y: NDArray[Any]) -> Index | None:
    """Return the sizes of the classes of the first training part that gives no triplet, or None."""
    for train, _ in folds:
        sizes = np.unique(y[train], return_counts=True)[1]
        if len(sizes) < 2 or sizes.max() < 2:
            return sizes
    return None
