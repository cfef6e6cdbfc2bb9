"""Race of settings: their mistakes on held-out samples, fold by fold."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from itertools import groupby

import numpy as np
from sklearn.base import clone

from ..learning.coordinates import as_components
from ..learning.problem import frobenius_problem, solve_frobenius
from ..learning.samples import Samples
from ..learning.units import VOTES, measure_units
from ..neighbors.rules import majority
from ..runtime.progress import advance, working
from ..search.exact import nearest
from .paired import effective_size

#: Relative gap at which the solves of a race end: below it the errors hardly change.
RACE_TOL = 3e-2
#: A setting that is behind the best by this many standard errors leaves the race, when at least so
#: many samples were tested: the standard error of fewer says little.
BEHIND, TESTED = 1.5, 100
#: Number of neighbours whose vote is reported.
REPORTED = 3
#: Weights of rows that differ by no more than this, relatively, are equal.
ROUNDING = 1e-9


class Race:
    """Held-out mistakes of settings, fold by fold; settings that are clearly behind leave.

    The score of a sample is the share of votes, those of 1, 3 and 5 neighbours, that misclassify
    it: the mean of several votes depends less on chance than one of them. `recipe` has the options
    that are not chosen, and `options` those of the solves. `weight` has the weight of each sample,
    None for one; `parts` the weights of the training and test samples of each fold, None for those.
    """

    def __init__(self, recipe, options, X, y, folds, weight=None, parts=None):
        self.recipe = replace(recipe, n_components="rank")
        tol = max(options.tol, RACE_TOL)
        self.options = replace(options, tol=tol, verbose=0, callback=None)
        self.X, self.y, self.folds = X, y, folds
        self.weight = weight
        self.parts = parts or [_part_weights(weight, fold) for fold in folds]
        self._mistakes = defaultdict(list)  # by setting: one array (n_votes, n_test) a fold
        self.maps = defaultdict(list)  # by setting: one map of samples a fold

    def run(self, settings):
        """Measure settings on all folds, or until they are clearly behind the best one."""
        alive = [each for each in settings if each not in self._mistakes]
        n_folds, plural = len(self.folds), "s" * (len(alive) != 1)
        with working(f"trying {len(alive)} setting{plural}", len(alive) * n_folds, "settings"):
            for number, (train, test) in enumerate(self.folds):
                by_family = groupby(sorted(alive, key=repr), key=lambda each: each.family)
                for _, family in by_family:
                    family = sorted(family, key=lambda each: (each.C, each.n_passes))
                    self._measure(family, train, test, self.parts[number][0])
                    advance(len(family), "settings")  # of this work, or of the one around it
                if number + 1 < n_folds:
                    before, alive = len(alive), self._in_the_race(alive, number + 1)
                    advance((before - len(alive)) * (n_folds - number - 1), "settings")

    @property
    def finished(self):
        """Settings that were measured on all folds."""
        return [each for each, m in self._mistakes.items() if len(m) == len(self.folds)]

    def best(self, among=None):
        """Return the finished setting with the lowest score; of equal ones the first."""
        return min(among or self.finished, key=self.score)

    def score(self, setting):
        """Return the mean score of a setting over all samples."""
        return float(_mean(*self._scores(setting)))

    def advantage(self, setting, other):
        """Return by how much a setting is better, and the standard error of that, paired."""
        (before, weight), (after, _) = self._scores(other), self._scores(setting)
        return _mean_and_error(before - after, weight)

    def mistakes(self, choose):
        """Return for each sample whether the reported vote errs, with a setting for each fold.

        `choose` is a function of the fold's number. Only the first division into folds counts.
        Also return the weights, None if all are one.
        """
        vote, masks, weights = VOTES.index(REPORTED), [], []
        for number, is_new in enumerate(self._first_tests()):
            masks.append(self._mistakes[choose(number)][number][vote, is_new])
            weights += [] if self.weight is None else [self.parts[number][1][is_new]]
        return np.concatenate(masks), np.concatenate(weights) if weights else None

    def _first_tests(self):
        """Yield for each fold which of its test samples were not tested in full before it."""
        total = np.ones(len(self.y)) if self.weight is None else self.weight
        tested = np.zeros(len(self.y))
        for (_, test), (_, weight) in zip(self.folds, self.parts, strict=True):
            weight = np.ones(len(test)) if weight is None else weight
            # rows of one sample may be in several folds
            yield tested[test] + weight <= total[test] * (1 + ROUNDING)
            tested[test] += weight

    def choice_without(self, number):
        """Return the best setting by the other folds of the first division.

        If that has one fold only, all other folds decide; a single fold decides by itself.
        """
        first, every = range(self.n_folds_of_one_division), range(len(self.folds))
        others = [i for i in first if i != number] or [i for i in every if i != number] or [number]
        return min(self.finished, key=lambda each: self._mean_of_folds(each, others))

    @property
    def n_settings(self):
        """Number of settings that were tried."""
        return len(self._mistakes)

    @property
    def n_folds_of_one_division(self):
        """Number of folds of the first division of the samples."""
        is_first = [is_new.all() for is_new in self._first_tests()]
        return len(is_first) if all(is_first) else is_first.index(False)

    def error(self, setting):
        """Return the error of the reported vote."""
        return float(_mean(*self.mistakes(lambda number: setting)))

    def error_of(self, rule, setting):
        """Return the held-out error of a classifier with the metric of a setting."""
        wrong = []
        for (train, test), mapping in zip(self.folds, self.maps[setting], strict=True):
            fitted = clone(rule).fit(mapping(self.X[train]), self.y[train])
            predicted = fitted.predict(mapping(self.X[test]))
            wrong.append(predicted != self.y[test])
        return float(_mean(np.concatenate(wrong), self._test_weight(range(len(wrong)))))

    def parameters(self, setting):
        """Return the parameters of `FrobMetric` of a setting."""
        options = asdict(setting)
        if not isinstance(self.recipe.prior, str | None) and not setting.is_euclidean:
            del options["prior"]
        return options

    def results(self):
        """Return parameters, scores and errors of all settings, by name."""
        settings = list(self._mistakes)
        n_folds = [len(self._mistakes[each]) for each in settings]
        vote = VOTES.index(REPORTED)
        wrong = [np.concatenate([m[vote] for m in self._mistakes[each]]) for each in settings]
        return {
            "params": [self.parameters(each) for each in settings],
            "score": np.array([self.score(each) for each in settings]),
            "error": np.array(
                [
                    _mean(mask, self._test_weight(range(n)))
                    for mask, n in zip(wrong, n_folds, strict=True)
                ]
            ),
            "n_folds": np.array(n_folds),
        }

    def _test_weight(self, numbers):
        """Return the weights of the test samples of some folds, None if all are one."""
        if self.weight is None:
            return None
        return np.concatenate([self.parts[number][1] for number in numbers])

    def _mean_of_folds(self, setting, numbers):
        scores = [self._mistakes[setting][number].mean(axis=0) for number in numbers]
        return _mean(np.concatenate(scores), self._test_weight(numbers))

    def _scores(self, setting, n_folds=None):
        """Return the score of each sample that was tested, its mean over tests, and its weight."""
        total, count = np.zeros((2, len(self.y)))
        n_folds = len(self._mistakes[setting]) if n_folds is None else n_folds
        tests = zip(self.folds[:n_folds], self.parts, self._mistakes[setting], strict=False)
        for (_, test), (_, weight), mistakes in tests:
            weight = 1 if weight is None else weight
            total[test] += weight * mistakes.mean(axis=0)
            count[test] += weight
        is_tested = count > 0
        weight = None if self.weight is None else self.weight[is_tested]
        return total[is_tested] / count[is_tested], weight

    def _in_the_race(self, settings, n_folds):
        """Return the settings that are not clearly behind the best one on the first folds."""
        rivals = [each for each, m in self._mistakes.items() if len(m) >= n_folds]
        best = min(rivals, key=lambda each: self._mean_of_folds(each, range(n_folds)))
        of_best, weight = self._scores(best, n_folds)
        if len(of_best) < min(TESTED, len(self.y)):
            return settings
        alive = []
        for each in settings:
            behind, error = _mean_and_error(self._scores(each, n_folds)[0] - of_best, weight)
            if each.is_euclidean or behind <= BEHIND * error:
                alive.append(each)
            else:
                self.maps.pop(each, None)
        return alive

    def _measure(self, family, train, test, weight):
        """Add the mistakes on one fold of settings that differ in C only."""
        n_neighbors = min(max(VOTES), len(train))
        for setting, mapping in self._learn(family, train, weight):
            queries, points = mapping(self.X[test]), mapping(self.X[train])
            number = nearest(queries, points, n_neighbors, n_jobs=self.options.n_jobs)
            labels = self.y[train][number]
            wrong = [majority(labels[:, :k]) != self.y[test] for k in VOTES]
            if not abs(points).max():  # a metric that is zero tells nothing
                wrong = np.ones_like(wrong)
            self._mistakes[setting].append(np.array(wrong))
            self.maps[setting].append(mapping)

    def _learn(self, family, train, weight):
        """Yield each setting with the map of samples that it learns, starting from the last one.

        Every pass of a fit gives the map of one setting.
        """
        samples = Samples(self.X[train], self.y[train], None, (self.X.shape[1], None), weight)
        if family[0].is_euclidean:
            units = measure_units(family[0].units, samples.X, samples.y, weight=weight)
            yield family[0], units.scaled
            family = family[1:]
        if not family:
            return
        recipe, point = replace(self.recipe, **self.parameters(family[0])), None
        coordinates, n_jobs = samples.coordinates(recipe), self.options.n_jobs
        first = samples.add_mined(None, recipe, coordinates, n_jobs=n_jobs)
        for C, settings in groupby(family, key=lambda each: each.C):
            by_passes, mined = {each.n_passes: each for each in settings}, first
            for n_passes in range(1, max(by_passes) + 1):
                if n_passes > 1 and point.rank:  # under a metric of zero there are no neighbours
                    mined = samples.add_mined(mined, recipe, coordinates, point, n_jobs)
                problem = frobenius_problem(coordinates, mined, replace(recipe, C=C))
                solution = solve_frobenius(problem, self.options, point)
                if solution.status == "interrupted":
                    raise KeyboardInterrupt
                point = solution.point
                if n_passes in by_passes:
                    factor = coordinates.to_features(point.factor())
                    yield (
                        by_passes[n_passes],
                        _Linear(as_components(factor, max(1, factor.shape[1]))),
                    )


def _part_weights(weight, fold):
    """Return the weights of the training and of the test samples of a fold."""
    return tuple(None if weight is None else weight[rows] for rows in fold)


def _mean(values, weight):
    return np.mean(values) if weight is None else np.average(values, weights=weight)


def _mean_and_error(values, weight):
    """Return the mean of some values, and its standard error."""
    if weight is None:
        return float(np.mean(values)), float(np.std(values) / np.sqrt(len(values)))
    mean = np.average(values, weights=weight)
    variance = np.average((values - mean) ** 2, weights=weight)
    return float(mean), float(np.sqrt(variance / effective_size(weight)))


@dataclass(frozen=True, eq=False)
class _Linear:
    """Map of samples by the rows of a matrix."""

    components: np.ndarray

    def __call__(self, X):
        return X @ self.components.T
