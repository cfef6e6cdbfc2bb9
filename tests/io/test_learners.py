"""Learners of other methods survive a file to the last bit."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from frobmetric import Constraints, learners
from frobmetric.io import load, save

pytest.importorskip("safetensors", reason="models are safetensors files")
from safetensors import safe_open
from safetensors.numpy import save_file

from frobmetric.io.sealed import SEAL, seal_of

X, y = load_iris(return_X_y=True)
X = X + 1e-3 * np.random.default_rng(0).standard_normal(X.shape)
RNG = np.random.default_rng(1)
PAIRS, KINDS = X[RNG.integers(150, size=(60, 2))], np.where(RNG.random(60) < 0.5, 1, -1)
TUPLES = {
    **dict.fromkeys(["ITML", "MMC", "GMML", "SDML"], (PAIRS, KINDS)),
    "LSML": (X[RNG.integers(150, size=(60, 4))],),
    "SCML": (X[Constraints(y).generate_knntriplets(X, 2, 2)],),
}
OPTIONS = {"SDML": {"balance_param": 1e-5}, "SDML_Supervised": {"balance_param": 1e-5}}


def _fitted(name):
    model = getattr(learners, name)(**OPTIONS.get(name, {}))
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    return model.fit(*TUPLES.get(name, (X, y)))


def test_a_changed_file_is_refused(tmp_path):
    path = tmp_path / "model.safetensors"
    save(_fitted("LFDA"), path)
    with safe_open(path, "np") as file:
        tensors, header = {key: file.get_tensor(key) for key in file.keys()}, file.metadata()  # noqa: SIM118
    tensors["components"] = tensors["components"][:, :3].copy()
    save_file(tensors, path, header | {SEAL: seal_of(tensors, header)})
    with pytest.raises(ValueError, match=r"components has shape \(4, 3\)"):
        load(path)
