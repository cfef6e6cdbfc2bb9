"""Choice of the options of a fit: a race of settings on held-out samples."""

from __future__ import annotations

import warnings
from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from itertools import groupby

import numpy as np
from sklearn.base import clone

from .._neighbors import nearest
from ..neighbors.classification import majority
from ._problem import solve_frobenius
from .base import Samples
from .coordinates import as_components, coordinates_of
from .units import UNITS, VOTES, Units, spread_rows

#: C of a metric that stays at its prior: it moves by rounding only.
NO_LEARNING = 1e-9
#: Relative gap at which the solves of a race end: below it the errors hardly change.
RACE_TOL = 3e-2
#: A setting that is behind the best by this many standard errors leaves the race, when at least so
#: many samples were tested: the standard error of fewer says little.
BEHIND, TESTED = 1.5, 100
#: Standard errors by which a setting has to be better than a simpler one to be chosen.
AHEAD = 0.5
#: C and number of passes of the default of `FrobMetric`, which is good on most data.
USUAL = (1e3, 2)
#: Number of held-out samples from which on one division into folds is enough; most divisions.
ENOUGH, MOST_DIVISIONS = 1000, 3
#: Number of neighbours whose vote is reported.
REPORTED = 3
#: Largest C to which a grid is extended while the errors fall at its end.
LARGEST_C = 1e6


@dataclass(frozen=True)
class Setting:
    """Options of one fit. A prior matrix is not part of it: `prior` is then None."""

    prior: str | None
    units: str
    C: float
    n_neighbors: int
    n_passes: int

    @property
    def is_euclidean(self):
        """Whether nothing is learned but the units of the features."""
        return self.prior == "identity" and self.C == NO_LEARNING

    @property
    def family(self):
        """All options but C and passes: settings of a family share neighbours and starts."""
        return replace(self, C=0.0, n_passes=0)

    def __str__(self):
        if self.is_euclidean:
            names = {"raw": "raw features", "deviation": "scaled features"}
            return f"Euclid on {names.get(self.units, 'features scaled within classes')}"
        words = [f"prior {self.prior}", f"C = {self.C:g}", f"{self.n_neighbors} neighbours"]
        if self.prior in (None, "identity"):
            words.insert(0, f"units {self.units}")
        return ", ".join([*words, f"{self.n_passes} pass" + "es" * (self.n_passes > 1)])


def stratified_folds(y, n_folds, max_samples):
    """Return pairs of training rows and test rows; few samples are divided several times.

    Of many samples, at most `max_samples` are learned from and twice as many tested in each fold.
    """
    rng, folds = np.random.default_rng(0), []
    for _ in range(int(np.clip(np.ceil(ENOUGH / len(y)), 1, MOST_DIVISIONS))):
        order = rng.permutation(len(y))
        order = order[np.argsort(y[order], kind="stable")]
        number = np.empty(len(y), dtype=np.intp)
        number[order] = np.arange(len(y)) % n_folds
        for i in range(n_folds):
            train, test = np.flatnonzero(number != i), np.flatnonzero(number == i)
            train = train[spread_rows(y[train], max_samples)]
            folds.append((train, test[spread_rows(y[test], 2 * max_samples)]))
    return folds


