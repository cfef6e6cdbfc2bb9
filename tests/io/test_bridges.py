"""Files of bridges between encoders: what does not belong together is refused."""

import numpy as np
import pytest

from frobmetric.embeddings import EncoderBridge
from frobmetric.io import load, load_map, save
from frobmetric.learners import Covariance
from model_files import changed, contents, write

OPTIONS = {"n_maps": 2, "neighbor_weight": 0.5, "random_state": 0}


@pytest.fixture(scope="module")
def vectors():
    rng = np.random.default_rng(0)
    meaning = rng.standard_normal((200, 5))
    return meaning @ rng.standard_normal((5, 6)), meaning @ rng.standard_normal((5, 7))


BRIDGE = ("EncoderMap", "bridge", "Bridge")
TRUST = ("EncoderMap", "trust", "TrustScore")


@pytest.fixture(scope="module")
def saved(vectors, tmp_path_factory):
    """A file of a bridge with bad calibration pairs, and the bridge."""
    path, (new, old) = tmp_path_factory.mktemp("bridges") / "bridge.safetensors", vectors
    noise = np.random.default_rng(1).standard_normal(old.shape)
    bridge = EncoderBridge(**OPTIONS).fit(new, old + 2 * noise)
    save(bridge, path)
    return path, bridge


def test_an_index_is_written_once(saved):
    tensors, _ = contents(saved[0])
    assert sum(array.shape == saved[1].index_.vectors.shape for array in tensors.values()) == 1


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("index.vectors", lambda array: array[:, 1:], "coefficients has shape"),
        ("bridge.cells.mean", lambda array: array * np.nan, "mean must hold finite"),
        ("bridge.cells.centers", lambda array: array[:, 1:], "centers has shape"),
        ("bridge.coefficients", lambda array: array[1:], "coefficients has shape"),
        ("trust.X_fit", lambda array: array[:, 1:], "X_fit has shape"),
    ],
)
def test_tensors_that_do_not_belong_together(saved, tmp_path, name, change, message):
    path, name = tmp_path / "bridge.safetensors", f"value.{name}"
    tensors, header = contents(saved[0])
    write(path, tensors | {name: change(tensors[name])}, header)
    with pytest.raises(ValueError, match=f"is damaged: .*{message}"):
        load(path)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ((*BRIDGE, "cells", "Cells", "scale"), -1.0, "scale = -1.0 is not a positive"),
        ((*BRIDGE, "setting"), None, "setting of Bridge is None"),
        ((*TRUST, "n_calibration"), 1, "more bad calibration pairs"),
        (("EncoderMap", "new_scale"), 0.0, "new_scale = 0.0 is not a positive number"),
        (("EncoderMap", "features", "Features", "unit_length"), False, "only one of map and index"),
        (("EncoderMap", "report"), 1, "report of EncoderMap is 1"),
    ],
)
def test_fields_that_say_nonsense(saved, tmp_path, place, value, message):
    path = tmp_path / "bridge.safetensors"
    tensors, header = contents(saved[0])
    write(path, tensors, header | {"value": changed(header["value"], place, value)})
    with pytest.raises(ValueError, match=f"is damaged: .*{message}"):
        load(path)


def test_a_bridge_is_no_map_and_a_map_is_no_bridge(saved, tmp_path):
    with pytest.raises(ValueError, match="it holds a EncoderMap of a EncoderBridge, not a map"):
        load_map(saved[0])
    path, parameters = tmp_path / "m", {"mapping": {}}
    tensors, header = contents(saved[0])
    write(path, tensors, header | {"class": "Covariance", "parameters": parameters})
    with pytest.raises(ValueError, match="'EncoderMap' object has no attribute 'components'"):
        load(path)
    save(Covariance().fit(np.eye(3)).map_, path)
    tensors, header = contents(path)
    write(path, tensors, header | {"class": "EncoderBridge"})
    with pytest.raises(ValueError, match="'LinearMap' object has no attribute 'bridge'"):
        load(path)


def test_another_class_of_this_name_is_refused(vectors, tmp_path):
    other = type("EncoderBridge", (EncoderBridge,), {"__module__": "other"})
    with pytest.raises(TypeError, match="type EncoderBridge cannot be saved"):
        save(other(**OPTIONS, strength=1.0).fit(*vectors), tmp_path / "bridge.safetensors")
