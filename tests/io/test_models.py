"""Models survive a file to the last bit; a file that is not one is refused with a reason."""

import json
import os
import pickle
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold

from frobmetric import NearestClass
from frobmetric.core import CertificateError
from frobmetric.io import disagreements, load, save
from frobmetric.io.sealed import FORMAT_VERSION, SEAL, read_sealed, seal_of
from frobmetric.metric import (
    BoostMetric,
    FrobMetric,
    FrobMetricCV,
    PairFrobMetric,
    QuadrupletFrobMetric,
    TripletFrobMetric,
)

pytest.importorskip("safetensors", reason="models are safetensors files")
from safetensors import safe_open
from safetensors.numpy import save_file

pytestmark = pytest.mark.filterwarnings(
    "ignore:the best C is|the learned metric does not help|the chosen metric has"
)

X, y = load_iris(return_X_y=True)
X[142, 0] += 0.1  # otherwise equal to row 101
SPECIES = np.array(["setosa", "versicolor", "virginica"])[y]
TRIPLETS = np.array([[0, 1, 60], [0, 2, 99], [60, 61, 120]])
QUADRUPLETS = np.array([[0, 1, 2, 60], [50, 51, 60, 110], [70, 71, 0, 140]])
PAIRS, KINDS = np.array([[0, 1], [50, 51], [0, 50], [50, 100], [0, 100]]), [1, 1, -1, -1, -1]


@pytest.fixture(scope="module")
def fitted():
    return {
        "plain": FrobMetric().fit(X, y),
        "dual": FrobMetric(keep_dual=True, n_passes=1).fit(X, y),
        "passes": FrobMetric(keep_dual=True, n_passes=3).fit(X, y),
        "units": FrobMetric(keep_dual=True, units="within").fit(X, y),
        "diagonal": FrobMetric(keep_dual=True, prior="diagonal").fit(X, y),
        "single": FrobMetric(keep_dual=True).fit(X.astype(np.float32), y),
        "truncated": FrobMetric(n_components=2, C=np.float64(10)).fit(X, y),
        "rank": FrobMetric(n_components="rank", loss="squared_hinge", keep_dual=True).fit(X, y),
        "prior": FrobMetric(prior=np.diag([1.0, 2, 3, 4]), keep_dual=True).fit(X, y),
        "named prior": FrobMetric(prior="within", pull=0.1, keep_dual=True).fit(X, y),
        "boosted": BoostMetric(keep_dual=True).fit(X, y),
        "triplets": FrobMetric(keep_dual=True).fit(
            X, triplets=TRIPLETS, triplet_weight=[1.0, 2.0, 0.5]
        ),
        "cv": FrobMetricCV(Cs=np.array([1.0, 100.0]), cv=2, keep_dual=True).fit(X, SPECIES),
    }


@pytest.fixture
def saved(fitted, tmp_path):
    path = tmp_path / "model.safetensors"
    save(fitted["dual"], path)
    return path


def tamper(path, header=None, tensors=None, drop=()):
    """Write the file again with some parts of it changed, and sealed again unless that is set."""
    with safe_open(path, framework="np") as file:
        old_header, names = file.metadata(), list(file.keys())
        old = {name: np.array(file.get_tensor(name)) for name in names}
    new = {name: array for name, array in (old | (tensors or {})).items() if name not in drop}
    new_header = {k: v for k, v in (old_header | (header or {})).items() if k not in drop}
    if SEAL not in (*(header or {}), *drop):
        new_header[SEAL] = seal_of(new, new_header)
    save_file(new, path, new_header)


def edit(path, part, **changes):
    """Change values inside one JSON part of the header."""
    with safe_open(path, framework="np") as file:
        content = json.loads(file.metadata()[part])
    tamper(path, {part: json.dumps(content | changes)})


