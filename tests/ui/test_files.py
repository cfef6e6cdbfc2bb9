"""Models survive a file to the last bit; a file that is not one is refused with a reason."""

import json
import os
import pickle
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError

from frobmetric.core import CertificateError
from frobmetric.metric import BoostMetric, FrobMetric, FrobMetricCV
from frobmetric.ui.files import FORMAT_VERSION, load, save
from frobmetric.ui.model_checks import disagreements

pytest.importorskip("safetensors", reason="models are safetensors files")
from safetensors import safe_open
from safetensors.numpy import save_file

X, y = load_iris(return_X_y=True)
TRIPLETS = np.array([[0, 1, 60], [0, 2, 99], [60, 61, 120]])


@pytest.fixture(scope="module")
def fitted():
    return {
        "plain": FrobMetric().fit(X, y),
        "dual": FrobMetric(keep_dual=True, n_passes=2).fit(X, y),
        "single": FrobMetric(keep_dual=True).fit(X.astype(np.float32), y),
        "truncated": FrobMetric(n_components=2, C=np.float64(10)).fit(X, y),
        "rank": FrobMetric(n_components="rank", loss="squared_hinge", keep_dual=True).fit(X, y),
        "prior": FrobMetric(prior=np.diag([1.0, 2, 3, 4]), keep_dual=True).fit(X, y),
        "named prior": FrobMetric(prior="within", pull=0.1, keep_dual=True).fit(X, y),
        "boosted": BoostMetric(keep_dual=True).fit(X, y),
        "triplets": FrobMetric(keep_dual=True).fit(
            X, triplets=TRIPLETS, triplet_weight=[1.0, 2.0, 0.5]
        ),
        "cv": FrobMetricCV(Cs=np.array([1.0, 100.0]), cv=2, keep_dual=True).fit(X, y),
    }


@pytest.fixture
def saved(fitted, tmp_path):
    path = tmp_path / "model.safetensors"
    save(fitted["dual"], path)
    return path


def tamper(path, header=None, tensors=None, drop=()):
    """Write the file again with some parts of it changed."""
    with safe_open(path, framework="np") as file:
        old_header, names = file.metadata(), list(file.keys())
        old = {name: np.array(file.get_tensor(name)) for name in names}
    new = {name: array for name, array in (old | (tensors or {})).items() if name not in drop}
    new_header = {k: v for k, v in (old_header | (header or {})).items() if k not in drop}
    save_file(new, path, new_header)


def edit(path, part, **changes):
    """Change values inside one JSON part of the header."""
    with safe_open(path, framework="np") as file:
        content = json.loads(file.metadata()[part])
    tamper(path, {part: json.dumps(content | changes)})


@pytest.mark.parametrize(
    "name",
    ["plain", "dual", "single", "truncated", "rank", "prior", "named prior", "boosted", "triplets",
     "cv"],
)
def test_round_trip(fitted, tmp_path, name):
    model = fitted[name]
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert type(loaded) is type(model)
    data = X.astype(model.components_.dtype)
    assert loaded.transform(data).tobytes() == model.transform(data).tobytes()
    assert loaded.components_.dtype == model.components_.dtype
    assert loaded.certificate_ == model.certificate_
    assert loaded.history_ == model.history_
    for attribute in ("scale_", "rank_", "n_iter_", "n_triplets_", "status_", "n_features_in_"):
        assert getattr(loaded, attribute) == getattr(model, attribute)
    assert hasattr(loaded, "dual_coef_") == model.keep_dual
    if model.keep_dual:
        assert loaded.certify(data) == model.certify(data)
        np.testing.assert_array_equal(loaded.triplets_.to_array(), model.triplets_.to_array())


def test_one_sample_transforms_to_the_same_bits(tmp_path):
    """BLAS sums a single row in another order if the matrix lies otherwise in memory."""
    samples, classes = load_wine(return_X_y=True)
    model = FrobMetric().fit(samples, classes)
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert np.isfortran(loaded.components_) == np.isfortran(model.components_)
    for row in samples:
        assert loaded.transform([row]).tobytes() == model.transform([row]).tobytes()


