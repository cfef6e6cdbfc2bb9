"""Cross-validation that keeps objects apart."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, cross_val_score

from frobmetric.evaluation.splitting import ObjectSplit


def random_tuples(rng, n_objects, n_tuples, width=3):
    return np.array([rng.choice(n_objects, width, replace=False) for _ in range(n_tuples)])


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 4), st.integers(2, 4), st.booleans(), st.booleans(), st.integers(0, 10**6))
def test_splits_are_those_of_the_definition(n_splits, width, shuffle, is_grouped, seed):
    rng = np.random.default_rng(seed)
    tuples = 3 * random_tuples(rng, 24, 1500, width)
    groups = rng.integers(10, size=72) if is_grouped else None
    splitter = ObjectSplit(n_splits, shuffle=shuffle, random_state=seed if shuffle else None)
    parts = splitter.parts(tuples, groups)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.unique(tuples))
    if is_grouped:
        labels = [set(groups[part]) for part in parts]
        assert sum(map(len, labels)) == len(set().union(*labels))
    else:
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
    rows, parts = [set(row) for row in tuples.tolist()], [set(part.tolist()) for part in parts]
    if not all(any(row <= part for row in rows) for part in parts):
        with pytest.raises(ValueError, match="nothing to test on"):
            next(splitter.split(tuples, groups=groups))
        return
    splits = list(splitter.split(tuples, groups=groups))
    assert len(splits) == splitter.get_n_splits(tuples) == n_splits
    for (train, test), part in zip(splits, parts, strict=True):
        assert test.tolist() == [i for i, row in enumerate(rows) if row <= part]
        assert train.tolist() == [i for i, row in enumerate(rows) if not row & part]


def test_the_seed_decides(rng):
    tuples = random_tuples(rng, 40, 3000)
    one, same, other = (ObjectSplit(random_state=seed).parts(tuples) for seed in (3, 3, 4))
    assert all(np.array_equal(a, b) for a, b in zip(one, same, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    for _ in range(2):
        in_turn = ObjectSplit(shuffle=False).parts(tuples)
        assert [part[0] for part in in_turn] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("width", [2, 3, 4])
def test_as_many_tuples_are_lost_as_the_docstring_says(width, rng):
    tuples = random_tuples(rng, 300, 20_000, width)
    splits = list(ObjectSplit(random_state=0).split(tuples))
    kept = np.mean([len(train) for train, _ in splits]) / len(tuples)
    tested = sum(len(test) for _, test in splits) / len(tuples)
    assert kept == pytest.approx(0.8**width, rel=0.05)
    assert tested == pytest.approx(5.0 ** (1 - width), rel=0.2)


def test_large_groups_do_not_share_a_part(rng):
    sizes = [20, 20, 5, 5, 5, 5]
    groups = np.repeat(list("abcdef"), sizes)
    tuples = random_tuples(rng, 60, 3000)
    parts = ObjectSplit(2, random_state=0, groups=groups).parts(tuples)
    assert [len(part) for part in parts] == [30, 30]


class Table(BaseEstimator):
    """Knows the objects that it has seen, and nothing else."""

    def __init__(self, share=1.0):
        self.share = share

    def fit(self, tuples, y=None):
        self.seen_ = np.unique(tuples)
        return self

    def score(self, tuples, y=None):
        return self.share * np.isin(tuples, self.seen_).any()


def test_scikit_learn_takes_it(rng):
    tuples = random_tuples(rng, 40, 3000)
    groups = np.arange(40) // 2
    scores = cross_val_score(Table(), tuples, cv=ObjectSplit(groups=groups, random_state=0))
    np.testing.assert_array_equal(scores, np.zeros(5))
    assert cross_val_score(Table(), tuples, cv=3).min() == 1
    search = GridSearchCV(Table(), {"share": [0.5, 1]}, cv=ObjectSplit(3, random_state=0))
    assert search.fit(tuples).n_splits_ == 3
    assert "ObjectSplit(" in repr(ObjectSplit())


def test_bad_tuples_are_said(rng):
    with pytest.raises(ValueError, match=r"formed tuples; give indices .* identify the points"):
        next(ObjectSplit().split(rng.normal(size=(10, 3, 2))))
    with pytest.raises(TypeError, match="dtype float64; expected integers"):
        next(ObjectSplit().split(rng.normal(size=(10, 3))))
    with pytest.raises(ValueError, match=r"expected \(n_rows, 2 or 3 or 4\)"):
        next(ObjectSplit().split(np.zeros((10, 5), dtype=int)))


def test_too_few_objects_are_said():
    tuples = np.array([[0, 1, 2], [1, 2, 3]])
    with pytest.raises(ValueError, match=r"4 objects, fewer than n_splits=5; ask for fewer"):
        next(ObjectSplit().split(tuples))
    with pytest.raises(ValueError, match=r"2 groups, fewer than n_splits=3"):
        next(ObjectSplit(3, groups=[0, 0, 1, 1]).split(tuples))


def test_a_part_without_test_tuples_is_said():
    tuples = np.array([[0, 2, 4], [1, 2, 3]])
    with pytest.raises(ValueError, match=r"in part 1 of 2, .* fewer splits or try another random"):
        next(ObjectSplit(2, shuffle=False).split(tuples))


def test_bad_groups_are_said():
    tuples = np.array([[0, 2, 4], [1, 2, 3]])
    for groups in ([0, 1, 1, 0], np.zeros((5, 2))):
        with pytest.raises(ValueError, match=r"expected one label for each object, at least \(5,"):
            next(ObjectSplit(2).split(tuples, groups=groups))


def test_bad_parameters_are_said():
    tuples = np.array([[0, 2, 4], [1, 2, 3]])
    with pytest.raises(ValueError, match="'n_splits' parameter of ObjectSplit must be an integer"):
        next(ObjectSplit(1).split(tuples))
    with pytest.raises(ValueError, match=r"'groups' .* must be a sequence of labels, one for each"):
        next(ObjectSplit(2, groups="aabbc").split(tuples))
    with pytest.raises(ValueError, match="random_state=0 has no effect with shuffle=False"):
        next(ObjectSplit(2, shuffle=False, random_state=0).split(tuples))
