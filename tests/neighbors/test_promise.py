"""Promises are kept: against closed forms, with dependent pairs, and refused where impossible."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom, norm
from sklearn.frozen import FrozenEstimator

from frobmetric import EmbeddingAdapter, FrobMetric, MarginalizedKNN, PairFrobMetric
from frobmetric.neighbors import promised_threshold, units_needed
from frobmetric.neighbors.promise import disjoint_pairs

rates = st.floats(0.005, 0.5)
confidences = st.floats(0.5, 0.999)


def different(n):
    return -np.ones(n, dtype=int)


def kept_share(true_rate, draw, n_runs, **options):
    """Share of runs whose threshold has a true false match rate within the promise."""
    found = [promised_threshold(*each, **options) for each in (draw(i) for i in range(n_runs))]
    return np.mean([true_rate(each.threshold) <= each.max_false_match for each in found])


def is_at_least(share, n_runs, expected):
    """Whether a share of runs is not below the expected one by more than chance."""
    return binom.cdf(round(share * n_runs), n_runs, expected) > 1e-3


# Is it kept?


@pytest.mark.parametrize("n", [60, 200])
def test_independent_pairs_keep_it_exactly_as_often_as_the_order_statistic_says(n):
    promise = {"max_false_match": 0.1, "confidence": 0.9}
    rng = np.random.default_rng(1)
    k = np.flatnonzero(binom.cdf(np.arange(n), n, 0.1) <= 0.1)[-1]
    share = kept_share(lambda t: 1 - t, lambda i: (rng.random(n), different(n)), 800, **promise)
    expected = 1 - binom.cdf(k, n, 0.1)
    assert expected >= 0.9
    assert is_at_least(share, 800, expected)
    assert is_at_least(1 - share, 800, 1 - expected)


def people_in_pairs(seed, n_people=60):
    """Scores of all pairs of people, of whom some are near to everybody; the two of each pair."""
    rng = np.random.default_rng(seed)
    ends = np.array(list(combinations(range(n_people), 2)))
    nearness = rng.normal(size=n_people)
    return nearness[ends].sum(axis=1) + 0.5 * rng.normal(size=len(ends)), ends


def true_rate(threshold):
    return norm.sf(threshold / 1.5)  # variance 1 + 1 + 0.25


def test_pairs_that_share_people_keep_it_if_identities_are_given():
    promise, n_runs = {"max_false_match": 0.1, "confidence": 0.9}, 300
    found = {True: [], False: []}
    for seed in range(n_runs):
        score, ends = people_in_pairs(seed)
        for is_given, kept in found.items():
            identities = {"identities": ends} if is_given else {}
            made = promised_threshold(score, different(len(score)), **promise, **identities)
            assert made.n_units == (30 if is_given else len(score))
            kept.append(true_rate(made.threshold) <= 0.1)
    assert is_at_least(np.mean(found[True]), n_runs, 0.9)
    assert np.mean(found[False]) < 0.8  # pairs as units: the promise is broken


def test_ties_keep_it():
    """Scores are whole numbers from 0 to 9, so a threshold in (8, 9] has the rate 0.1."""
    rng = np.random.default_rng(2)

    def draw(_):
        return rng.integers(10, size=100), different(100)

    def rate(threshold):
        return np.clip(10 - np.ceil(threshold), 0, 10) / 10

    share = kept_share(rate, draw, 400, max_false_match=0.25, confidence=0.9)
    assert is_at_least(share, 400, 0.9)


# What is found


@settings(max_examples=60, deadline=None)
@given(
    scores=st.lists(st.integers(0, 12), min_size=30, max_size=80),
    rate=st.floats(0.1, 0.5),
    confidence=st.floats(0.5, 0.95),
)
def test_no_lower_cut_has_a_small_enough_bound(scores, rate, confidence):
    score, y = np.array(scores, dtype=float), different(len(scores))
    promise = promised_threshold(score, y, max_false_match=rate, confidence=confidence)

    def bound(threshold):
        k = np.sum(score >= threshold)
        return 1.0 if k == len(score) else beta.ppf(confidence, k + 1, len(score) - k)

    assert promise.bound == pytest.approx(bound(promise.threshold))
    assert promise.bound <= rate + 1e-12
    assert promise.n_false == np.sum(score >= promise.threshold)
    lower = score[score < promise.threshold].max()
    assert bound(lower) > rate - 1e-12


@settings(max_examples=60, deadline=None)
@given(rate=rates, confidence=confidences)
@example(rate=0.1, confidence=1 - 0.9**3)
@example(rate=0.01, confidence=1 - 0.99**300)
@example(rate=0.5, confidence=0.75)
def test_the_number_needed_is_the_least(rate, confidence):
    options = {"max_false_match": rate, "confidence": confidence}
    n = units_needed(**options)
    made = promised_threshold(np.arange(n), different(n), **options)
    assert (made.n_units, made.n_false) == (n, 0)
    assert made.threshold > n - 1
    if n > 1:
        with pytest.raises(ValueError, match=f"needs at least {n} independent dissimilar pairs"):
            promised_threshold(np.arange(n - 1), different(n - 1), **options)


def test_similar_pairs_only_tell_the_price():
    score = np.arange(1000.0)
    alone = promised_threshold(score, different(1000))
    y = np.append(different(1000), np.ones(4, dtype=int))
    both = promised_threshold(np.append(score, [0.0, 995.0, 995.25, 2000.0]), y)
    assert np.isnan(alone.true_match_rate)
    assert both.true_match_rate == 0.5
    assert alone.threshold == both.threshold == np.nextafter(995.0, 996.0)
    assert alone.n_false == both.n_false == 4


def test_sentence():
    y = np.append(different(1000), 1)
    text = str(promised_threshold(np.arange(1001.0), y))
    assert text == (
        "At scores of 995 and more, false matches are at most 0.01 with confidence 0.95 (found "
        "in 4 of 1000 independent pairs, bound 0.00913); 100.0% of the similar pairs match."
    )
    assert "no similar pairs were given" in str(promised_threshold(range(1000), different(1000)))


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_scale_does_not_matter(scale):
    score, y = np.random.default_rng(0).random(400), different(400)
    plain, scaled = (promised_threshold(s, y) for s in (score, scale * score))
    assert (scaled.n_false, scaled.bound) == (plain.n_false, plain.bound)
    assert scaled.threshold / scale == pytest.approx(plain.threshold)


def test_single_precision_stays():
    score = np.random.default_rng(0).random(400).astype(np.float32)
    promise = promised_threshold(score, different(400))
    assert np.float32(promise.threshold) == promise.threshold
    assert np.sum(score >= promise.threshold) == promise.n_false


def test_equal_scores_have_a_threshold_above_them():
    promise = promised_threshold(np.ones(400), np.where(np.arange(400) < 20, 1, -1))
    assert (promise.n_false, promise.true_match_rate) == (0, 0.0)
    assert promise.threshold == np.nextafter(1, 2)


# Identities and groups


graphs = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=12)


def most_disjoint(ends):
    """Size of the largest subset of pairs without a common end, by trying all."""
    if not ends:
        return 0
    (a, b), rest = ends[0], ends[1:]
    free = [pair for pair in rest if not {a, b} & set(pair)]
    return max(most_disjoint(rest), 1 + most_disjoint(free))


@settings(max_examples=80, deadline=None)
@given(pairs=graphs)
def test_disjoint_pairs_share_nobody_and_none_can_be_added(pairs):
    ends = np.array([pair for pair in pairs if pair[0] != pair[1]], dtype=int).reshape(-1, 2)
    rows = disjoint_pairs(ends)
    used = ends[rows].ravel()
    assert len(np.unique(used)) == len(used)
    assert np.isin(ends, used).any(axis=1).all()
    assert most_disjoint(ends.tolist()) - len(rows) in (0, 1)


def test_names_and_numbers_are_the_same_identities():
    score, ends = people_in_pairs(0, 70)
    y = np.where(np.arange(len(score)) < 10, 1, -1)
    options = {"max_false_match": 0.1, "confidence": 0.9}
    by_number, by_name = (
        promised_threshold(score, y, identities=each, **options)
        for each in (ends + 10, np.char.add("p", np.char.zfill(ends.astype(str), 3)))
    )
    assert by_number == by_name


def test_groups_have_their_own_promises(rng):
    score, y = rng.normal(size=900), np.where(np.arange(900) % 3 == 0, 1, -1)
    groups = np.where(np.arange(900) < 450, "north", "south")
    identities = np.arange(1800).reshape(900, 2)
    options = {"max_false_match": 0.02, "confidence": 0.9}
    made = promised_threshold(score, y, groups=groups, identities=identities, **options)
    assert list(made) == ["north", "south"]
    for name, promise in made.items():
        rows = groups == name
        assert promise == promised_threshold(score[rows], y[rows], **options)


def test_a_small_group_is_refused_by_name():
    groups = np.repeat(["large", "small"], [400, 40])
    with pytest.raises(ValueError, match="there are 40 in group 'small'"):
        promised_threshold(np.arange(440.0), different(440), groups=groups)


# Refusals


def test_too_few_people_are_refused_with_the_number_needed():
    score, ends = people_in_pairs(0)
    text = r"at least 299 .* there are 30 without a common identity \(of 1770 in all\)\. .*=0\.095$"
    with pytest.raises(ValueError, match=text):
        promised_threshold(score, different(len(score)), identities=ends)


def test_no_dissimilar_pair_is_refused():
    with pytest.raises(ValueError, match=r"there are 0\. Give more, or promise less$"):
        promised_threshold([1.0, 2.0], [1, 1])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"score": [np.nan] * 400}, r"score\[0\] = nan must be finite"),
        ({"score": [np.inf] * 400}, r"score\[0\] = inf must be finite"),
        ({"score": []}, r"score has shape \(0,\)"),
        ({"y": different(399)}, r"y has shape \(399,\); there are 400 pairs"),
        ({"y": np.zeros(400)}, r"y\[0\] = 0"),
        ({"max_false_match": 0.0}, "max_false_match is 0.0; expected a number between 0 and 1"),
        ({"max_false_match": "1 %"}, "max_false_match is '1 %'"),
        ({"confidence": 1}, "confidence is 1;"),
        ({"confidence": np.nan}, "confidence is nan;"),
        ({"identities": np.arange(400)}, r"identities has shape \(400,\); .* \(400, 2\)"),
        ({"identities": np.full((400, 2), np.nan)}, r"identities\[:, 0\]\[0\] is nan"),
        ({"identities": np.ones((400, 2))}, r"identities\[0\] has 1.0 twice, and y\[0\] is -1"),
        ({"groups": np.ones(3)}, r"groups has shape \(3,\); there are 400 pairs"),
        ({"groups": [None] * 400}, r"groups\[0\] is None"),
    ],
)
def test_wrong_arguments(change, text):
    given_ = {"score": np.arange(400.0), "y": different(400)} | change
    with pytest.raises(ValueError, match=text):
        promised_threshold(given_.pop("score"), given_.pop("y"), **given_)


# Estimators


def people(n_people, n_each, seed):
    """Points of people, and who they are of."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n_people), n_each)
    return rng.normal(size=(n_people, 4))[person] + 0.2 * rng.normal(size=(len(person), 4)), person


