import numpy as np

from frobmetric.neighbors.knn import knn_error, knn_predict

X = np.array([[0.0], [1.0], [2.0], [10.0]])


def test_majority_wins():
    assert knn_predict(X, np.array(["a", "b", "b", "a"]), [[0.1]], k=3).tolist() == ["b"]


def test_a_tie_goes_to_the_nearest():
    assert knn_predict(X, np.array([2, 1, 0, 0]), [[0.1]], k=3).tolist() == [2]


def test_error_is_the_share_of_mistakes():
    assert knn_error(X, [0, 0, 1, 1], [[0.0], [2.0], [10.0], [10.0]], [0, 1, 1, 0], k=1) == 0.25
