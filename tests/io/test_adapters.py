"""Adapters survive a file to the last bit; files that do not fit together are refused."""

import numpy as np
import pytest

from frobmetric import EmbeddingAdapter
from frobmetric.io import load, save
from model_files import contents, write

pytestmark = pytest.mark.filterwarnings("ignore:.*embedding unchanged:UserWarning")


def data(rng):
    y = np.arange(90) % 3
    X = 2 * rng.normal(size=(90, 7))
    X[:, :3] = 3 * np.eye(3)[y] + 0.5 * X[:, :3]
    return X, y


def test_an_unchanged_adapter_survives_too(rng, tmp_path):
    X = rng.normal(size=(40, 3)).astype(np.float32)
    adapter = EmbeddingAdapter().fit(X, np.zeros(40, dtype=int))
    save(adapter, tmp_path / "adapter.safetensors")
    again = load(tmp_path / "adapter.safetensors")
    assert not again.changed_
    assert str(again.report_) == str(adapter.report_)
    assert again.transform(X).dtype == np.float32


@pytest.mark.parametrize(
    ("tensors", "details", "message"),
    [
        ({"value.query_components": np.ones((2, 7))}, {}, "query_components_ has shape"),
        ({"value.components": np.full((7, 7), np.nan)}, {}, "finite numbers"),
        ({}, {"kept_share_": "half"}, "kept_share_ of EmbeddingAdapter is 'half'"),
        ({}, {"weights_": 1}, "weights_ of EmbeddingAdapter is 1"),
        ({}, {"frog_": 1}, "details has 'frog_'"),
    ],
)
def test_a_damaged_file_is_refused(rng, tmp_path, tensors, details, message):
    X, y = data(rng)
    path = tmp_path / "adapter.safetensors"
    save(EmbeddingAdapter(strength=10.0).fit(X, y), path)
    old, header = contents(path)
    header["value"]["LinearMap"]["details"]["mapping"] |= details
    write(path, old | tensors, header)
    with pytest.raises(ValueError, match=f"is damaged: .*{message}"):
        load(path)


def test_an_adapter_needs_its_report(rng, tmp_path):
    X, y = data(rng)
    path = tmp_path / "adapter.safetensors"
    save(EmbeddingAdapter(strength=10.0).fit(X, y), path)
    tensors, header = contents(path)
    header["value"]["LinearMap"]["choice"] = None
    write(path, tensors, header)
    with pytest.raises(ValueError, match="choice of EmbeddingAdapter is None; expected"):
        load(path)