def pairs_of(person, rng, n=400):
    pairs = np.array([rng.choice(len(person), 2, replace=False) for _ in range(n)])
    same = np.column_stack([np.arange(0, len(person), 2), np.arange(1, len(person), 2)])
    pairs = np.vstack([pairs, same])
    return pairs, np.where(person[pairs[:, 0]] == person[pairs[:, 1]], 1, -1)


def pair_metric(rng):
    X, person = people(30, 2, seed=1)
    pairs, y = pairs_of(person, rng, 100)
    return PairFrobMetric(C=10.0).fit(X[pairs], y), X


def marginalized(rng):
    X, person = people(30, 4, seed=1)
    return MarginalizedKNN(n_neighbors=5).fit(X, person), X


def adapter(rng):
    X, person = people(30, 4, seed=1)
    return EmbeddingAdapter(strength=10.0, unit_length=False).fit(X, person), X


LOOSE = {"max_false_match": 0.1, "confidence": 0.9}


@pytest.mark.parametrize("make", [pair_metric, marginalized, adapter])
def test_estimators_decide_by_the_promise(make, rng):
    model, _ = make(rng)
    X, person = people(150, 2, seed=2)
    pairs, y = pairs_of(person, rng)
    assert model.promise_threshold(X[pairs], y, identities=person[pairs], **LOOSE) is model
    expected = promised_threshold(model.pair_score(X[pairs]), y, identities=person[pairs], **LOOSE)
    assert model.promise_ == expected
    assert model.promise_.n_units > 60
    is_similar = model.predict(X[pairs]) > 0
    np.testing.assert_array_equal(is_similar, model.pair_score(X[pairs]) >= expected.threshold)
    assert is_similar[y > 0].mean() == expected.true_match_rate
    for forget in (
        lambda: model.set_threshold(0.5),
        lambda: model.calibrate_threshold(X[pairs], y),
    ):
        model.promise_threshold(X[pairs], y, **LOOSE)
        forget()
        assert not hasattr(model, "promise_")


