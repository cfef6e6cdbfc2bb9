"""Labels: folds by class, mining, and scores of held-out samples."""

import numpy as np
import pytest

from frobmetric import mine_triplets
from frobmetric.embeddings import Labels, TooFewExamplesError


def test_mined_triplets_are_those_of_the_exact_search(rng):
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 4, 80)
    index, weight = Labels(y, n_neighbors=3, n_impostors=4).comparisons(X, X)
    exact = mine_triplets(X, y, n_neighbors=3, n_impostors=4).to_array()
    assert {tuple(row) for row in index[:, [0, 1, 3]].tolist()} == {*map(tuple, exact.tolist())}
    np.testing.assert_array_equal(index[:, 0], index[:, 2])
    np.testing.assert_allclose(weight, 1)


def test_classes_of_up_to_ten_have_all_their_samples_as_near(rng):
    X, y = rng.normal(size=(48, 2)), np.repeat([0, 1], [8, 40])
    index, weight = Labels(y, n_impostors=2).comparisons(X, X)
    n_near = np.array([len(np.unique(index[index[:, 0] == i, 1])) for i in range(48)])
    np.testing.assert_array_equal(n_near, np.where(y == 0, 7, 3))
    total = np.bincount(index[:, 0], weight)
    np.testing.assert_allclose(total, total[0])


def test_folds_are_stratified_and_keep_single_samples_in_training(rng):
    y = np.repeat([-1, 0, 1, 2], [20, 10, 1, 5])
    X = rng.normal(size=(36, 2))
    for training, held_out in Labels(y).folds(X, 5, 0):
        counts = np.bincount(y[held_out._rows] + 1, minlength=4)
        np.testing.assert_array_equal(counts, [4, 2, 0, 1])
        assert len(training) + len(held_out) == 36


def test_a_held_out_sample_searches_the_training_samples():
    X = np.array([[0.0], [0.1], [1.0], [1.1], [2.0], [9.0]])
    feedback = Labels(["a", "a", "b", "b", "a", "b"])
    training, held_out = feedback.folds(X, 2, 0)[0]
    scores = held_out.scores(X, X, "MRR")
    for row, score in zip(held_out._rows, scores, strict=True):
        order = training._rows[np.argsort(np.abs(X[training._rows, 0] - X[row, 0]))]
        is_same = feedback._label[order] == feedback._label[row]
        assert score == 1 / (np.argmax(is_same) + 1)
    accuracy = held_out.scores(X, X, "accuracy")
    np.testing.assert_array_equal(accuracy, scores == 1)


def test_the_default_is_the_share_of_the_own_class_among_three():
    X = np.array([[0.0], [1.0], [2.1], [3.3], [4.6], [6.0]])
    scores = Labels([0, 0, 1, 0, 1, 1]).scores(X, X)
    np.testing.assert_allclose(scores, np.array([2, 2, 0, 1, 2, 2]) / 3)


def test_drawn_samples_keep_the_shares_of_the_classes(rng):
    y = np.repeat([0, 1], [80, 20])
    drawn = Labels(y).drawn(10, 0)
    assert np.bincount(y[drawn._rows]).tolist() == [8, 2]
    assert Labels(y).drawn(100)._rows.tolist() == list(range(100))


def test_equal_vectors_take_the_most_frequent_label():
    X = np.array([[0.0], [0.0], [0.0], [1.0], [1.0], [2.0], [3.0], [4.0]])
    cleaned, cleaning = Labels([0, 0, 1, 0, 1, 1, 0, 0]).cleaned(X)
    assert cleaned._rows.tolist() == [0, 5, 6, 7]
    assert (cleaning.duplicates, cleaning.contradictions) == (1, 3)


def test_labels_of_any_kind_are_alike(rng):
    X = rng.normal(size=(12, 2))
    number = np.arange(12) % 3
    index = Labels(number).comparisons(X, X)[0]
    for y in (number - 1, np.array(list("abc"))[number], number.astype(float), number.tolist()):
        np.testing.assert_array_equal(Labels(y).comparisons(X, X)[0], index)


def test_samples_alone_in_their_class_have_no_score(rng):
    X = rng.normal(size=(5, 2))
    assert len(Labels([0, 0, 1, 1, 2]).scores(X, X)) == 4


@pytest.mark.parametrize("y", [[0] * 6, range(6)])
def test_labels_without_a_comparison_are_too_few(y, rng):
    X = rng.normal(size=(6, 2))
    with pytest.raises(TooFewExamplesError, match="comparisons need two classes"):
        Labels(list(y)).comparisons(X, X)


def test_wrong_labels_are_refused():
    with pytest.raises(ValueError, match="y is empty"):
        Labels([])
    with pytest.raises(ValueError, match=r"y\[1\] is nan"):
        Labels([0.0, np.nan])
    with pytest.raises(ValueError, match="n_neighbors is 0"):
        Labels([0, 1], n_neighbors=0)
    with pytest.raises(ValueError, match="2 labels and 3 vectors"):
        Labels([0, 1]).cleaned(np.eye(3))


def test_banking_has_the_known_accuracy(data_folder):
    path = data_folder / "embeddings" / "banking77.npz"
    if not path.exists():
        pytest.skip(f"needs {path}")
    with np.load(path) as data:
        X, y = data["wordllama"].astype(np.float32), data["label"]
        is_training = data["split"] == "train"
    rows, tested = np.flatnonzero(is_training), np.flatnonzero(~is_training)[::4]
    held_out = Labels(y)._part(tested, rows)
    assert held_out.scores(X, X, "accuracy", "cosine").mean() == pytest.approx(0.882, abs=0.02)


def test_held_out_classes_draw_near_samples_from_the_whole_class(rng):
    X, y = rng.normal(size=(120, 3)), np.repeat([0, 1], 60)
    (near, _), (drawn, _) = (
        Labels(y, hold_out=hold_out).comparisons(X, X, 0) for hold_out in ("samples", "classes")
    )
    assert near.shape == drawn.shape
    assert (y[drawn[:, 0]] == y[drawn[:, 1]]).all()
    assert (drawn[:, 0] != drawn[:, 1]).all()
    assert np.array_equal(near[:, 2:], drawn[:, 2:])  # the others are the nearest, as before
    reach = [np.linalg.norm(X[rows[:, 0]] - X[rows[:, 1]], axis=1).mean() for rows in (near, drawn)]
    assert reach[1] > 2 * reach[0]
    again, _ = Labels(y, hold_out="classes").comparisons(X, X, 0)
    assert np.array_equal(drawn, again)


def test_held_out_classes_are_new_ones(rng):
    y = np.arange(100) % 10
    folds = Labels(y, hold_out="classes").folds(rng.normal(size=(100, 3)), 5, 0)
    seen = [np.unique(held._label[held._rows]) for _, held in folds]
    assert sorted(np.concatenate(seen)) == list(range(10))
    for training, held in folds:
        assert not np.isin(held._label[held._rows], training._label[training._rows]).any()
