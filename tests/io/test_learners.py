"""Learners of other methods in files: what only some of them have, and what is not theirs."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from frobmetric import learners
from frobmetric.io import load, save
from frobmetric.learning.constraints import DrawnConstraints
from model_files import contents, write

X, y = load_iris(return_X_y=True)
X = X + 1e-3 * np.random.default_rng(0).standard_normal(X.shape)
RNG = np.random.default_rng(1)
PAIRS, KINDS = X[RNG.integers(150, size=(60, 2))], np.where(RNG.random(60) < 0.5, 1, -1)
TUPLES = {
    **dict.fromkeys(["ITML", "MMC", "GMML", "SDML"], (PAIRS, KINDS)),
    "LSML": (X[RNG.integers(150, size=(60, 4))],),
    "SCML": (X[DrawnConstraints(y).generate_knntriplets(X, 2, 2)],),
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
    tensors, header = contents(path)
    tensors["value.components"] = tensors["value.components"][:, :3]
    write(path, tensors, header)
    with pytest.raises(ValueError, match=r"components_ has shape \(4, 3\)"):
        load(path)


def test_what_only_one_learner_has(tmp_path):
    path = tmp_path / "model.safetensors"
    save(_fitted("ITML"), path)
    tensors, header = contents(path)
    details = header["value"]["LinearMap"]["details"]["mapping"]
    assert details == {"bounds_": {"array": ["value.details.bounds_", "C"]}}
    details["frog_"] = 1
    write(path, tensors, header)
    with pytest.raises(ValueError, match="details has 'frog_', which is not known here"):
        load(path)


@pytest.mark.parametrize("name", ["ITML", "MMC", "GMML"])
def test_a_promise_on_points_that_were_learned_from_is_told(tmp_path, name):
    model = _fitted(name)
    save(model, tmp_path / "m")
    for each in (model, load(tmp_path / "m")):
        with pytest.warns(UserWarning, match="are points that the model was learned from"):
            each.promise_threshold(PAIRS, KINDS, max_false_match=0.5, confidence=0.5)
