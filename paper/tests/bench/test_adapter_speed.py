"""Comparisons of queries and documents, measured on a small scale."""

import numpy as np
import pytest

from frobmetric_paper.bench.adapter_speed import (
    FIELD_CS,
    QUERY_CS,
    compared_documents,
    drawn_texts,
    field_problem,
    lifted,
    measure_fit,
    measure_queries,
    measure_structure,
    wrong_share,
)
from frobmetric_paper.harness.benchmark import Options


def test_lifted_features_have_unit_length_and_the_inner_products_of_a_kernel(rng):
    X = rng.normal(size=(20, 4)) / 4
    Z = lifted(X, 20_000)
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 1.0)
    np.testing.assert_allclose(Z @ Z.T, np.exp(-(distances**2) / 2), atol=0.05)


def test_near_documents_have_the_intent_of_the_query_and_far_ones_another():
    X, y = drawn_texts(200)
    A, y_A, B, y_B = X[:50], y[:50], X[50:], y[50:]
    index = compared_documents(A, y_A, B, y_B, 2, 3)
    query, near, same, far = index.T
    assert index.shape == (50 * 2 * 3, 4)
    np.testing.assert_array_equal(query, same)
    assert (y_B[near] == y_A[query]).all()
    assert (y_B[far] != y_A[query]).all()
    others = (y_B != y_A[0]).nonzero()[0]
    assert (A[0] @ B[others].T).argmax() in np.searchsorted(others, far[query == 0])


def test_the_small_version_fills_the_table(monkeypatch):
    stored = []
    monkeypatch.setattr(
        "frobmetric_paper.bench.adapter_speed.in_new_process",
        lambda target, task, options: globals_of(target)(task)[1],
    )
    rows = measure_queries(Options(is_quick=True, store=stored.append))
    assert [row["C"] for row in rows] == list(QUERY_CS)
    assert stored[-1] == rows
    for row in rows:
        assert row["gap"] <= 1e-3
        assert row["wrong_after"] <= row["wrong_before"]


@pytest.mark.filterwarnings("ignore:no significant gain:UserWarning")
def test_a_fit_as_a_user_calls_it(monkeypatch):
    monkeypatch.setattr(
        "frobmetric_paper.bench.adapter_speed.in_new_process",
        lambda target, task, options: globals_of(target)(task)[1],
    )
    (row,) = measure_fit(Options(is_quick=True))
    assert (row["n_samples"], row["n_classes"]) == (200, 10)
    assert row["gap"] <= 1e-3
    assert "precision@3" in row["report"]


def globals_of(target):
    """Return the function that a worker would call."""
    from frobmetric_paper.bench import adapter_speed

    return getattr(adapter_speed, target.partition(":")[2])


def test_the_share_of_wrong_rows():
    A, B = np.eye(2), np.eye(2)
    assert wrong_share(A, B, np.array([[0, 0, 0, 1], [1, 0, 1, 1]])) == 0.5


def test_most_answers_follow_the_weights_of_the_fields():
    X, index, weights = field_problem(6, 2, 100, 4_000)
    a, b, c, d = (X[index[:, k]] for k in range(4))
    margins = ((c - d) ** 2 - (a - b) ** 2) @ np.repeat(weights, 2)
    assert 0.75 < np.mean(margins >= 0) < 0.95
    assert (weights == 0).sum() == 2


def test_the_small_version_learns_weights_of_fields(monkeypatch):
    monkeypatch.setattr(
        "frobmetric_paper.bench.adapter_speed.in_new_process",
        lambda target, task, options: globals_of(target)(task)[1],
    )
    rows = measure_structure(Options(is_quick=True, store=lambda rows: None))
    assert [row["C"] for row in rows] == list(FIELD_CS)
    for row in rows:
        assert row["gap"] <= 1e-6
        assert 0 < row["solver_seconds"] <= row["seconds"]
    assert rows[-1]["correlation"] > 0.9
