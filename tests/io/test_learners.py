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


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", learners.__all__)
def test_a_learner_is_the_same_after_a_file(name, tmp_path):
    model = _fitted(name)
    save(model, tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors")
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    assert vars(loaded).get("certificate_") == vars(model).get("certificate_")
    assert vars(loaded).get("n_iter_") == vars(model).get("n_iter_")
    if name in TUPLES:
        tuples = TUPLES[name][0]
        np.testing.assert_array_equal(loaded.predict(tuples), model.predict(tuples))


def test_a_changed_file_is_refused(tmp_path):
    path = tmp_path / "model.safetensors"
    save(_fitted("LFDA"), path)
    with safe_open(path, "np") as file:
        tensors, header = {key: file.get_tensor(key) for key in file.keys()}, file.metadata()  # noqa: SIM118
    tensors["components"] = tensors["components"][:, :3].copy()
    save_file(tensors, path, header | {SEAL: seal_of(tensors, header)})
    with pytest.raises(ValueError, match=r"components has shape \(4, 3\)"):
        load(path)
