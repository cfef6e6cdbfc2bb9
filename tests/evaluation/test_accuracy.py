"""Accuracy with an interval, and the noise ceiling."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest

from frobmetric.evaluation import accuracy as evaluation
from frobmetric.evaluation.accuracy import accuracy_difference, comparison_accuracy, noise_ceiling


@pytest.mark.parametrize(("right", "n"), [(0, 5), (5, 5), (69, 100), (1, 1000)])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.99])
def test_without_objects_it_is_wilsons_interval(right, n, confidence):
    found = comparison_accuracy(np.arange(n) < right, confidence=confidence)
    oracle = binomtest(right, n).proportion_ci(confidence, method="wilson")
    assert found.value == right / n
    assert found.n == n
    np.testing.assert_allclose([found.low, found.high], [oracle.low, oracle.high], atol=1e-12)
    assert found.low <= found.value <= found.high


def test_margins_of_zero_count_a_half():
    assert comparison_accuracy([3.0, 0.0, -1.0, 0.5]).value == 2.5 / 4
    assert comparison_accuracy([0.0, 0.0]).value == 0.5
    assert comparison_accuracy([1, -1, 1, 1]).value == 0.75
    assert comparison_accuracy([np.inf, -1.0]).value == 0.5


def test_weights_are_shares(rng):
    correct, weight = rng.random(200) < 0.7, rng.random(200)
    found = comparison_accuracy(correct, weight)
    assert found.value == pytest.approx(weight[correct].sum() / weight.sum())
    assert found.low == pytest.approx(comparison_accuracy(correct, 5 * weight).low)
    plain = comparison_accuracy(correct)
    assert found.high - found.low > plain.high - plain.low
    with_zeros = comparison_accuracy(correct, np.arange(200) < 100)
    assert with_zeros == comparison_accuracy(correct[:100])


def test_counts_of_answers_do_not_narrow_the_interval(rng):
    correct = rng.random(50) < 0.7
    found, plain = comparison_accuracy(correct, np.full(50, 10)), comparison_accuracy(correct)
    assert (found.low, found.high, found.n) == pytest.approx((plain.low, plain.high, 50))
    repeated = comparison_accuracy(np.repeat(correct, 10))
    assert repeated.high - repeated.low < 0.5 * (found.high - found.low)


def test_it_reads_as_a_percentage():
    assert str(evaluation.Accuracy(0.6891, 0.6712, 0.706, 100)) == "68.9 % (67.1 ... 70.6)"
    assert str(evaluation.Accuracy(-0.012, -0.03, 0.006, 9)) == "-1.2 % (-3.0 ... 0.6)"


@pytest.mark.parametrize("width", [2, 3, 4])
def test_sums_over_resampled_objects_are_those_by_hand(width, rng):
    objects = np.array([rng.choice(7, width, replace=False) for _ in range(60)])
    values, drawn = rng.normal(size=(2, 60)), rng.integers(0, 3, size=(7, 5)).astype(float)
    expected = [
        [
            sum(v[i] * np.prod([drawn[o, r] for o in objects[i]]) for i in range(60))
            for r in range(5)
        ]
        for v in values
    ]
    np.testing.assert_allclose(evaluation._ProductSums(objects, values)(drawn), expected)


def test_only_the_seed_changes_the_interval_not_blocks_or_names(rng, monkeypatch):
    objects = np.array([rng.choice(30, 3, replace=False) for _ in range(500)])
    correct = rng.random(500) < 0.7
    whole = comparison_accuracy(correct, objects=objects)
    monkeypatch.setattr(evaluation, "BLOCK", 1)
    assert comparison_accuracy(correct, objects=objects) == whole
    assert comparison_accuracy(correct, objects=objects, random_state=1) != whole
    assert comparison_accuracy(correct, objects=objects + 1000) == whole


def test_an_object_named_twice_in_a_tuple_is_one_object(rng):
    triplets = np.array([rng.choice(20, 3, replace=False) for _ in range(300)])
    correct = rng.random(300) < 0.7
    as_quadruplets = triplets[:, [0, 1, 0, 2]]
    found = comparison_accuracy(correct, objects=triplets, n_resamples=200)
    assert comparison_accuracy(correct, objects=as_quadruplets, n_resamples=200) == found
    other = accuracy_difference(correct, ~correct, objects=as_quadruplets, n_resamples=200)
    assert other == accuracy_difference(correct, ~correct, objects=triplets, n_resamples=200)


@pytest.mark.parametrize(
    ("row", "expected"),
    [((4, 1, 4, 2), (4, 1, 9, 2)), ((3, 3, 3, 1), (3, 9, 9, 1)), ((5, 6, 7, 8), (5, 6, 7, 8))],
)
def test_only_repeated_objects_are_replaced(row, expected):
    assert evaluation._distinct(np.array([row]), 9).tolist() == [list(expected)]


def simulate(rng, n_objects=30, n=1500):
    """Predictions that some objects spoil; two predictors share what they spoil."""
    spoils = rng.random(n_objects) < 0.3
    objects = np.array([rng.choice(n_objects, 3, replace=False) for _ in range(n)])
    hard = spoils[objects].sum(axis=1)
    a, b = rng.random(n) < 0.9 - 0.2 * hard, rng.random(n) < 0.85 - 0.2 * hard
    return objects, a, b


def widths_and_values(rng, judge, repetitions=60):
    found = [judge(*simulate(rng)) for _ in range(repetitions)]
    values = np.array([(f.value, f.high - f.low) for f in found])
    return values[:, 1].mean(), 2 * 1.96 * values[:, 0].std(ddof=1)


@pytest.mark.slow
def test_the_interval_over_objects_is_as_wide_as_other_objects_require(rng):
    def judge(objects, a, b):
        return comparison_accuracy(a, objects=objects, n_resamples=200)

    width, needed = widths_and_values(rng, judge)
    assert 0.8 < width / needed < 1.4
    naive, needed = widths_and_values(rng, lambda objects, a, b: comparison_accuracy(a))
    assert naive < 0.6 * needed


def test_the_paired_interval_is_narrower_than_the_difference_of_two(rng):
    objects, a, b = simulate(rng)
    found = accuracy_difference(a, b, objects=objects)
    assert found.estimate == pytest.approx(a.mean() - b.mean())
    assert (found.before, found.after) == pytest.approx((b.mean(), a.mean()))
    low, high = found.interval
    assert low < found.estimate < high
    single = comparison_accuracy(a, objects=objects)
    assert high - low < single.high - single.low
    other = accuracy_difference(b, a, objects=objects)
    np.testing.assert_allclose(other.interval, [-high, -low], atol=1e-12)
    assert accuracy_difference(a, a, objects=objects).interval[1] == 0


@pytest.mark.parametrize(("only_a", "only_b"), [(0.0, 0.0), (0.02, 0.0), (0.1, 0.05), (0.3, 0.3)])
def test_the_paired_interval_covers_the_difference(only_a, only_b, rng):
    covered = []
    for _ in range(400):
        kind = rng.choice(3, size=80, p=[only_a, only_b, 1 - only_a - only_b])
        found = accuracy_difference(kind == 0, kind == 1)
        low, high = found.interval
        covered.append(low <= only_a - only_b <= high)
        assert -1 <= low <= found.estimate <= high <= 1
    assert np.mean(covered) > 0.925


def test_comparisons_of_85_shoes_are_far_from_independent(data_folder):
    with np.load(data_folder / "zappos_triplets.npz", allow_pickle=False) as file:
        triplets, X = file["triplets"].astype(np.intp), file["X"].astype(float)
    squares = np.einsum("ij,ij->i", X, X)
    distance = squares[:, None] + squares - 2 * X @ X.T
    anchor, near, far = triplets.T
    found = comparison_accuracy(
        distance[anchor, far] - distance[anchor, near], objects=triplets, n_resamples=300
    )
    naive = comparison_accuracy(distance[anchor, far] > distance[anchor, near])
    assert found.low < naive.low < naive.high < found.high
    assert found.high - found.low < 0.1


def votes(rng, q, repeats):
    """Answers to one question for each q, half of them put the other way round."""
    n = len(q)
    rows = np.column_stack([np.arange(n), n + np.arange(n), 2 * n + np.arange(n)])
    rows = np.repeat(rows, repeats, axis=0)
    y = np.where(rng.random(len(rows)) < np.repeat(q, repeats), 1, -1)
    is_put_otherwise = rng.random(len(rows)) < 0.5
    rows[is_put_otherwise] = rows[is_put_otherwise][:, [0, 2, 1]]
    return rows, np.where(is_put_otherwise, -y, y)


HARDNESS = {
    "certain": lambda rng, n: rng.choice([0.0, 1.0], n),
    "equal": lambda rng, n: np.full(n, 0.8),
    "guessed": lambda rng, n: np.full(n, 0.5),
    "uniform": lambda rng, n: rng.random(n),
    "mixed": lambda rng, n: rng.choice([0.5, 0.05, 1.0], n),
    "nearly sure": lambda rng, n: rng.beta(9, 1, n),
}


@pytest.mark.parametrize("name", sorted(HARDNESS))
@pytest.mark.parametrize("repeats", [2, 3, 4, 10])
def test_the_ceiling_lies_between_low_and_high(name, repeats, rng):
    q = HARDNESS[name](rng, 4000)
    truth = np.mean(np.maximum(q, 1 - q))
    found = noise_ceiling(*votes(rng, q, repeats))
    assert found.low - 3.5 * found.low_error <= truth <= found.high + 3.5 * found.high_error
    assert 0.5 - 0.05 < found.agreement <= found.low + 0.05
    assert (found.n_questions, found.n_repeated) == (4000, 4000)
    assert found.n_answers == 4000 * repeats


@pytest.mark.parametrize("name", ["equal", "uniform", "mixed"])
def test_more_repetitions_close_the_bracket(name, rng):
    q = HARDNESS[name](rng, 3000)
    widths = [
        found.high - found.low
        for found in (noise_ceiling(*votes(rng, q, repeats)) for repeats in (2, 5, 41))
    ]
    assert widths[0] > widths[1] > widths[2]
    assert widths[2] < 0.03


def test_equally_hard_questions_need_only_two_answers(rng):
    found = noise_ceiling(*votes(rng, np.full(20_000, 0.8), 2))
    assert found.high == pytest.approx(0.8, abs=0.01)
    assert found.agreement == pytest.approx(0.8**2 + 0.2**2, abs=0.01)


def by_hand(answers):
    """Leave-one-out, agreement and majority of one question's answers (+1, -1)."""
    n = len(answers)
    rest = [sum(answers) - answer for answer in answers]
    right = [0.5 if s == 0 else float(s * a > 0) for s, a in zip(rest, answers, strict=True)]
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    agree = [answers[i] == answers[j] for i, j in pairs]
    return np.mean(right), np.mean(agree), max(answers.count(1), answers.count(-1)) / n


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_every_outcome_of_a_few_answers(n):
    for answers in product([1, -1], repeat=n):
        low, agreement, majority = by_hand(answers)
        found = noise_ceiling([[0, 1, 2]] * n, answers)
        assert found.low == pytest.approx(low)
        assert found.agreement == pytest.approx(agreement)
        pooled = (1 + np.sqrt(max(2 * agreement - 1, 0))) / 2
        assert found.high == pytest.approx(max(low, min(majority, pooled)))


