"""Adapters survive a file to the last bit; files that do not fit together are refused."""

import numpy as np
import pytest

from frobmetric import EmbeddingAdapter
from frobmetric.io import load, save

pytest.importorskip("safetensors", reason="models are safetensors files")
from safetensors import safe_open
from safetensors.numpy import save_file

from frobmetric.io.sealed import SEAL, seal_of

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*embedding unchanged:UserWarning"),
    pytest.mark.xfail(reason="adapters have no frozen value yet"),
]


def data(rng):
    y = np.arange(90) % 3
    X = 2 * rng.normal(size=(90, 7))
    X[:, :3] = 3 * np.eye(3)[y] + 0.5 * X[:, :3]
    return X, y


@pytest.mark.parametrize(
    "options",
    [
        {"strengths": [30.0, 100.0]},
        {"strength": 10.0, "n_components": 2},
        {"strength": 10.0, "side": "query"},
        {"strength": 10.0, "structure": "diagonal"},
        {"strength": 10.0, "structure": [3, 4]},
    ],
    ids=str,
)
def test_an_adapter_survives_a_file(rng, tmp_path, options):
    X, y = data(rng)
    adapter = EmbeddingAdapter(**options).fit(X, y)
    save(adapter, tmp_path / "adapter.safetensors")
    again = load(tmp_path / "adapter.safetensors")
    np.testing.assert_array_equal(again.transform(X), adapter.transform(X))
    np.testing.assert_array_equal(again.transform_query(X), adapter.transform_query(X))
    for name in ("report_", "certificate_", "cleaning_", "strength_", "changed_", "status_"):
        assert getattr(again, name) == getattr(adapter, name), name
    assert again.get_params() == adapter.get_params()
    if adapter.weights_ is None:
        assert again.weights_ is None
    else:
        np.testing.assert_array_equal(again.weights_, adapter.weights_)
    assert again.history_ == adapter.history_


def test_an_unchanged_adapter_survives_too(rng, tmp_path):
    X = rng.normal(size=(40, 3)).astype(np.float32)
    adapter = EmbeddingAdapter().fit(X, np.zeros(40, dtype=int))
    save(adapter, tmp_path / "adapter.safetensors")
    again = load(tmp_path / "adapter.safetensors")
    assert not again.changed_
    assert str(again.report_) == str(adapter.report_)
    assert again.transform(X).dtype == np.float32


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("query_components", np.ones((2, 7)), "query_components_ has shape"),
        ("components", np.full((7, 7), np.nan), "finite numbers"),
    ],
)
def test_a_damaged_file_is_refused(rng, tmp_path, name, array, message):
    X, y = data(rng)
    path = tmp_path / "adapter.safetensors"
    save(EmbeddingAdapter(strength=10.0).fit(X, y), path)
    with safe_open(path, framework="np") as file:
        header, names = file.metadata(), list(file.keys())
        tensors = {key: np.array(file.get_tensor(key)) for key in names}
    tensors |= {name: array}
    save_file(tensors, path, header | {SEAL: seal_of(tensors, header)})
    with pytest.raises(ValueError, match=message):
        load(path)


def test_parameters_changed_after_the_fit_are_refused(rng, tmp_path):
    X, y = data(rng)
    adapter = EmbeddingAdapter(strength=10.0).fit(X, y).set_params(n_components=3)
    with pytest.raises(ValueError, match="fit again"):
        save(adapter, tmp_path / "adapter.safetensors")