class Race:
    """Held-out mistakes of settings, fold by fold; settings that are clearly behind leave.

    The score of a sample is the share of votes, those of 1, 3 and 5 neighbours, that misclassify
    it: the mean of several votes depends less on chance than one of them. `metric` is a
    `FrobMetric` with the parameters that are not chosen.
    """

    def __init__(self, metric, X, y, folds):
        self.metric, self.X, self.y, self.folds = metric, X, y, folds
        self._mistakes = defaultdict(list)  # by setting: one array (n_votes, n_test) a fold
        self.maps = defaultdict(list)  # by setting: one map of samples a fold

    def run(self, settings):
        """Measure settings on all folds, or until they are clearly behind the best one."""
        alive = [each for each in settings if each not in self._mistakes]
        for number, (train, test) in enumerate(self.folds):
            by_family = groupby(sorted(alive, key=repr), key=lambda each: each.family)
            for _, family in by_family:
                family = sorted(family, key=lambda each: (each.C, each.n_passes))
                self._measure(family, train, test)
            if number + 1 < len(self.folds):
                alive = self._in_the_race(alive, number + 1)

    @property
    def finished(self):
        """Settings that were measured on all folds."""
        return [each for each, m in self._mistakes.items() if len(m) == len(self.folds)]

    def best(self, among=None):
        """Return the finished setting with the lowest score; of equal ones the first."""
        return min(among or self.finished, key=self.score)

    def score(self, setting):
        """Return the mean score of a setting over all samples."""
        return float(np.mean(self._scores(setting)))

    def advantage(self, setting, other):
        """Return by how much a setting is better, and the standard error of that, paired."""
        difference = self._scores(other) - self._scores(setting)
        return float(np.mean(difference)), float(np.std(difference) / np.sqrt(len(difference)))

    def mistakes(self, choose):
        """Return for each sample whether the reported vote errs, with a setting for each fold.

        `choose` is a function of the fold's number. Only the first division into folds counts.
        """
        vote, masks = VOTES.index(REPORTED), np.zeros(len(self.y), dtype=bool)
        is_seen = np.zeros(len(self.y), dtype=bool)
        for number, (_, test) in enumerate(self.folds):
            new = ~is_seen[test]
            masks[test[new]] = self._mistakes[choose(number)][number][vote, new]
            is_seen[test] = True
        return masks[is_seen]

    def choice_without(self, number):
        """Return the best setting by the other folds of the first division.

        If that has one fold only, all other folds decide; a single fold decides by itself.
        """
        first, every = range(self.n_folds_of_one_division), range(len(self.folds))
        others = [i for i in first if i != number] or [i for i in every if i != number] or [number]
        return min(self.finished, key=lambda each: self._mean(each, others))

    @property
    def n_settings(self):
        """Number of settings that were tried."""
        return len(self._mistakes)

    @property
    def n_folds_of_one_division(self):
        """Number of folds of the first division of the samples."""
        is_seen = np.zeros(len(self.y), dtype=bool)
        for number, (_, test) in enumerate(self.folds):
            if is_seen[test].any():
                return number
            is_seen[test] = True
        return len(self.folds)

    def error(self, setting):
        """Return the error of the reported vote."""
        return float(np.mean(self.mistakes(lambda number: setting)))

    def error_of(self, rule, setting):
        """Return the held-out error of a classifier with the metric of a setting."""
        wrong = []
        for (train, test), mapping in zip(self.folds, self.maps[setting], strict=True):
            fitted = clone(rule).fit(mapping(self.X[train]), self.y[train])
            predicted = fitted.predict(mapping(self.X[test]))
            wrong.append(predicted != self.y[test])
        return float(np.mean(np.concatenate(wrong)))

    def parameters(self, setting):
        """Return the parameters of `FrobMetric` of a setting."""
        options = asdict(setting)
        if not isinstance(self.metric.prior, str | None) and not setting.is_euclidean:
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
            "error": np.array([mask.mean() for mask in wrong]),
            "n_folds": np.array(n_folds),
        }

    def _mean(self, setting, numbers):
        return np.mean(np.concatenate([self._mistakes[setting][i].mean(axis=0) for i in numbers]))

    def _scores(self, setting, n_folds=None):
        """Return the score of each sample that was tested, its mean over divisions."""
        total, count = np.zeros((2, len(self.y)))
        n_folds = len(self._mistakes[setting]) if n_folds is None else n_folds
        for (_, test), mistakes in zip(self.folds[:n_folds], self._mistakes[setting], strict=False):
            total[test] += mistakes.mean(axis=0)
            count[test] += 1
        return total[count > 0] / count[count > 0]

    def _in_the_race(self, settings, n_folds):
        """Return the settings that are not clearly behind the best one on the first folds."""
        rivals = [each for each, m in self._mistakes.items() if len(m) >= n_folds]
        best = min(rivals, key=lambda each: self._mean(each, range(n_folds)))
        if len(self._scores(best, n_folds)) < min(TESTED, len(self.y)):
            return settings
        alive = []
        for each in settings:
            difference = self._scores(each, n_folds) - self._scores(best, n_folds)
            error = np.std(difference) / np.sqrt(len(difference))
            if each.is_euclidean or difference.mean() <= BEHIND * error:
                alive.append(each)
            else:
                self.maps.pop(each, None)
        return alive

    def _measure(self, family, train, test):
        """Add the mistakes on one fold of settings that differ in C only."""
        n_neighbors = min(max(VOTES), len(train))
        for setting, mapping in self._learn(family, train):
            queries, points = mapping(self.X[test]), mapping(self.X[train])
            number = nearest(queries, points, n_neighbors, n_jobs=self.metric.n_jobs)
            labels = self.y[train][number]
            wrong = [majority(labels[:, :k]) != self.y[test] for k in VOTES]
            if not abs(points).max():  # a metric that is zero tells nothing
                wrong = np.ones_like(wrong)
            self._mistakes[setting].append(np.array(wrong))
            self.maps[setting].append(mapping)

    def _learn(self, family, train):
        """Yield each setting with the map of samples that it learns, starting from the last one.

        Every pass of a fit gives the map of one setting.
        """
        samples = Samples(self.X[train], self.y[train], None, {})
        if family[0].is_euclidean:
            yield family[0], Units.measure(family[0].units, samples.X, samples.y).scaled
            family = family[1:]
        if not family:
            return
        metric, point = self._estimator(family[0]), None
        coordinates = coordinates_of(metric, samples.X, samples.y)
        first = samples.add_mined(None, metric, coordinates)
        for C, settings in groupby(family, key=lambda each: each.C):
            by_passes, mined = {each.n_passes: each for each in settings}, first
            for n_passes in range(1, max(by_passes) + 1):
                if n_passes > 1 and point.rank:  # under a metric of zero there are no neighbours
                    mined = samples.add_mined(mined, metric, coordinates, point)
                problem = metric._problem(coordinates, mined, C)
                solution = solve_frobenius(metric, problem, point)
                if solution.status == "interrupted":
                    raise KeyboardInterrupt
                point = solution.point
                if n_passes in by_passes:
                    factor = coordinates.to_features(point.factor())
                    yield (
                        by_passes[n_passes],
                        _Linear(as_components(factor, max(1, factor.shape[1]))),
                    )

    def _estimator(self, setting):
        options = self.parameters(setting) | {"tol": max(self.metric.tol, RACE_TOL)}
        options |= {"n_components": "rank", "verbose": 0, "callback": None}
        return clone(self.metric).set_params(**options)


