"""Tampered models: a few edits of every kind, and those that somebody sealed again."""

import copy
import json
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_iris

from frobmetric import FrobMetric
from frobmetric.core import CertificateError
from frobmetric.io import load, save
from frobmetric.model.agreement import disagreements

pytest.importorskip("safetensors", reason="models are safetensors files")
from attack.suite.tampering import Content, Original, attack_files, is_other_basis
from attack.suite.victims import Victim

X, y = load_iris(return_X_y=True)


@pytest.mark.slow
def test_no_tampered_file_is_certified():
    found = attack_files(60, seed=5)
    assert found.n_tries == 60
    assert found.defects == []


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Models in files: both precisions, a prior by labels, and one that did not converge."""
    folder = tmp_path_factory.mktemp("models")
    options = {
        "plain": (FrobMetric(keep_dual=True, n_passes=1), np.float64),
        "single": (FrobMetric(keep_dual=True, n_passes=1), np.float32),
        "within": (FrobMetric(keep_dual=True, n_passes=1, prior="within"), np.float64),
        "unfinished": (FrobMetric(keep_dual=True, n_passes=1, max_iter=3, tol=1e-6), np.float64),
        "kernel": (FrobMetric(keep_dual=True, n_passes=1, kernel="rbf", prior=None), np.float64),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (model, kind) in options.items():
            save(model.fit(X.astype(kind), y), folder / name)
    return folder


def tampered(files, name, change, tmp_path):
    """Return the path of a copy that was changed and sealed again."""
    content = Content.read(files / name)
    change(content)
    path = tmp_path / name
    path.write_bytes(content.to_bytes(is_sealed=True))
    return path


def scale(tensor, factor):
    tensor = f"value.{tensor}"

    def change(content):
        array = content.tensors[tensor]
        content.tensors[tensor] = (array * factor).astype(array.dtype)

    return change


def in_single_precision(tensor):
    tensor = f"value.{tensor}"

    def change(content):
        content.tensors[tensor] = content.tensors[tensor].astype(np.float32)

    return change


def ask(part="Recipe", **values):
    """Return a change of what was asked of a fit."""

    def change(content):
        value = json.loads(content.header["value"])
        value["LinearMap"][part.lower()][part] |= values
        content.header["value"] = json.dumps(value)

    return change


def halve_history(content):
    value = json.loads(content.header["value"])
    for step in value["LinearMap"]["run"]["Run"]["history"]["tuple"]:
        step["Step"]["primal"] /= 2
    content.header["value"] = json.dumps(value)


def cut(content):
    content.tensors["value.components"] = content.tensors["value.components"][:1]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("plain", cut),
        ("plain", scale("components", 1 + 1e-6)),
        ("plain", scale("evidence.u", 0.999)),
        ("plain", ask(C=999.0)),
        ("plain", ask(n_neighbors=4)),
        ("plain", ask(loss="squared_hinge")),
        ("single", scale("components", 1 + 1e-6)),
        ("single", scale("components", 1.01)),
        ("within", scale("space.prior_factor", 1 + 1e-4)),
        ("within", ask(prior="shrunk")),
        ("unfinished", ask("Run", tol=10.0)),
        ("plain", ask("Certificate", gap=0.0)),
        ("plain", halve_history),
        ("kernel", in_single_precision("features.kernel.X_fit")),
        ("kernel", scale("features.kernel.X_fit", 1 + 1e-9)),
    ],
)
def test_what_was_sealed_again_is_found(files, tmp_path, name, change):
    path = tampered(files, name, change, tmp_path)
    assert outcome(path) != "certified"


def outcome(path):
    """Return what loading and proving a file says, in one line."""
    try:
        loaded = load(path)
        wrong = disagreements(loaded.certificate_, loaded.certify(X, y), loaded.history_)
    except ValueError as error:
        return str(error)
    return f"other claims: {wrong}" if wrong else "certified"


def test_untouched_models_are_certified(files):
    for name in ("plain", "single", "within", "unfinished", "kernel"):
        assert outcome(files / name) == "certified"


@pytest.mark.parametrize("name", ["plain", "single", "within"])
def test_only_the_labels_of_the_fit_are_certified(files, name):
    model = load(files / name)
    assert model.certify(X, y) == model.certify(X)
    swapped = y.copy()
    swapped[[3, 60]] = y[[60, 3]]
    for labels in (swapped, np.random.default_rng(0).permutation(y)):
        with pytest.raises(CertificateError, match=r"label|prior_factor_"):
            model.certify(X, labels)
    names = np.array(["a", "b", "c"])[y]
    assert model.certify(X, names) == model.certify(X)


def test_a_metric_that_is_optimal_for_the_changed_parameter_too_is_certified(files, tmp_path):
    model = load(files / "plain")
    prove = partial(FrobMetric.certify, X=X, y=y)
    original = Original(model, Victim(model, X, prove, partial(prove, exact=True)))
    near = tampered(files, "plain", ask(C=model.map_.recipe.C * (1 + 1e-6)), tmp_path)
    words = "certified: the metric is optimal for the changed parameter too"
    assert original.judge(near, is_same=False) == (words, True)
    far = tampered(files, "plain", ask(C=model.map_.recipe.C * 1.001), tmp_path)
    assert original.judge(far, is_same=False) == ("not certified", True)


@pytest.mark.parametrize("factor", [1.001, 2.0])
def test_a_certify_that_overlooks_a_parameter_is_a_defect(files, tmp_path, monkeypatch, factor):
    model = load(files / "plain")
    prove = partial(FrobMetric.certify, X=X, y=y)
    original = Original(model, Victim(model, X, prove, partial(prove, exact=True)))
    monkeypatch.setattr(Original, "_certified", lambda *_: True)
    path = tampered(files, "plain", ask(C=model.map_.recipe.C * factor), tmp_path)
    outcome, is_right = original.judge(path, is_same=False)
    assert not is_right
    assert outcome == "certified although changed: ['C']"


def test_an_edited_tolerance_is_refused(files, tmp_path):
    path = tampered(files, "unfinished", ask("Run", tol=10.0), tmp_path)
    with pytest.raises(ValueError, match="at which a fit with tol=10 ends"):
        load(path)


def test_only_rows_of_equal_eigenvalues_may_be_in_another_basis():
    model = FrobMetric(n_passes=1).fit(X, y)
    model.map_ = replace(model.map_, components=np.diag([2.0, 2.0, 1.0, 0.5]), rank=4)
    original = Original(model, Victim(model, X))

    def outcome(order, scale=1.0):
        other = copy.copy(model)
        other.map_ = replace(model.map_, components=scale * model.components_[order])
        return is_other_basis(original, other)

    assert outcome([1, 0, 2, 3])
    assert not outcome([0, 2, 1, 3])
    assert not outcome([1, 0, 2, 3], scale=1.001)
    original.mapped = original.mapped * (1 + 1e-6)
    assert not is_other_basis(original, copy.copy(model))
