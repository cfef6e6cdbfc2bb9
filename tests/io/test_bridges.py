"""Bridges between encoders survive a file to the last bit; damaged files are refused."""

import json

import numpy as np
import pytest

from frobmetric.embeddings import EncoderBridge
from frobmetric.io import load, save

pytest.importorskip("safetensors", reason="models are safetensors files")
from safetensors import safe_open
from safetensors.numpy import save_file

from frobmetric.io.sealed import SEAL, seal_of

pytestmark = pytest.mark.xfail(reason="bridges have no single frozen value yet")

OPTIONS = {"n_maps": 2, "neighbor_weight": 0.5, "random_state": 0}


@pytest.fixture(scope="module")
def vectors():
    rng = np.random.default_rng(0)
    meaning = rng.standard_normal((200, 5))
    return meaning @ rng.standard_normal((5, 6)), meaning @ rng.standard_normal((5, 7))


def damage(path, change):
    with safe_open(path, framework="np") as file:
        keys, header = file.keys(), file.metadata()
        tensors = {key: file.get_tensor(key) for key in keys}
    change(header, tensors)
    tensors = {key: np.ascontiguousarray(value) for key, value in tensors.items()}
    save_file(tensors, path, header | {SEAL: seal_of(tensors, header)})


def _set(header, name, value):
    fitted = json.loads(header["fitted"])
    header["fitted"] = json.dumps(fitted | {name: value})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h, t: t.update(index=t["index"][:, 1:]), "coefficients has shape"),
        (lambda h, t: t.update(mean=t["mean"] * np.nan), "mean must hold finite"),
        (lambda h, t: t.pop("centers"), "lacks 'centers'"),
        (lambda h, t: _set(h, "cell_scale", -1.0), "cell_scale = -1.0 is not a positive"),
        (lambda h, t: _set(h, "n_calibration", 1), "more bad calibration pairs"),
        (lambda h, t: h.update(parameters='{"n_maps": 0}'), "n_maps"),
    ],
)
def test_a_damaged_file_is_refused(vectors, tmp_path, change, message):
    path = tmp_path / "bridge.safetensors"
    new, old = vectors
    noise = np.random.default_rng(1).standard_normal(old.shape)
    save(EncoderBridge(**OPTIONS).fit(new, old + 2 * noise), path)
    damage(path, change)
    with pytest.raises(ValueError, match=message):
        load(path)


def test_another_class_of_this_name_is_refused(vectors, tmp_path):
    other = type("EncoderBridge", (EncoderBridge,), {})(**OPTIONS, strength=1.0).fit(*vectors)
    with pytest.raises(TypeError, match="is not the EncoderBridge"):
        save(other, tmp_path / "bridge.safetensors")
