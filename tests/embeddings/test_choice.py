"""The choice of a strength, and the gain on held-out units."""

import numpy as np
import pytest

from frobmetric.embeddings import Labels, RelevantDocuments, TooFewExamplesError
from frobmetric.embeddings.choice import HeldOutScores, measure_strengths
from frobmetric.embeddings.path import MapLearner


def planted(rng, n=120, n_classes=4, noise=8):
    """Return vectors whose first features tell the class, and labels."""
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, n_classes + noise))
    X[:, :n_classes] = 2 * np.eye(n_classes)[y] + 0.5 * X[:, :n_classes]
    return X, y


def test_a_fold_is_scored_at_the_strength_that_the_others_choose():
    # in fold 0 the second strength is best, in folds 1 and 2 the first one
    folds = (np.array([[0.0, 0.1, 1.0]]), np.array([[0.0, 0.5, 0.0]]), np.array([[0.0, 0.6, 0.1]]))
    scores = HeldOutScores((0.0, 10.0, 100.0), folds)
    scores = HeldOutScores(scores.strengths, tuple(np.repeat(f, 2, axis=0) for f in folds))
    assert [scores.best(without=i) for i in range(3)] == [1, 2, 2]
    np.testing.assert_allclose(scores.gain().after, (0.1 + 0.0 + 0.1) / 3)
    assert scores.gain().before == 0.0


def test_of_equal_strengths_the_smallest_is_chosen():
    assert HeldOutScores((0.0, 1.0), (np.ones((3, 2)),)).best() == 0


def test_a_smaller_strength_that_is_about_as_good_is_chosen(rng):
    noise = rng.normal(scale=0.2, size=(40, 4))
    fold = 0.5 + noise + [0.0, 0.30, 0.31, 0.32]
    scores = HeldOutScores((0.0, 1.0, 2.0, 3.0), (fold, fold + 0.01))
    assert scores.best() == int(np.argmax(scores.means))
    assert scores.best(lenience=3.0) == 1
    assert scores.best(lenience=0.0) >= scores.best(lenience=1.0) >= 1
    strength, gain = scores.choose()
    assert strength == scores.strengths[scores.best(lenience=1.0)]
    assert gain.verdict == "helped"


def test_without_a_gain_nothing_is_chosen(rng):
    scores = HeldOutScores((0.0, 1.0), tuple(rng.normal(size=(2, 20, 2))))
    strength, gain = scores.choose(confidence=0.9999)
    assert strength == 0
    assert gain.verdict == "unclear"


def test_held_out_samples_gain_by_a_planted_signal(rng):
    X, y = planted(rng)
    learner = MapLearner()
    scores = measure_strengths(learner, Labels(y), learner.vectors(X), [10.0, 100.0])
    assert sum(map(len, scores.folds)) == len(X)
    assert scores.gain().verdict == "helped"


def test_few_units_are_refused(rng):
    X, y = planted(rng, n=8, n_classes=2)
    with pytest.raises(TooFewExamplesError, match="a gain is told by at least 10"):
        measure_strengths(MapLearner(), Labels(y), X, [10.0], n_folds=2)


def test_leading_directions_change_nothing_outside_of_them(rng):
    X, y = planted(rng)
    learner = MapLearner(unit_length=False)
    options = {"tol": 1e-4, "max_rows": 10_000}
    basis = learner.leading_directions(X, 5)
    (learned,) = learner.path(Labels(y), X, [100.0], basis=basis, **options)
    change = learned.anchor_map - np.eye(X.shape[1])
    assert np.linalg.matrix_rank(change, tol=1e-8) <= 5
    assert learner.leading_directions(X, X.shape[1]) is None
    (whole,) = learner.path(Labels(y), X, [100.0], **options)
    assert np.linalg.matrix_rank(whole.anchor_map - np.eye(X.shape[1]), tol=1e-8) > 5


def test_one_map_of_own_queries_and_documents(rng):
    X, Q = rng.normal(size=(20, 3)), rng.normal(size=(4, 3))
    feedback = RelevantDocuments(Q, [(i, i) for i in range(4)])
    learner = MapLearner()
    options = {"tol": 1e-4, "max_rows": 1000}
    (learned,) = learner.path(feedback, learner.vectors(X), [10.0], **options)
    A, B = learner.mapped(learned, learner.vectors(Q), learner.vectors(X))
    assert learned.is_symmetric
    np.testing.assert_allclose(np.linalg.norm(np.vstack([A, B]), axis=1), 1)


def test_classes_are_held_out_as_a_whole(rng):
    X, y = planted(rng)
    feedback = Labels(np.arange(120) % 12, hold_out="classes")
    seen = []
    for training, held_out in feedback.folds(X, 4, 0):
        inside, out = ({*(part._rows % 12)} for part in (training, held_out))
        assert not inside & out
        assert len(held_out.scores(X, X)) == len(out)
        seen += out
    assert sorted(seen) == list(range(12))
    samples = Labels(np.arange(120) % 12).scores(X, X).reshape(-1, 12)
    np.testing.assert_allclose(feedback.scores(X, X), samples.mean(axis=0))
    with pytest.raises(ValueError, match="hold_out is 'groups'"):
        Labels(y, hold_out="groups")


@pytest.mark.slow
def test_scores_of_random_labels_have_twice_the_variance_of_independent_ones():
    ratios = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        X, other = rng.normal(size=(2, 60, 3))
        feedback = Labels(rng.integers(3, size=60))
        difference = feedback.scores(X, X) - feedback.scores(other, other)
        ratios.append(difference.mean() / (difference.std(ddof=1) / np.sqrt(60)))
    assert 1.2 < np.std(ratios) < 1.1 * np.sqrt(feedback.design_effect)