def test_standard_errors_are_the_spread_over_repetitions(rng):
    found = [
        noise_ceiling(*votes(rng, np.random.default_rng(i).random(200), 4)) for i in range(200)
    ]
    for name in ("low", "high"):
        spread = np.std([getattr(f, name) for f in found])
        said = np.mean([getattr(f, f"{name}_error") for f in found])
        assert said == pytest.approx(spread, rel=0.2)


def test_a_raised_upper_bound_has_the_error_of_the_lower_one():
    question = np.column_stack([np.arange(10), np.arange(10) + 10, np.arange(10) + 20])
    yes = np.append(np.full(9, 3), 2)  # of four answers each
    found = noise_ceiling(
        np.vstack([question, question]), np.repeat([1, -1], 10), np.append(yes, 4 - yes)
    )
    low = np.append(np.full(9, 0.75), 0.0)
    assert found.agreement < 0.5  # so the bound from it is 0.5
    assert found.high == found.low == pytest.approx(low.mean())
    assert found.high_error == found.low_error == pytest.approx(low.std() / np.sqrt(10))


def test_counts_are_repeated_answers_and_single_answers_do_not_count(rng):
    rows, y = votes(rng, rng.random(50), 4)
    listed = noise_ceiling(rows, y)
    alone = np.column_stack([np.arange(7), np.arange(7) + 1, np.arange(7) + 2]) + 1000
    with_single = noise_ceiling(np.vstack([rows, alone]), np.append(y, np.ones(7)))
    assert with_single.n_questions == 57
    assert (with_single.low, with_single.high) == (listed.low, listed.high)
    yes = np.bincount(rows[:, 0], (y > 0) == (rows[:, 1] < rows[:, 2]))
    first = np.column_stack([np.arange(50), 50 + np.arange(50), 100 + np.arange(50)])
    counted = noise_ceiling(
        np.vstack([first, first]), np.repeat([1, -1], 50), np.append(yes, 4 - yes)
    )
    assert counted == listed