def test_parameters_survive_so_that_a_clone_fits_alike(fitted, tmp_path):
    save(fitted["prior"], tmp_path / "m")
    again = clone(load(tmp_path / "m")).fit(X, y)
    np.testing.assert_array_equal(again.components_, fitted["prior"].components_)


def test_cross_validation_survives(fitted, tmp_path):
    save(fitted["cv"], tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.C_ == fitted["cv"].C_ == loaded.C
    np.testing.assert_array_equal(loaded.cv_errors_, fitted["cv"].cv_errors_)
    np.testing.assert_array_equal(loaded.Cs, [1.0, 100.0])


def test_names_output_and_pickle(tmp_path):
    pandas = pytest.importorskip("pandas", reason="feature names come from data frames")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = FrobMetric().fit(frame, y).set_output(transform="pandas")
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    pandas.testing.assert_frame_equal(loaded.transform(frame), model.transform(frame))
    assert list(loaded.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        loaded.transform(frame[list("dcba")])
    unpickled = pickle.loads(pickle.dumps(loaded))
    pandas.testing.assert_frame_equal(unpickled.transform(frame), model.transform(frame))
    plain = loaded.set_output(transform="default").transform(frame)
    assert isinstance(plain, np.ndarray)


def test_infinities_and_nan_survive(fitted, tmp_path):
    model = clone(fitted["plain"]).fit(X, y)
    model.certificate_ = replace(model.certificate_, gap=np.inf, min_eigenvalue=np.nan)
    model.set_params(tol=np.inf)
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.certificate_.gap == np.inf
    assert np.isnan(loaded.certificate_.min_eigenvalue)
    assert loaded.tol == np.inf
    with safe_open(tmp_path / "m", framework="np") as file:
        assert "Infinity" not in str(file.metadata())
        assert "NaN" not in str(file.metadata())


def test_what_is_no_plain_value_loads_as_the_default(tmp_path):
    seed = np.random.RandomState(0)
    model = FrobMetric(random_state=seed, callback=lambda step: False).fit(X, y)
    with pytest.warns(UserWarning, match="random_state=RandomState.*cannot be written"):
        save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.random_state is None
    assert loaded.callback is None


def test_only_fitted_models_of_known_classes_are_saved(tmp_path):
    class Mine(FrobMetric):
        pass

    with pytest.raises(NotFittedError):
        save(FrobMetric(), tmp_path / "m")
    with pytest.raises(TypeError, match="a Mine cannot be saved; expected one of"):
        save(Mine().fit(X, y), tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_crash_leaves_the_old_file(fitted, saved, monkeypatch):
    before = saved.read_bytes()

    def crash(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(OSError, match="disk full"):
        save(fitted["plain"], saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_a_link_stays_a_link(fitted, saved, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(saved)
    save(fitted["plain"], link)
    assert link.is_symlink()
    assert not hasattr(load(saved), "dual_coef_")


def test_where_no_file_can_be(fitted, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"folder .* does not exist; create it"):
        save(fitted["plain"], tmp_path / "no" / "m")
    with pytest.raises(OSError, match="not a regular file"):
        save(fitted["plain"], tmp_path)


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist; expected a model"):
        load(tmp_path / "m")
    with pytest.raises(FileNotFoundError, match="is not a file"):
        load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"5.1,3.5\n", bytes(range(256))])
def test_other_content(tmp_path, content):
    path = tmp_path / "m"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not a whole safetensors file"):
        load(path)


def test_truncated_file(saved):
    saved.write_bytes(saved.read_bytes()[:-8])
    with pytest.raises(ValueError, match="not a whole safetensors file"):
        load(saved)


def test_tensors_of_another_program(tmp_path):
    save_file({"weight": np.ones(3)}, tmp_path / "m")
    with pytest.raises(ValueError, match="not a model saved by frobmetric"):
        load(tmp_path / "m")


def test_a_newer_format_asks_for_an_upgrade(saved):
    tamper(saved, {"format_version": str(FORMAT_VERSION + 1)})
    with pytest.raises(ValueError, match=r"format version 2 .*upgrade"):
        load(saved)


@pytest.mark.parametrize("version", ["", "one", "-1"])
def test_a_version_that_is_no_number(saved, version):
    tamper(saved, {"format_version": version})
    with pytest.raises(ValueError, match="expected a number"):
        load(saved)


@pytest.mark.parametrize(
    "name", ["components", "dual_coef", "history", "triplets.near.0", "certificate", "fitted"]
)
def test_a_missing_part(saved, name):
    tamper(saved, drop=[name])
    with pytest.raises(ValueError, match=f"is damaged: it lacks '{name}'"):
        load(saved)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"components": np.ones((4, 3))}, r"components has shape \(4, 3\); expected"),
        ({"components": np.full((4, 4), np.nan)}, "finite numbers"),
        ({"components": np.ones((4, 4), dtype=np.int64)}, "finite numbers"),
        ({"dual_coef": np.ones(3)}, "it says 1350 triplets"),
        ({"history": np.ones((2, 4))}, "values to unpack"),
        ({"triplets.near.0": np.ones((2, 3), dtype=np.int64)}, "block 0 of the triplets"),
        ({"triplets.far.0": -np.ones((150, 3), dtype=np.int64)}, "must hold row numbers"),
        ({"triplets.anchors.0": np.ones(150)}, "must hold row numbers"),
    ],
)
def test_tensors_that_do_not_belong_together(saved, tensors, message):
    tamper(saved, tensors=tensors)
    with pytest.raises(ValueError, match=f"is damaged: .*{message}"):
        load(saved)


