"""Divisions of people and rates of matches, against counting by hand."""

import numpy as np
import pytest

from frobmetric_paper.bench import promise


@pytest.fixture
def scores(rng):
    person = np.repeat(np.arange(40), np.arange(40) % 3 + 1)
    S = rng.normal(size=(len(person), len(person)))
    return promise.FaceScores(S + S.T, person)


def test_a_division_has_everybody_once_with_images_of_their_own(scores, rng):
    known, new = scores.draw(25, rng)
    assert (known.shape, new.shape) == ((25, 2), (15, 2))
    images = np.vstack([known, new])
    who = scores.person[images]
    np.testing.assert_array_equal(who[:, 0], who[:, 1])
    assert sorted(who[:, 0]) == list(range(40))
    has_two = np.bincount(scores.person)[who[:, 0]] > 1
    np.testing.assert_array_equal(images[:, 0] != images[:, 1], has_two)


@pytest.mark.parametrize(("n_each", "n_different"), [(1, 12), (6, 75)])
def test_calibration_pairs(scores, rng, n_each, n_different):
    images, _ = scores.draw(25, rng)
    index, y, identities = promise.calibration_pairs(images, n_each)
    who = scores.person[index]
    np.testing.assert_array_equal(who[:, 0] == who[:, 1], y > 0)
    np.testing.assert_array_equal(scores.person[images[identities, 0]], who)
    assert np.sum(y < 0) == n_different
    assert np.bincount(identities[y < 0].ravel()).max() == n_each


def test_rates_of_the_population_weigh_people_equally(scores):
    threshold = np.quantile(scores.S, 0.97)
    n = scores.person.max() + 1
    rate = np.zeros((n, n))
    for i in range(n):
        for j in set(range(n)) - {i}:
            between = scores.S[np.ix_(scores.person == i, scores.person == j)]
            rate[i, j] = (between >= threshold).mean()
    expected = rate.sum() / (n * (n - 1))
    assert scores.false_match_rate(threshold) == pytest.approx(expected)
    assert scores.false_match_rate(np.inf) == 0


def test_rates_of_new_people(scores, rng):
    images, _ = scores.draw(30, rng)
    (false,), (true,) = promise.rates_of(scores.S, images, [0.5])
    one = images[:, 0]
    counted = [scores.S[a, b] >= 0.5 for i, a in enumerate(one) for b in one[:i]]
    assert false == pytest.approx(np.mean(counted))
    own = [scores.S[a, b] >= 0.5 for a, b in images if a != b]
    assert true == pytest.approx(np.mean(own))


def test_the_page_counts_kept_promises():
    rates = {"naive": [(0.02, 0.02, 0.9)] * 2, "pairs as units": [(0.01, 0.02, 0.8)] * 2}
    rates["identities as units"] = [(0.001, 0.02, 0.5), (0.03, 0.001, 0.5)]
    page = promise.page({"euclid": [{"people": 700, "each": 1, "rates": rates}]})
    naive, pairs, people = page["rows"]
    assert (naive["kept"], pairs["kept"], people["kept"]) == ("0 of 2", "2 of 2", "1 of 2")
    assert (people["new"], people["first"]) == ("1 of 2", "1 of 2")
    assert people["cost"] == pytest.approx(40)
    shares = {"population_1": 100.0, "population_100": None, "new_1": 0.0, "new_100": None}
    assert page["summary"][1] == {"rule": "pairs as units"} | shares