@pytest.mark.parametrize("make", [pair_metric, marginalized, adapter])
def test_without_identities_pairs_of_one_point_are_dependent(make, rng):
    model, _ = make(rng)
    X, _ = people(100, 1, seed=2)
    pairs = np.array(list(combinations(range(100), 2)))
    model.promise_threshold(X[pairs], different(len(pairs)), **LOOSE)
    assert model.promise_.n_units == 50


@pytest.mark.parametrize("make", [pair_metric, marginalized])
def test_equal_points_of_different_people_are_pairs_like_others(make, rng):
    model, _ = make(rng)
    pairs = np.repeat(rng.normal(size=(60, 1, 4)), 2, axis=1)
    model.promise_threshold(pairs, different(60), **LOOSE)
    assert (model.promise_.n_units, model.promise_.n_false <= 2) == (60, True)


@pytest.mark.parametrize("make", [pair_metric, marginalized])
def test_known_points_are_warned_of(make, rng):
    model, X = make(rng)
    new = people(100, 1, seed=2)[0]
    pairs = np.stack([new[:50], new[50:]], axis=1)
    model.promise_threshold(pairs, different(50), **LOOSE)
    pairs[0, 0] = X[0]
    with pytest.warns(UserWarning, match="1 of the 100 points are points that the model was"):
        model.promise_threshold(pairs, different(50), **LOOSE)