@pytest.mark.parametrize(
    "name",
    [
        "plain",
        "dual",
        "passes",
        "units",
        "diagonal",
        "single",
        "truncated",
        "rank",
        "prior",
        "named prior",
        "boosted",
        "triplets",
        "cv",
    ],
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
    assert getattr(loaded, "units_", None) == getattr(model, "units_", None)
    weights = [getattr(each, "feature_weight_", None) for each in (loaded, model)]
    np.testing.assert_array_equal(*weights)
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


def test_a_choice_survives(fitted, tmp_path):
    model = fitted["cv"]
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.C_ == model.C_ == loaded.C
    assert loaded.best_params_ == model.best_params_
    np.testing.assert_array_equal(loaded.classes_, ["setosa", "versicolor", "virginica"])
    np.testing.assert_array_equal(loaded.Cs, [1.0, 100.0])
    assert loaded.report_.to_fields() == model.report_.to_fields()
    assert str(loaded.report_) == str(model.report_)
    assert loaded.report_._repr_html_() == model.report_._repr_html_()
    with pytest.raises(ValueError, match=r"a saved model.* fit a classifier such as NearestClass"):
        loaded.predict(X)


@pytest.mark.parametrize(
    "labels",
    [y, y > 0, y.astype(float), y.astype(np.int8), SPECIES, SPECIES.astype(object)],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_of_every_type_survive(tmp_path, labels):
    model = FrobMetricCV(Cs=[10.0], cv=2, prior=None, units="raw").fit(X, labels)
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(loaded.classes_, model.classes_)


def test_a_chosen_metric_is_updated_as_before(tmp_path):
    model = FrobMetricCV(Cs=[10.0], cv=2, keep_dual=True).fit(X[::2], y[::2])
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    for one in (loaded, model):
        one.partial_fit(X[1::2], y[1::2])
    np.testing.assert_array_equal(loaded.components_, model.components_)
    assert loaded.certify(X[1::2]) == model.certify(X[1::2])
    save(loaded, tmp_path / "m")
    assert load(tmp_path / "m").best_params_ == model.best_params_


def test_a_chosen_metric_with_a_prior_matrix_survives(tmp_path):
    model = FrobMetricCV(Cs=[10.0], cv=2, prior=np.diag([1.0, 2, 3, 4]), keep_dual=True).fit(X, y)
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.prior, model.prior)
    assert loaded.certify(X) == model.certify(X)


def edit_choice(path, **changes):
    """Change parts of the choice of a FrobMetricCV in a file; a function changes the old part."""
    with safe_open(path, framework="np") as file:
        content = json.loads(file.metadata()["choice"])
    for name, change in changes.items():
        content[name] = change(content[name]) if callable(change) else change
    tamper(path, {"choice": json.dumps(content)})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"best_params": {"C": 7.0}}, "best_params_ = .* are not"),
        ({"best_params": {"colour": "red"}}, "best_params_ = .* are not"),
        ({"best_params": lambda old: old | {"n_passes": 5}}, "best_params_ = .* are not"),
        ({"classes": {"dtype": "int64", "values": ["a", "b"]}}, "invalid literal"),
        ({"report": lambda old: old | {"setting": {}}}, "missing .* arguments"),
        ({"report": lambda old: old | {"colour": "red"}}, "colour"),
        ({"report": lambda old: old | {"n_folds": "many"}}, "integer"),
        ({"report": lambda old: old | {"rule_error": "low"}}, "could not convert"),
        (
            {"report": lambda old: old | {"errors": old["errors"] | {"n_both": -1}}},
            "expected numbers of samples",
        ),
        (
            {"report": lambda old: old | {"errors": old["errors"] | {"n_units": 0}}},
            "expected numbers of samples",
        ),
        (
            {"report": lambda old: old | {"euclidean": old["euclidean"] | {"units": "metres"}}},
            "'units' parameter",
        ),
        (
            {"report": lambda old: old | {"kinds": [[old["setting"] | {"C": -1.0}, 0.1, 0.1]]}},
            "'C' parameter",
        ),
    ],
)
def test_choices_that_say_nonsense(fitted, tmp_path, changes, message):
    save(fitted["cv"], tmp_path / "m")
    edit_choice(tmp_path / "m", **changes)
    with pytest.raises(ValueError, match=f"is damaged: .*{message}"):
        load(tmp_path / "m")