@dataclass(frozen=True, eq=False)
class _Linear:
    """Map of samples by the rows of a matrix."""

    components: np.ndarray

    def __call__(self, X):
        return X @ self.components.T


@dataclass(frozen=True)
class Options:
    """Values to choose from."""

    units: tuple
    priors: tuple
    Cs: tuple
    n_neighbors: tuple
    n_passes: tuple
    is_open: bool  # whether C may leave the grid at its upper end

    def with_neighbors(self, n_neighbors):
        """Return all values of C and of the number of passes, with this number of neighbours."""
        return [(C, n_neighbors, n_passes) for C in self.Cs for n_passes in self.n_passes]


def choose(race, options):
    """Return the best setting that a race finds.

    The Euclidean metric in all units comes first. Then metrics are learned from the best of these
    starts and from the other priors. At last variants of the best one are tried. The smallest of
    many errors is partly luck: so the default of `FrobMetric` is chosen only if it is better than
    the Euclidean metric by `AHEAD` standard errors, and another setting only if it is better than
    the default by as much.
    """
    k = options.n_neighbors[0]
    euclidean = [Setting("identity", units, NO_LEARNING, k, 1) for units in UNITS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of the race, not of the answer
        race.run(euclidean)
        units = _promising(race, [each for each in euclidean if each.units in options.units])
        starts = [(prior, u) for prior in options.priors for u in _units_of(prior, units)]
        race.run(Setting(*start, *rest) for start in starts for rest in options.with_neighbors(k))
        _try_variants(race, options)
    # Euclid in other units than those that were asked for only runs along, to be compared with
    allowed = [
        each for each in race.finished if each.units in options.units or each not in euclidean
    ]
    chosen = race.best([each for each in euclidean if each in allowed])
    usual = [each for each in allowed if (each.C, each.n_passes) == USUAL]
    for better in ([race.best(usual)] if usual else []) + [race.best(allowed)]:
        gain, error = race.advantage(better, chosen)
        chosen = better if gain > AHEAD * error else chosen
    return chosen


def _promising(race, settings):
    """Return the best units, and the second best ones if they are not clearly behind."""
    best, *others = sorted(settings, key=race.score)
    behind = (race.advantage(best, each) for each in others[:1])
    return [best.units, *(o.units for o, (d, e) in zip(others, behind, strict=False) if d <= e)]


def _units_of(prior, units):
    """Return the units to try with a prior: most priors have units of their own."""
    return {None: units, "identity": units[:1]}.get(prior, ["raw"])


def _try_variants(race, options):
    """Try larger C if the best one is clearly better than those below it, and more neighbours."""
    best = race.best()
    while options.is_open and max(options.Cs) <= best.C < LARGEST_C:
        below = replace(best, C=best.C / 10)
        if below in race.finished and race.advantage(best, below)[0] <= _error(race, best, below):
            break
        race.run([replace(best, C=10 * best.C)])
        if race.best() == best:
            break
        best = race.best()
    if not best.is_euclidean:
        more = options.n_neighbors[1:]
        race.run([replace(best, n_neighbors=k) for k in more])


def _error(race, setting, other):
    return race.advantage(setting, other)[1]