def test_points_of_earlier_fits_are_known_after_an_update(rng):
    model, X = pair_metric(rng)
    new = people(4, 2, seed=3)[0].reshape(4, 2, 4)
    model.partial_fit(np.vstack([new, new[::-1] + 3]), [1, 1, 1, 1, -1, -1, -1, -1])
    pairs = np.random.default_rng(4).normal(size=(50, 2, 4))
    pairs[0], pairs[1] = X[:2], new[0]
    with pytest.warns(UserWarning, match="4 of the 100 points"):
        model.promise_threshold(pairs, different(50), **LOOSE)


def test_points_left_out_of_the_reference_are_known_to_a_metric_learned_from_it(rng):
    X, person = people(30, 4, seed=1)
    learned = FrobMetric(tol=1e-2).fit(X, person)
    other = rng.normal(size=(50, 2, 4))
    other[0, 0] = X[0]
    for metric in (None, FrozenEstimator(learned)):
        model = MarginalizedKNN(metric, n_neighbors=5).fit(X, person)
        model.promise_threshold(other, different(50), exclude=[0], **LOOSE)
    model = MarginalizedKNN(FrobMetric(tol=1e-2), n_neighbors=5).fit(X, person)
    with pytest.warns(UserWarning, match="1 of the 100 points"):
        model.promise_threshold(other, different(50), exclude=[0], **LOOSE)


def test_a_new_fit_forgets_the_promise(rng):
    model, X = marginalized(rng)
    model.promise_threshold(rng.normal(size=(50, 2, 4)), different(50), **LOOSE)
    assert not hasattr(model.fit(X, np.arange(len(X)) // 4), "promise_")
    model, X = pair_metric(rng)
    model.promise_threshold(rng.normal(size=(50, 2, 4)), different(50), **LOOSE)
    pairs = X[:40].reshape(20, 2, 4)
    assert not hasattr(model.fit(pairs, [1, -1] * 10), "promise_")


def test_a_refused_promise_changes_nothing(rng):
    model, _ = pair_metric(rng)
    before = model.threshold_
    with pytest.raises(ValueError, match="needs at least 299"):
        model.promise_threshold(rng.normal(size=(50, 2, 4)), different(50))
    assert model.threshold_ == before