def test_a_choice_is_part_of_the_model(fitted, tmp_path):
    save(fitted["cv"], tmp_path / "m")
    tamper(tmp_path / "m", drop=["choice"])
    with pytest.raises(ValueError, match="it lacks best_params_"):
        load(tmp_path / "m")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fitted": {"units_": "metres"}}, "units_ = 'metres' is not one of"),
        ({"fitted": {"units_": "raw"}}, "it has feature_weight_ in raw units"),
        ({"tensors": {"feature_weight": np.ones(3)}}, r"feature_weight has shape \(1, 3\)"),
        ({"tensors": {"feature_weight": np.full(4, np.nan)}}, "feature_weight must hold finite"),
        ({"tensors": {"feature_weight": -np.ones(4)}}, "has the entry -1; expected none below 0"),
    ],
    ids=str,
)
def test_units_that_say_nonsense(fitted, tmp_path, changes, message):
    save(fitted["units"], tmp_path / "m")
    if "fitted" in changes:
        edit(tmp_path / "m", "fitted", **changes["fitted"])
    else:
        tamper(tmp_path / "m", tensors=changes["tensors"])
    with pytest.raises(ValueError, match=f"is damaged: .*{message}"):
        load(tmp_path / "m")


def test_units_are_not_lost(saved):
    header = json.loads(read_sealed(saved)[1]["fitted"])
    del header["units_"]
    tamper(saved, {"fitted": json.dumps(header)})
    with pytest.raises(ValueError, match="it lacks units_"):
        load(saved)


def test_scaled_units_need_their_weights(saved):
    edit(saved, "fitted", units_="within")
    with pytest.raises(ValueError, match="it lacks feature_weight_ in within units"):
        load(saved)


@pytest.mark.parametrize("name", ["plain", "dual", "cv", "boosted"])
def test_every_changed_byte_of_the_numbers_breaks_the_seal(fitted, tmp_path, name):
    path = tmp_path / "m"
    save(fitted[name], path)
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    rng = np.random.default_rng(0)
    for place in rng.integers(start, len(content), 50):
        changed = bytearray(content)
        changed[place] ^= rng.integers(1, 256)
        path.write_bytes(changed)
        with pytest.raises(ValueError, match="was changed or damaged after it was saved: its seal"):
            load(path)


@pytest.mark.parametrize(
    ("part", "changes"),
    [
        ("parameters", {"tol": 10.0}),
        ("parameters", {"C": 2.0}),
        ("fitted", {"status_": "optimal "}),
    ],
)
def test_an_edited_claim_breaks_the_seal(saved, part, changes):
    with safe_open(saved, framework="np") as file:
        header = file.metadata()
    content = json.dumps(json.loads(header[part]) | changes)
    tamper(saved, {part: content, SEAL: header[SEAL]})
    with pytest.raises(ValueError, match="its seal, a checksum of all that it holds"):
        load(saved)


def test_a_seal_is_not_dropped_quietly(saved):
    with safe_open(saved, framework="np") as file:
        seal = file.metadata()[SEAL]
    tamper(saved, drop=[SEAL])
    with pytest.raises(ValueError, match="has format version 3 and lacks a seal"):
        load(saved)
    tamper(saved, {"format_version": "2", SEAL: seal})
    with pytest.raises(ValueError, match="has format version 2 and has a seal"):
        load(saved)
    tamper(saved, {"format_version": "2"}, drop=[SEAL])
    with pytest.warns(UserWarning, match="has format version 2, whose files have no seal"):
        load(saved)