def test_quadruplets_have_a_ceiling():
    ways = [[3, 0, 1, 2], [0, 3, 2, 1], [1, 2, 0, 3]]
    found = noise_ceiling(ways, [1, 1, -1])
    assert (found.low, found.high, found.agreement) == (1, 1, 1)
    assert "3 answers to 1 questions" in str(found)


def test_a_ceiling_without_repetition_is_an_error():
    with pytest.raises(ValueError, match="no question was asked twice, among 2 questions"):
        noise_ceiling([[0, 1, 2], [1, 0, 2]])
    with pytest.raises(ValueError, match=r"sample_weight\[1\] = 0\.5; expected whole numbers"):
        noise_ceiling([[0, 1, 2], [1, 0, 2]], sample_weight=[2, 0.5])


def test_bad_judgements_are_said():
    with pytest.raises(ValueError, match=r"correct has shape \(0,\)"):
        comparison_accuracy([])
    with pytest.raises(ValueError, match="holds only 0 and 1 but has dtype int64; give booleans"):
        comparison_accuracy([1, 0, 1])
    with pytest.raises(ValueError, match="holds only 0 and 1"):
        comparison_accuracy([0, 0])
    with pytest.raises(ValueError, match="correct_b holds only 0 and 1 but has dtype float64"):
        accuracy_difference([True, False], [0.0, 1.0])
    with pytest.raises(ValueError, match="or NaN; expected booleans or margins"):
        comparison_accuracy([0.5, np.nan])
    with pytest.raises(ValueError, match="confidence is 95; expected a number between 0 and 1"):
        comparison_accuracy([True, False], confidence=95)
    with pytest.raises(ValueError, match="confidence is '95'; expected a number between 0 and 1"):
        comparison_accuracy([True, False], confidence="95")
    with pytest.raises(ValueError, match="correct_a has 2 comparisons and correct_b 1"):
        accuracy_difference([True, False], [True])
    with pytest.raises(
        ValueError, match=r"sample_weight has shape \(1,\); there are 2 comparisons"
    ):
        comparison_accuracy([True, False], [1])


def test_objects_that_do_not_fit_are_said():
    with pytest.raises(ValueError, match="objects has 1 rows; there are 2 comparisons"):
        comparison_accuracy([True, False], objects=[[0, 1, 2]])
    with pytest.raises(ValueError, match="of 4 objects contain no comparison; that is too few"):
        comparison_accuracy([True], objects=[[0, 1, 2, 3]])


@pytest.mark.parametrize("n_resamples", [0, 10.5, "10", True, None])
def test_bad_numbers_of_resamples_are_said(n_resamples):
    words = f"n_resamples is {n_resamples!r}; expected an integer of at least 1"
    with pytest.raises(ValueError, match=words):
        comparison_accuracy([True], objects=[[0, 1, 2, 3]], n_resamples=n_resamples)
