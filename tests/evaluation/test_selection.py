"""The race of settings: folds, scores, who leaves it, and what is chosen."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_wine

from frobmetric import FrobMetric, knn_error
from frobmetric.evaluation import race as race_module
from frobmetric.evaluation.division import stratified_folds
from frobmetric.evaluation.race import Race
from frobmetric.evaluation.selection import (
    AHEAD,
    NO_LEARNING,
    Options,
    Setting,
    _try_variants,
    choose,
)
from frobmetric.learning.options import RunOptions
from frobmetric.model.recipe import Recipe
from frobmetric.model.units import UNITS
from frobmetric.neighbors import NearestClass
from frobmetric.runtime.progress import advance, listening

X, Y = load_wine(return_X_y=True)
RAW, SCALED = (Setting("identity", units, NO_LEARNING, 3, 1) for units in ("raw", "deviation"))
LEARNED = Setting(None, "within", 100.0, 3, 1)


def race(folds=None, data=X, y=Y, **options):
    options = FrobMetric(**options).get_params()
    folds = folds or stratified_folds(y, 3, 2000)[:3]
    return Race(Recipe.of(options), RunOptions.of(options), data, y, folds)


@settings(max_examples=40, deadline=None)
@given(
    y=st.lists(st.integers(0, 3), min_size=6, max_size=500),
    n_folds=st.integers(2, 5),
    most=st.integers(20, 1000),
)
def test_folds_divide_the_samples_and_every_class(y, n_folds, most):
    y = np.array(y)
    folds = stratified_folds(y, n_folds, most)
    assert len(folds) % n_folds == 0
    for start in range(0, len(folds), n_folds):
        division = folds[start : start + n_folds]
        tested = np.concatenate([test for _, test in division])
        assert len(np.unique(tested)) == len(tested)
        if len(y) <= most:
            assert len(tested) == len(y)
        for train, test in division:
            assert not np.isin(train, test).any()
            assert len(train) <= most + 1
            assert len(test) <= 2 * most + 1
            if len(y) <= most:
                assert len(train) + len(test) == len(y)
                for label in np.unique(y):
                    n_class = np.sum(y == label)
                    assert abs(np.sum(y[test] == label) - n_class / n_folds) < 1


def test_few_samples_are_divided_several_times_and_always_alike():
    few, many = np.arange(60) % 3, np.arange(6000) % 3
    assert len(stratified_folds(few, 3, 2000)) > 3
    assert len(stratified_folds(many, 3, 2000)) == 3
    for a, b in zip(stratified_folds(few, 3, 2000), stratified_folds(few, 3, 2000), strict=True):
        np.testing.assert_array_equal(a[0], b[0])
        np.testing.assert_array_equal(a[1], b[1])


def test_scores_of_euclid_are_the_mean_errors_of_its_votes():
    run = race()
    run.run([RAW, SCALED])
    errors = dict.fromkeys((1, 3, 5), 0.0)
    for train, test in run.folds:
        weight = 1 / X[train].std(axis=0)
        for k in errors:
            error = knn_error(X[train] * weight, Y[train], X[test] * weight, Y[test], n_neighbors=k)
            errors[k] += error * len(test) / len(Y)
    assert run.score(SCALED) == pytest.approx(np.mean(list(errors.values())))
    assert run.error(SCALED) == pytest.approx(errors[3])
    assert run.best() == SCALED
    gain, error = run.advantage(SCALED, RAW)
    assert gain == pytest.approx(run.score(RAW) - run.score(SCALED))
    assert 0 < error < gain
    assert run.advantage(RAW, RAW) == (0.0, 0.0)


@pytest.mark.parametrize(
    "setting", [LEARNED, replace(LEARNED, prior="within", units="raw"), replace(LEARNED, C=1e4)]
)
def test_a_setting_is_the_fit_with_its_options(setting):
    run = race()
    run.run([setting])
    wrong = 0
    for train, test in run.folds:
        metric = FrobMetric(**run.parameters(setting), tol=race_module.RACE_TOL)
        Z = metric.fit(X[train], Y[train]).transform(X)
        wrong += knn_error(Z[train], Y[train], Z[test], Y[test]) * len(test)
    assert run.error(setting) == pytest.approx(wrong / len(Y))


def test_passes_and_rising_c_are_those_of_single_fits(monkeypatch):
    """They start from each other, so that they agree up to the tolerance."""
    monkeypatch.setattr(race_module, "RACE_TOL", 1e-6)
    family = [replace(LEARNED, C=C, n_passes=n) for C in (10.0, 100.0) for n in (1, 2)]
    together, alone = race(tol=1e-6), race(tol=1e-6)
    together.run(family)
    for setting in family:
        alone.run([setting])
        if setting in together.finished and setting in alone.finished:
            assert together.score(setting) == pytest.approx(alone.score(setting), abs=0.02)


def test_a_rule_is_measured_with_the_maps_of_the_folds():
    run = race()
    run.run([LEARNED])
    wrong = 0
    for (train, test), mapping in zip(run.folds, run.maps[LEARNED], strict=True):
        rule = NearestClass(3).fit(mapping(X[train]), Y[train])
        wrong += np.sum(rule.predict(mapping(X[test])) != Y[test])
    assert run.error_of(NearestClass(3), LEARNED) == pytest.approx(wrong / len(Y))


def test_what_is_clearly_behind_leaves_and_euclid_stays():
    run = race()
    bad = Setting(None, "raw", 1e-6, 3, 1)  # raw wine, and next to nothing learned
    run.run([RAW, SCALED])
    run.run([bad, LEARNED])
    results = dict(zip(map(str, run.results()["params"]), run.results()["n_folds"], strict=True))
    assert results[str(run.parameters(bad))] < 3
    assert results[str(run.parameters(RAW))] == 3
    assert bad not in run.finished
    assert bad not in run.maps
    assert {RAW, SCALED, LEARNED} <= set(run.finished)


def test_a_setting_runs_once():
    run = race()
    run.run([RAW])
    before = run.results()["score"].copy()
    run.run([RAW])
    np.testing.assert_array_equal(run.results()["score"], before)
    assert run.n_settings == 1


def test_the_choice_for_a_fold_is_made_by_the_others(monkeypatch):
    run = race()
    run.run([RAW, SCALED])
    for number, (_, test) in enumerate(run.folds):
        chosen = run.choice_without(number)
        # what happens on the fold itself does not matter
        mistakes = run._mistakes[chosen][number]
        run._mistakes[chosen][number] = np.ones_like(mistakes)
        assert run.choice_without(number) == chosen
        run._mistakes[chosen][number] = mistakes
        assert len(test)


def test_mistakes_count_the_first_division_only():
    folds = stratified_folds(Y, 3, 2000)
    assert len(folds) > 3
    run, short = race(folds), race(folds[:3])
    for each in (run, short):
        each.run([SCALED])
    assert run.n_folds_of_one_division == short.n_folds_of_one_division == 3
    found, expected = (each.mistakes(lambda number: SCALED) for each in (run, short))
    np.testing.assert_array_equal(found[0], expected[0])
    assert found[1] is expected[1] is None
    assert run.error(SCALED) == short.error(SCALED)


def options(**changes):
    values = {"units": UNITS, "priors": (None,), "Cs": (10.0, 100.0)}
    values |= {"n_neighbors": (3,), "n_passes": (1,), "is_open": False}
    return Options(**values | changes)


def test_the_choice_has_the_lowest_score_or_is_as_good():
    run = race()
    chosen = choose(run, options())
    best = run.best()
    gain, error = run.advantage(best, chosen)
    assert gain <= AHEAD * error
    assert chosen in run.finished


def test_an_open_grid_grows_while_larger_values_are_better(rng):
    """One direction tells the classes apart; a small C stays at the Euclidean metric."""
    y = np.arange(240) % 2
    data = np.column_stack([4 * y + rng.normal(size=240), 3 * rng.normal(size=(240, 9))])
    data = data @ np.linalg.qr(rng.normal(size=(10, 10)))[0]
    folds = stratified_folds(y, 3, 2000)
    run, closed = (race(folds, data, y) for _ in range(2))
    values = {"units": ("raw",), "priors": ("identity",), "Cs": (10.0, 100.0)}
    chosen = choose(run, options(**values, is_open=True))
    assert chosen.C > 100
    assert choose(closed, options(**values)).C <= 100
    assert run.score(chosen) < closed.score(closed.best())


class GrowingRace:
    """A race in which the larger C is always better."""

    folds = range(3)

    def __init__(self, *settings):
        self.finished = list(settings)

    def run(self, settings):
        self.finished += settings
        advance(len(self.folds) * len(settings), "settings")

    def best(self):
        return max(self.finished, key=lambda setting: setting.C)

    def advantage(self, better, other):
        return 1.0, 0.0


@pytest.mark.parametrize("C", [1e3, 5.0, 50.0, 5e5, 2e6, 0.3])
def test_the_progress_of_larger_values_counts_those_that_are_tried(C):
    run, shares = GrowingRace(replace(LEARNED, C=C)), []
    with listening(lambda name, share: shares.append(share)):
        _try_variants(run, options(Cs=(C,), n_neighbors=(3, 6, 9), is_open=True))
    n_larger = len({setting.C for setting in run.finished}) - 1
    expected = np.arange(n_larger + 1) / (n_larger + 2)  # and two other numbers of neighbours
    assert shares[: n_larger + 1] == pytest.approx(expected)
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_more_neighbours_are_tried_with_the_best():
    run = race()
    choose(run, options(n_neighbors=(3, 6)))
    assert {each["n_neighbors"] for each in run.results()["params"]} == {3, 6}


def test_an_interruption_ends_the_race(monkeypatch):
    class Stopped:
        status = "interrupted"

    monkeypatch.setattr(race_module, "solve_frobenius", lambda *_: Stopped())
    with pytest.raises(KeyboardInterrupt):
        race().run([LEARNED])