@pytest.mark.parametrize(
    ("part", "changes", "message"),
    [
        ("parameters", {"frog": 1}, "parameters has 'frog', which is not known here; expected"),
        ("parameters", {"tolx": 1}, "parameters has 'tolx', .* did you mean 'tol'"),
        ("parameters", {"loss": "frog"}, "'loss' parameter of FrobMetric must be one of"),
        ("fitted", {"frog_": 1}, "fitted has 'frog_'"),
        ("fitted", {"scale_": 10**400}, "int too large"),
    ],
)
def test_unknown_fields_are_named(saved, part, changes, message):
    edit(saved, part, **changes)
    with pytest.raises(ValueError, match=f"is damaged: .*{message}"):
        load(saved)


def test_other_unknown_contents_are_named(saved):
    tamper(saved, {"feature_names": "[1, 2, 3, 4]"})
    with pytest.raises(ValueError, match=r"feature_names = \[1, 2, 3, 4\] is not a list of texts"):
        load(saved)
    tamper(saved, {"feature_names": "[]"}, {"extra": np.ones(2)})
    with pytest.raises(ValueError, match="tensors has 'extra', which is not known"):
        load(saved)


@pytest.mark.filterwarnings("ignore:.*whose files have no seal")
class TestVersionOne:
    """Files without units, which are those of raw features."""

    def older(self, path, model):
        save(model, path)
        with safe_open(path, framework="np") as file:
            parts = {name: json.loads(file.metadata()[name]) for name in ("parameters", "fitted")}
        parts["parameters"].pop("units", None)
        parts["fitted"].pop("units_", None)
        header = {name: json.dumps(part) for name, part in parts.items()}
        tamper(path, header | {"format_version": "1"}, drop=[SEAL])
        return path

    @pytest.mark.parametrize("prior", [None, "within"])
    def test_are_of_raw_features(self, tmp_path, prior):
        model = FrobMetric(units="raw", prior=prior, C=10, keep_dual=True).fit(X, y)
        loaded = load(self.older(tmp_path / "m", model))
        assert loaded.units == loaded.units_ == "raw"
        assert loaded.certify(X) == model.certify(X)
        assert loaded.transform(X).tobytes() == model.transform(X).tobytes()
        again, other = (m.partial_fit(X[::2], y[::2]).components_ for m in (loaded, model))
        np.testing.assert_array_equal(again, other)

    def test_of_tuples(self, tmp_path):
        model = TripletFrobMetric(preprocessor=X, C=10, keep_dual=True).fit(TRIPLETS)
        loaded = load(self.older(tmp_path / "m", model))
        assert loaded.certify(X[TRIPLETS]) == model.certify(TRIPLETS)
        loaded.partial_fit(X[TRIPLETS])

    def test_of_boosting_have_no_units(self, fitted, tmp_path):
        loaded = load(self.older(tmp_path / "m", fitted["boosted"]))
        assert not hasattr(loaded, "units_")

    def test_of_a_choice_are_refused(self, fitted, tmp_path):
        path = self.older(tmp_path / "m", fitted["cv"])
        with pytest.raises(ValueError, match="FrobMetricCV of format version 1, which chose noth"):
            load(path)


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
    model.status_ = "interrupted"
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.certificate_.gap == np.inf
    assert np.isnan(loaded.certificate_.min_eigenvalue)
    with safe_open(tmp_path / "m", framework="np") as file:
        assert "Infinity" not in str(file.metadata())
        assert "NaN" not in str(file.metadata())


def test_what_is_no_plain_value_loads_as_the_default(tmp_path):
    folds = StratifiedKFold(2)
    options = {"cv": folds, "rule": NearestClass(5), "callback": lambda step: False}
    model = FrobMetricCV(Cs=[10.0], **options).fit(X, y)
    with pytest.warns(UserWarning, match=r"StratifiedKFold\(.* rule=Near.*\) cannot be written"):
        save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.cv == 3
    assert loaded.rule == "auto"
    assert loaded.report_.rule == model.report_.rule == "NearestClass(n_neighbors=5)"
    assert loaded.callback is None