@pytest.mark.parametrize(
    ("part", "changes", "message"),
    [
        ("fitted", {"n_features_in_": 5}, "expected .*, 5"),
        ("fitted", {"rank_": "many"}, "integer"),
        ("fitted", {"scale_": 0}, "scale_ = 0"),
        ("parameters", {"colour": "red"}, "colour"),
        ("parameters", {"prior": {"tensor": "nowhere"}}, "lacks 'nowhere'"),
        ("certificate", {"gap": "wide"}, "could not convert"),
        ("certificate", {"proof": 1}, "proof"),
        ("tensors", {"components": "Z"}, "order"),
    ],
)
def test_headers_that_say_nonsense(saved, part, changes, message):
    edit(saved, part, **changes)
    with pytest.raises(ValueError, match=f"is damaged: .*{message}"):
        load(saved)


def test_no_class_of_its_own_choice(saved):
    tamper(saved, {"class": "subprocess.Popen"})
    with pytest.raises(ValueError, match=r"'subprocess.Popen' is not known"):
        load(saved)


def test_feature_names_of_another_number(saved):
    tamper(saved, {"feature_names": '["a", "b"]'})
    with pytest.raises(ValueError, match="2 feature names for 4 features"):
        load(saved)


@pytest.mark.parametrize("json_text", ["{", "[" * 100_000, "3"])
def test_broken_json(saved, json_text):
    tamper(saved, {"parameters": json_text})
    with pytest.raises(ValueError, match="is damaged"):
        load(saved)


def test_changed_components_are_not_certified(saved):
    components = load(saved).components_.copy()
    components[0, 0] *= 1.5
    tamper(saved, tensors={"components": components})
    with pytest.raises(CertificateError, match="the model was changed"):
        load(saved).certify(X)


@pytest.mark.parametrize(
    "field",
    ["primal", "dual", "gap", "relative_gap", "distance_bound", "min_eigenvalue", "violation"],
)
def test_a_changed_claim_is_noticed(fitted, field):
    truth = fitted["dual"].certificate_
    assert disagreements(truth, truth) == []
    changed = replace(truth, **{field: getattr(truth, field) + 0.1})
    assert disagreements(changed, truth) == [field]
    assert disagreements(replace(truth, **{field: np.nan}), truth) == [field]


def test_a_missing_extra_says_what_to_install(fitted, saved, monkeypatch):
    for module in ("safetensors", "safetensors.numpy"):
        monkeypatch.setitem(sys.modules, module, None)
    message = r"this needs safetensors; install it with: pip install 'frobmetric\[cli\]'"
    with pytest.raises(ImportError, match=message):
        save(fitted["plain"], saved)
    with pytest.raises(ImportError, match=message):
        load(saved)
