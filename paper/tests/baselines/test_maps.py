"""Baselines that bend vectors: answers on small problems, and environments that are absent."""

import numpy as np
import pytest

from frobmetric_paper.baselines import MAP, ProgramFailedError, ProgramMissingError
from frobmetric_paper.baselines.environment import Environment


@pytest.fixture
def vectors(rng):
    return unit(rng.normal(size=(40, 3)))


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.parametrize("name", MAP)
def test_interface_of_those_that_bend_vectors(name):
    baseline = MAP[name]
    assert baseline.learns_from in ("pairs", "targets", "answers")
    assert all(len(set(family["strengths"])) > 1 for family in baseline.families)


def test_ridge_map_is_the_minimum(vectors, rng, in_process):
    targets, weight = rng.normal(size=(40, 3)), rng.uniform(0.5, 2, size=40)
    arrays = {"inputs": vectors, "targets": targets, "weight": weight}
    maps, detail = MAP["ridge_map"].fit(arrays, {"strengths": [0.5, 1e9]})
    assert detail["seconds"] > 0
    for W, pull in zip(maps, (0.5, 1e9), strict=True):
        gradient = vectors.T @ (weight[:, None] * (vectors @ W - targets)) + pull * (W - np.eye(3))
        np.testing.assert_allclose(gradient, 0, atol=1e-6)
    np.testing.assert_allclose(maps[1], np.eye(3), atol=1e-6)


@pytest.mark.slow
def test_adam_matrix_brings_similar_vectors_together(vectors, available):
    noise = np.array([0.0, 0.0, 3.0])
    rng = np.random.default_rng(1)
    first, second = (vectors + noise * rng.normal(size=(40, 1)) for _ in range(2))
    arrays = {"first": first, "second": second, "similarity": np.ones(40)}
    family = MAP["adam_matrix"].families[1] | {
        "learning_rate": 1e-2,
        "strengths": [1, 60],
        "dropout": 0.0,
    }
    early, late = available(MAP["adam_matrix"]).fit(arrays, family, limit=300)[0]

    def cosine(M):
        a, b = first @ M, second @ M
        return np.mean(np.sum(a * b, 1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1))

    assert cosine(late) > cosine(early) > cosine(np.eye(3))


@pytest.mark.slow
@pytest.mark.parametrize("k", [0, 1])
def test_nudge_moves_documents_towards_their_queries(k, vectors, available):
    # NUDGE-N leaves a document on the other side of its query where it is
    documents, queries = vectors, np.roll(vectors[3:5], 1, axis=1) + 2 * vectors[3:5]
    arrays = {"documents": documents, "queries": queries, "answers": np.array([[0, 3], [1, 4]])}
    family = MAP["nudge"].families[k] | {"strengths": [0.0, 0.02]}
    still, moved = available(MAP["nudge"]).fit(arrays, family, limit=300)[0]
    np.testing.assert_allclose(still, documents, atol=1e-6)
    change = np.linalg.norm(moved - documents, axis=1)
    assert np.flatnonzero(change > 1e-4).tolist() == [3, 4]
    before, after = (np.sum(unit(queries) * part[3:5], axis=1) for part in (documents, moved))
    assert (after > before).all()


def test_absent_environment(tmp_path, monkeypatch, vectors):
    monkeypatch.setenv("FROBMETRIC_CACHE", str(tmp_path))
    assert "torch has no environment yet" in MAP["nudge"].missing()
    with pytest.raises(ProgramMissingError, match="adam_matrix cannot run here"):
        MAP["adam_matrix"].fit({}, {"strengths": [1]})


def test_an_environment_that_cannot_be_made_is_not_finished(tmp_path, monkeypatch):
    monkeypatch.setenv("FROBMETRIC_CACHE", str(tmp_path))
    environment = Environment("none", ("no package of this name",))
    monkeypatch.setattr("venv.create", lambda folder, with_pip: folder.mkdir())
    failed = type("Run", (), {"returncode": 1, "stderr": "no such package"})
    monkeypatch.setattr("subprocess.run", lambda *args, **given: failed)
    with pytest.raises(ProgramFailedError, match="no such package"):
        environment.install()
    assert environment.missing()