def test_only_fitted_models_of_known_classes_are_saved(tmp_path):
    class Mine(FrobMetric):
        pass

    with pytest.raises(NotFittedError):
        save(FrobMetric(), tmp_path / "m")
    with pytest.raises(TypeError, match="type Mine cannot be saved; expected one of"):
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
    with pytest.raises(FileNotFoundError, match="is not a regular file; expected a model"):
        load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"5.1,3.5\n", bytes(range(256))])
def test_other_content(tmp_path, content):
    path = tmp_path / "m"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is damaged, or not a model saved by frobmetric"):
        load(path)


def test_truncated_file(saved):
    saved.write_bytes(saved.read_bytes()[:-8])
    with pytest.raises(ValueError, match="is damaged, or not a model saved by frobmetric"):
        load(saved)


def test_tensors_of_another_program(tmp_path):
    save_file({"weight": np.ones(3)}, tmp_path / "m")
    with pytest.raises(ValueError, match="not a model saved by frobmetric"):
        load(tmp_path / "m")


def test_a_newer_format_asks_for_an_upgrade(saved):
    tamper(saved, {"format_version": str(FORMAT_VERSION + 1)})
    with pytest.raises(ValueError, match=rf"format version {FORMAT_VERSION + 1} .*upgrade"):
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
        ({"triplets.far.0": -np.ones((150, 3), dtype=np.int64)}, "far.0.* is out of range"),
        ({"triplets.anchors.0": np.ones(150)}, "anchors.0 has dtype float64"),
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


