"""Embeddings of texts: what the files hold, and what is said of files that hold other things."""

import numpy as np
import pytest

from frobmetric_paper.data import DatasetNotFoundError, NpzFile
from frobmetric_paper.data import embeddings as module
from frobmetric_paper.data.embeddings import (
    ENCODERS,
    has_embeddings,
    load_cranfield,
    load_intents,
    load_sts,
)

N = 4


@pytest.fixture
def folder(tmp_path, monkeypatch, rng):
    """Files of four texts each, and the shapes that belong to them."""
    monkeypatch.delenv("FROBMETRIC_DATA", raising=False)
    vectors = {name: rng.normal(size=(N, d)).astype(np.float16) for name, d in ENCODERS.items()}
    split = np.array(["train", "test", "train", "test"])
    arrays = {
        "banking77": vectors | {"label": np.array([0, 0, 1, 1], dtype=np.int16), "split": split},
        "cranfield": vectors
        | {f"query_{name}": X for name, X in vectors.items()}
        | {"rel": np.array([[0, 1, 4], [1, 2, -1]], dtype=np.int32)},
        "sts_2012_2014": vectors
        | {"pairs": np.array([[0, 1], [2, 3], [0, 2], [1, 3]]), "split": split}
        | {"score": np.array([0, 2.5, 5, 1], dtype=np.float32), "year": np.full(N, 2012)},
    }
    (tmp_path / "embeddings").mkdir()
    for name, content in arrays.items():
        np.savez(tmp_path / "embeddings" / f"{name}.npz", **content)
    files = {
        name: NpzFile(f"{name}.npz", {k: a.shape for k, a in content.items()}, kinds=module._KINDS)
        for name, content in arrays.items()
    }
    monkeypatch.setattr(module, "_INTENTS", {"banking77": files["banking77"]})
    monkeypatch.setattr(module, "_CRANFIELD", files["cranfield"])
    monkeypatch.setattr(module, "_STS", files["sts_2012_2014"])
    return tmp_path


def change(folder, name, **arrays):
    path = folder / "embeddings" / f"{name}.npz"
    with np.load(path) as npz:
        content = dict(npz)
    np.savez(path, **content | arrays)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_all_sets_have_vectors_of_unit_length(folder, encoder):
    found = load_intents("banking77", encoder, folder=folder)
    search, scored = load_cranfield(encoder, folder=folder), load_sts(encoder, folder=folder)
    for X in (found.X, search.documents, search.queries, scored.X):
        assert X.dtype == np.float32
        assert X.shape == (N, ENCODERS[encoder])
        np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, rtol=1e-5)
    assert found.is_test.tolist() == scored.is_test.tolist() == [False, True, False, True]
    assert search.relevance.tolist() == [[0, 1, 4], [1, 2, -1]]
    assert scored.score.tolist() == [0, 2.5, 5, 1]


def test_presence(folder, tmp_path_factory):
    assert has_embeddings(folder)
    assert not has_embeddings(tmp_path_factory.mktemp("empty"))
    assert not has_embeddings()


def test_errors(folder):
    with pytest.raises(ValueError, match=r"unknown data set 'banking'.*Did you mean 'banking77'"):
        load_intents("banking", "use", folder=folder)
    with pytest.raises(ValueError, match="unknown data set 'bert'"):
        load_intents("banking77", "bert", folder=folder)
    with pytest.raises(DatasetNotFoundError, match=r"cranfield\.npz is needed"):
        load_cranfield("use")


def test_files_with_other_content(folder):
    change(folder, "banking77", split=np.array(["train", "test", "dev", "test"]))
    with pytest.raises(ValueError, match=r"split\[2\].*'train' or 'test'"):
        load_intents("banking77", "use", folder=folder)
    change(folder, "banking77", split=np.arange(N))
    with pytest.raises(ValueError, match="expected strings of shape"):
        load_intents("banking77", "use", folder=folder)
    change(folder, "sts_2012_2014", score=np.array([0, 1, np.nan, 2], dtype=np.float32))
    with pytest.raises(ValueError, match=r"score\[2\].*finite"):
        load_sts("use", folder=folder)
    change(folder, "cranfield", use=np.zeros((N, 512), dtype=np.float16))
    with pytest.raises(ValueError, match="other than zero"):
        load_cranfield("use", folder=folder)