KERNELS = {
    "rbf": {"kernel": "rbf"},
    "polynomial": {"kernel": "polynomial", "degree": 2, "coef0": 0.5, "n_components": 2},
    "few directions": {"kernel": "rbf", "gamma": 0.1, "n_directions": 6, "prior": "within"},
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_survive(tmp_path, name, dtype):
    data = X.astype(dtype)
    model = FrobMetric(C=10, keep_dual=True, **KERNELS[name]).fit(data[::2], y[::2])
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.transform(data).tobytes() == model.transform(data).tobytes()
    assert loaded.X_fit_.tobytes() == model.X_fit_.tobytes()
    for attribute in ("gamma_", "n_directions_", "kept_variance_"):
        assert getattr(loaded, attribute) == getattr(model, attribute)
    assert loaded.certify(data[::2]) == model.certify(data[::2])
    pairs = np.stack([X[:10], X[100:110]], axis=1)
    np.testing.assert_array_equal(loaded.pair_distance(pairs), model.pair_distance(pairs))


def test_given_values_of_a_kernel_survive(tmp_path):
    model = FrobMetric(C=10, kernel="precomputed").fit(X[::2] @ X[::2].T, y[::2])
    save(model, tmp_path / "m")
    K = X @ X[::2].T
    assert load(tmp_path / "m").transform(K).tobytes() == model.transform(K).tobytes()


def test_a_metric_of_sparse_data_survives(tmp_path):
    data = sp.csr_array(X * (X > 1))
    model = FrobMetric(C=10, n_directions=3, keep_dual=True).fit(data, y)
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.transform(data).tobytes() == model.transform(data).tobytes()
    assert loaded.certify(data) == model.certify(data)
    assert loaded.kept_variance_ == model.kept_variance_


def test_sparse_samples_of_a_kernel_are_refused_before_anything_is_written(saved):
    before = saved.read_bytes()
    model = FrobMetric(C=10, kernel="rbf").fit(sp.csr_array(X), y)
    with pytest.raises(TypeError, match=r"kernel='rbf' .* are sparse and cannot be written; fit"):
        save(model, saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_an_update_survives(tmp_path):
    model = FrobMetric(C=10, keep_dual=True).fit(X[::2], y[::2]).partial_fit(X[1::2], y[1::2])
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.prior_components_, model.prior_components_)
    assert loaded.certify(X[1::2]) == model.certify(X[1::2])
    again, other = (m.partial_fit(X, y).components_ for m in (loaded, model))
    np.testing.assert_array_equal(again, other)


def test_labels_and_triplets_together_survive(tmp_path):
    model = FrobMetric(C=10, keep_dual=True).fit(X, y, triplets=TRIPLETS, triplet_weight=[1, 2, 3])
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.certify(X) == model.certify(X)
    np.testing.assert_array_equal(loaded.triplets_.to_array(), model.triplets_.to_array())
    np.testing.assert_array_equal(loaded.triplets_.weight, model.triplets_.weight)


TUPLES = {
    "triplets": (TripletFrobMetric, {}, TRIPLETS, None),
    "triplets, kernel": (TripletFrobMetric, {"kernel": "rbf"}, TRIPLETS, [1, -1, 1]),
    "quadruplets": (QuadrupletFrobMetric, {"prior": "identity"}, QUADRUPLETS, None),
    "pairs": (PairFrobMetric, {}, PAIRS, KINDS),
    "pairs, kernel": (PairFrobMetric, {"kernel": "polynomial", "degree": 2}, PAIRS, KINDS),
    "pairs as triplets": (PairFrobMetric, {"strategy": "triplets", "n_neighbors": 1}, PAIRS, KINDS),
}


@pytest.mark.parametrize("name", TUPLES)
def test_learners_from_tuples_survive(tmp_path, name):
    kind, options, tuples, answers = TUPLES[name]
    model = kind(preprocessor=X, C=10, keep_dual=True, **options).fit(tuples, answers)
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert type(loaded) is kind
    assert loaded.preprocessor is None
    assert loaded.transform(X).tobytes() == model.transform(X).tobytes()
    np.testing.assert_array_equal(
        loaded.decision_function(X[tuples]), model.decision_function(tuples)
    )
    np.testing.assert_array_equal(loaded.predict(X[tuples]), model.predict(tuples))
    assert loaded.certify(X[tuples], answers) == model.certify(tuples, answers)
    assert loaded.n_contradictions_ == model.n_contradictions_
    for attribute in ("threshold_", "learned_threshold_", "gamma_"):
        assert getattr(loaded, attribute, None) == getattr(model, attribute, None)
    loaded.set_params(preprocessor=X)
    np.testing.assert_array_equal(loaded.predict(tuples), model.predict(tuples))
    with pytest.raises(ValueError, match="there is no preprocessor"):
        load(tmp_path / "m").predict(tuples)


def test_an_updated_learner_from_pairs_survives(tmp_path):
    model = PairFrobMetric(preprocessor=X, C=10, keep_dual=True).fit(PAIRS, KINDS)
    model.partial_fit(PAIRS + 3, KINDS)
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.unit_ == model.unit_
    assert loaded.certify(X[PAIRS + 3], KINDS) == model.certify(PAIRS + 3, KINDS)


def test_the_unit_of_updates_survives(tmp_path):
    model = FrobMetric(C=10, keep_dual=True, prior="within").fit(X[::2], y[::2])
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.unit_ == model.unit_ != model.scale_
    for one in (loaded, model):
        one.partial_fit(3 * X[1::2], y[1::2])
    np.testing.assert_array_equal(loaded.components_, model.components_)
    save(model, tmp_path / "m")
    assert load(tmp_path / "m").unit_ == model.unit_
    assert load(tmp_path / "m").certify(3 * X[1::2]) == model.certify(3 * X[1::2])
    edit(tmp_path / "m", "fitted", unit_=0.0)
    with pytest.raises(ValueError, match=r"is damaged: unit_ = 0.0 is not a positive number"):
        load(tmp_path / "m")


def test_updates_need_their_unit(fitted, tmp_path):
    path = tmp_path / "m"
    save(fitted["boosted"], path)
    assert not hasattr(load(path), "unit_")
    save(FrobMetric(C=10).fit(X[::2], y[::2]), path)
    with safe_open(path, framework="np") as file:
        content = json.loads(file.metadata()["fitted"])
    del content["unit_"]
    tamper(path, {"fitted": json.dumps(content)})
    with pytest.raises(ValueError, match="is damaged: it lacks unit_"):
        load(path)


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("plain", {"kernel": "rbf"}),
        ("dual", {"kernel": "polynomial"}),
        ("plain", {"kernel": "cos"}),
    ],
)
def test_parameters_changed_after_fit_are_refused_before_anything_is_written(
    fitted, saved, name, setting
):
    before, model = saved.read_bytes(), pickle.loads(pickle.dumps(fitted[name]))
    words = r"this FrobMetric cannot be saved: .* parameters were changed after fit; fit again"
    with pytest.raises(ValueError, match=words):
        save(model.set_params(**setting), saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_a_kernel_changed_to_none_is_refused(tmp_path):
    model = (
        TripletFrobMetric(preprocessor=X, C=10, kernel="rbf")
        .fit(TRIPLETS)
        .set_params(kernel="linear")
    )
    with pytest.raises(ValueError, match="parameters were changed after fit; fit again"):
        save(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_promise_survives_with_its_threshold(tmp_path, rng):
    X = rng.normal(size=(60, 2, 3))
    model = PairFrobMetric(C=10.0).fit(X, [1, -1] * 30)
    promise = {"max_false_match": 0.1, "confidence": 0.9}
    model.promise_threshold(X + 1, [1, -1] * 30, **promise)
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.promise_ == model.promise_
    assert loaded.threshold_ == -loaded.promise_.threshold
    edit(tmp_path / "m", "promise", threshold=0.5)
    with pytest.raises(ValueError, match="is not the threshold of promise_"):
        load(tmp_path / "m")


def test_a_threshold_that_is_infinite_survives(tmp_path):
    model = PairFrobMetric(preprocessor=X, C=10).fit(PAIRS, KINDS).set_threshold(np.inf)
    save(model, tmp_path / "m")
    assert load(tmp_path / "m").threshold_ == np.inf


def test_missing_parameters_load_as_defaults(fitted, tmp_path):
    path = tmp_path / "m"
    save(fitted["dual"], path)
    with safe_open(path, framework="np") as file:
        parts = {part: json.loads(file.metadata()[part]) for part in ("parameters", "fitted")}
    for part, names in {
        "parameters": ("kernel", "gamma", "degree", "coef0", "n_directions"),
        "fitted": ("n_directions_", "kept_variance_"),
    }.items():
        for name in names:
            del parts[part][name]
    tamper(path, {part: json.dumps(content) for part, content in parts.items()})
    loaded = load(path)
    assert loaded.kernel == "linear"
    assert loaded.transform(X).tobytes() == fitted["dual"].transform(X).tobytes()
    assert loaded.certify(X) == fitted["dual"].certify(X)


@pytest.fixture
def saved_kernel(tmp_path):
    save(FrobMetric(C=1, kernel="rbf").fit(X[::5], y[::5]), tmp_path / "kernel")
    return tmp_path / "kernel"


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        (
            {"components": np.ones((4, 4))},
            r"components has shape \(4, 4\); expected \(n_rows, 30\)",
        ),
        ({"X_fit": np.ones((30, 3))}, r"X_fit has shape \(30, 3\); expected \(n_rows, 4\)"),
        ({"X_fit": np.ones((29, 4))}, "components has shape"),
        ({"X_fit": np.full((30, 4), np.inf)}, "X_fit must hold finite numbers"),
        ({"X_fit": np.ones((30, 4), dtype=np.int64)}, "X_fit must hold finite numbers"),
    ],
)
def test_samples_of_a_kernel_that_do_not_belong(saved_kernel, tensors, message):
    tamper(saved_kernel, tensors=tensors)
    with pytest.raises(ValueError, match=f"is damaged: .*{message}"):
        load(saved_kernel)


@pytest.mark.parametrize(
    ("part", "changes", "message"),
    [
        ("fitted", {"gamma_": -1.0}, "gamma_ = -1.0 is not a positive number"),
        ("fitted", {"kept_variance_": 1.5}, "kept_variance_ = 1.5 is not a share"),
        ("fitted", {"n_directions_": 0}, "n_directions_ = 0 is not at least 1"),
        ("parameters", {"kernel": "linear"}, "it has X_fit_ with kernel='linear'"),
        ("parameters", {"kernel": "sigmoid"}, "'kernel' parameter .* Got 'sigmoid'"),
        ("parameters", {"kernel": ["rbf"]}, r"'kernel' parameter .* Got \['rbf'\]"),
    ],
)
def test_headers_of_kernels_that_say_nonsense(saved_kernel, part, changes, message):
    edit(saved_kernel, part, **changes)
    with pytest.raises(ValueError, match=f"is damaged: .*{message}"):
        load(saved_kernel)


def test_a_kernel_without_its_samples(saved_kernel, saved):
    edit(saved, "parameters", kernel="rbf")
    with pytest.raises(ValueError, match="it lacks X_fit_ with kernel='rbf'"):
        load(saved)
    tamper(saved_kernel, drop=["X_fit"])
    with pytest.raises(ValueError, match="it lacks 'X_fit'"):
        load(saved_kernel)


@pytest.fixture
def saved_pairs(tmp_path):
    model = PairFrobMetric(preprocessor=X, C=10, keep_dual=True).fit(PAIRS, KINDS)
    save(model.partial_fit(PAIRS + 3, KINDS), tmp_path / "pairs")
    return tmp_path / "pairs"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"threshold_": {"float": "nan"}}, "threshold_ = nan is not a number"),
        ({"threshold_": "near"}, "could not convert"),
        ({"learned_threshold_": -1.0}, "learned_threshold_ = -1.0 is not a distance"),
        ({"n_contradictions_": -1}, "n_contradictions_ = -1 is not at least 0"),
    ],
)
def test_thresholds_that_say_nonsense(saved_pairs, changes, message):
    edit(saved_pairs, "fitted", **changes)
    with pytest.raises(ValueError, match=f"is damaged: .*{message}"):
        load(saved_pairs)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"prior_components": np.ones((1, 3))}, r"prior_components has shape \(1, 3\)"),
        ({"triplets.index": np.ones((5, 5), dtype=np.int64)}, r"expected \(n_rows, 3 or 4\)"),
        ({"triplets.weight": -np.ones(5)}, "must be non-negative"),
        ({"triplets.weight": np.zeros(5)}, "zero for all triplets"),
        ({"triplets.weight": np.full(5, np.nan)}, "and finite"),
    ],
)
def test_comparisons_that_do_not_belong(saved_pairs, tensors, message):
    tamper(saved_pairs, tensors=tensors)
    with pytest.raises(ValueError, match=f"is damaged: .*{message}"):
        load(saved_pairs)


def test_a_threshold_is_part_of_the_model(saved_pairs):
    with safe_open(saved_pairs, framework="np") as file:
        content = json.loads(file.metadata()["fitted"])
    del content["threshold_"]
    tamper(saved_pairs, {"fitted": json.dumps(content)})
    with pytest.raises(ValueError, match="it lacks threshold_"):
        load(saved_pairs)


def test_quadruplets_are_none_of_labels(fitted, tmp_path):
    save(fitted["triplets"], tmp_path / "m")
    tamper(tmp_path / "m", tensors={"triplets.index": QUADRUPLETS})
    with pytest.raises(ValueError, match=r"comparisons of 4 points; those of a FrobMetric have 3"):
        load(tmp_path / "m")


def test_cut_components_are_not_certified(saved):
    with safe_open(saved, framework="np") as file:
        components = np.array(file.get_tensor("components"))
    tamper(saved, tensors={"components": components[:1].copy()})
    with pytest.raises(CertificateError, match="components_ has 1 rows, and n_components=None"):
        load(saved).certify(X)
