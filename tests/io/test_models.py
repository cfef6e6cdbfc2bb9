"""Models survive a file to the last bit; a file that is not one is refused with a reason."""

import os
import pickle
import subprocess
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold

from frobmetric import NearestClass
from frobmetric.io import load, load_map, save
from frobmetric.io.sealed import FORMAT_VERSION, SEAL
from frobmetric.io.values import KINDS, NAMES, _class_of
from frobmetric.metric import (
    BoostMetric,
    FrobMetric,
    FrobMetricCV,
    PairFrobMetric,
    QuadrupletFrobMetric,
    TripletFrobMetric,
)
from frobmetric.model.agreement import disagreements
from frobmetric.model.fitted import fitted_names
from frobmetric.model.linear_map import LinearMap
from model_files import PARTS, changed, contents, leaves, name_of, part_at, save_file, write

pytestmark = pytest.mark.filterwarnings(
    "ignore:the best C is|the learned metric does not help|the chosen metric has"
)

X, y = load_iris(return_X_y=True)
X[142, 0] += 0.1  # otherwise equal to row 101
SPECIES = np.array(["setosa", "versicolor", "virginica"])[y]
TRIPLETS = np.array([[0, 1, 60], [0, 2, 99], [60, 61, 120]])
QUADRUPLETS = np.array([[0, 1, 2, 60], [50, 51, 60, 110], [70, 71, 0, 140]])
PAIRS = np.array([[0, 1], [50, 51], [0, 50], [50, 100], [0, 100]])
#: What models are fitted to, and what `certify` takes again.
IRIS, NAMED, SINGLE = (X, y), (X, SPECIES), (np.float32(X), y)
EQUAL = np.repeat(X[::2], 2, axis=0), np.repeat(y[::2], 2)
OF_PAIRS, OF_TRIPLETS = (X[PAIRS], [1, 1, -1, -1, -1]), (X[TRIPLETS], [1, -1, 1])
THREE = {"triplets": TRIPLETS, "triplet_weight": [1.0, 2.0, 0.5]}
SMALL = {"C": 10, "keep_dual": True}
POLYNOMIAL = {"kernel": "polynomial", "degree": 2, "coef0": 0.5, "n_components": 2}
DIRECTIONS = {"kernel": "rbf", "gamma": 0.1, "n_directions": 6, "prior": "within"}
CHOICE = {"cv": 2, "keep_dual": True}
#: Models by name: the estimator, what it is fitted to, and more of that.
MODELS = {
    "plain": (FrobMetric(), IRIS),
    "dual": (FrobMetric(keep_dual=True, n_passes=1), IRIS),
    "passes": (FrobMetric(keep_dual=True, n_passes=3), IRIS),
    "units": (FrobMetric(keep_dual=True, units="within"), IRIS),
    "diagonal": (FrobMetric(keep_dual=True, prior="diagonal"), IRIS),
    "single": (FrobMetric(keep_dual=True), SINGLE),
    "truncated": (FrobMetric(n_components=2, C=np.float64(10)), IRIS),
    "rank": (FrobMetric(n_components="rank", loss="squared_hinge", **SMALL), IRIS),
    "prior": (FrobMetric(prior=np.diag([1.0, 2, 3, 4]), **SMALL), IRIS),
    "named": (FrobMetric(prior="within", pull=0.1, **SMALL), IRIS),
    "equal rows": (FrobMetric(**SMALL), EQUAL),
    "updated": (FrobMetric(**SMALL), IRIS),
    "triplets": (FrobMetric(**SMALL), (X,), THREE),
    "both": (FrobMetric(**SMALL), IRIS, THREE),
    "approximate": (FrobMetric(neighbors="approximate", **SMALL), IRIS),
    "rbf": (FrobMetric(kernel="rbf", n_passes=1, **SMALL), IRIS),
    "polynomial": (FrobMetric(**POLYNOMIAL, **SMALL), IRIS),
    "directions": (FrobMetric(**DIRECTIONS, **SMALL), IRIS),
    "boosted": (BoostMetric(keep_dual=True), IRIS),
    "cv": (FrobMetricCV(Cs=[1.0, 100.0], **CHOICE), NAMED),
    "cv with a prior": (FrobMetricCV(Cs=[10.0], prior=np.eye(4), **CHOICE), IRIS),
    "of triplets": (TripletFrobMetric(**SMALL), OF_TRIPLETS),
    "of triplets, rbf": (TripletFrobMetric(kernel="rbf", **SMALL), OF_TRIPLETS),
    "of quadruplets": (QuadrupletFrobMetric(prior="identity", **SMALL), (X[QUADRUPLETS],)),
    "of pairs": (PairFrobMetric(**SMALL), OF_PAIRS),
    "of pairs, as triplets": (
        PairFrobMetric(strategy="triplets", n_neighbors=1, **SMALL),
        OF_PAIRS,
    ),
}


@cache
def fitted(name):
    """Return a model, fitted once, and its data; a test that changes the model makes a copy."""
    estimator, data, *more = MODELS[name]
    model = clone(estimator).fit(*data, **dict(*more))
    return model.partial_fit(*data) if name == "updated" else model, data


@pytest.fixture
def saved(tmp_path):
    save(fitted("dual")[0], tmp_path / "m")
    return tmp_path / "m"


def assert_same_bits(loaded, model, samples=X):
    assert loaded.transform(samples).tobytes() == model.transform(samples).tobytes()


# Round trips


@pytest.mark.parametrize("name", MODELS)
def test_round_trip(tmp_path, name):
    model, data = fitted(name)
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert type(loaded) is type(model)
    assert_same_bits(loaded, model, X.astype(model.components_.dtype))
    pairs = np.stack([X[:10], X[100:110]], axis=1)
    np.testing.assert_array_equal(loaded.pair_distance(pairs), model.pair_distance(pairs))
    if model.keep_dual:
        assert loaded.certify(*data) == model.certify(*data)
    save(loaded, tmp_path / "again")  # every field, and every bit of every array
    (tensors, header), (again, same) = contents(tmp_path / "m"), contents(tmp_path / "again")
    assert same == header
    assert all(array.tobytes() == again[key].tobytes() for key, array in tensors.items())
    expected = {name for name in fitted_names(type(model)) if hasattr(model, name)}
    found = {name for name in fitted_names(type(model)) if hasattr(loaded, name)}
    assert expected - found <= {"cv_results_", "classifier_"}
    assert found <= expected


def test_a_preprocessor_is_not_written(tmp_path):
    model = TripletFrobMetric(preprocessor=X, **SMALL).fit(TRIPLETS)
    save(model, tmp_path / "m")
    with pytest.raises(ValueError, match="there is no preprocessor"):
        load(tmp_path / "m").predict(TRIPLETS)
    loaded = load(tmp_path / "m").set_params(preprocessor=X)
    np.testing.assert_array_equal(loaded.predict(TRIPLETS), model.predict(TRIPLETS))


@pytest.mark.parametrize("name", ["dual", "rbf", "cv", "of pairs"])
def test_a_map_alone_survives(tmp_path, name):
    model, _ = fitted(name)
    save(model, tmp_path / "m")
    save(model.map_, tmp_path / "map")
    for learned in (load_map(tmp_path / "m"), load_map(tmp_path / "map"), load(tmp_path / "map")):
        assert isinstance(learned, LinearMap)
        assert_same_bits(learned, model)
    assert not learned.components.flags.writeable


@pytest.mark.parametrize("kind", ["rows", "columns"])
def test_one_sample_transforms_to_the_same_bits(tmp_path, kind):
    """BLAS sums a single row in another order if the matrix lies otherwise in memory."""
    samples, classes = load_wine(return_X_y=True)
    model = FrobMetric(n_components=5 if kind == "columns" else None).fit(samples, classes)
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    for row in samples:
        assert_same_bits(loaded, model, [row])


def test_parameters_survive_so_that_a_clone_fits_alike(tmp_path):
    model, _ = fitted("prior")
    save(model, tmp_path / "m")
    again = clone(load(tmp_path / "m")).fit(X, y)
    np.testing.assert_array_equal(again.components_, model.components_)


def test_parameters_that_are_none_are_refused_before_anything_is_written(tmp_path):
    model = pickle.loads(pickle.dumps(fitted("plain")[0])).set_params(kernel="cos")
    with pytest.raises(ValueError, match="The 'kernel' parameter of FrobMetric must be one of"):
        save(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_choice_survives(tmp_path):
    model, _ = fitted("cv")
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.report_._repr_html_() == model.report_._repr_html_()
    assert not hasattr(loaded, "cv_results_")
    with pytest.raises(ValueError, match=r"a saved model.* fit a classifier such as NearestClass"):
        loaded.predict(X)
    for each in (loaded, clone(loaded)):
        each.partial_fit(X[1::2], SPECIES[1::2])
        save(each, tmp_path / "m")
        assert load(tmp_path / "m").best_params_ == each.best_params_


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


def test_what_is_no_plain_value_loads_as_the_default(tmp_path):
    options = {"cv": StratifiedKFold(2), "rule": NearestClass(5), "callback": lambda step: False}
    model = FrobMetricCV(Cs=(10.0,), **options).fit(X, y)
    with pytest.warns(UserWarning, match=r"StratifiedKFold\(.* rule=Near.*\) cannot be written"):
        save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert (loaded.cv, loaded.rule, loaded.callback, loaded.Cs) == (3, "auto", None, (10.0,))
    assert loaded.report_.rule == model.report_.rule == "NearestClass(n_neighbors=5)"


def test_names_output_and_pickle(tmp_path):
    pandas = pytest.importorskip("pandas", reason="feature names come from data frames")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = FrobMetric().fit(frame, y).set_output(transform="pandas")
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert list(loaded.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        loaded.transform(frame[list("dcba")])
    for each in (loaded, pickle.loads(pickle.dumps(loaded))):
        pandas.testing.assert_frame_equal(each.transform(frame), model.transform(frame))
    assert isinstance(loaded.set_output(transform="default").transform(frame), np.ndarray)


def test_infinities_and_nan_survive_without_names_that_json_lacks(tmp_path):
    learned = fitted("plain")[0].map_
    proof = replace(learned.certificate, gap=np.inf, min_eigenvalue=np.nan)
    run = replace(learned.run, status="interrupted")
    save(replace(learned, certificate=proof, run=run), tmp_path / "m")
    loaded = load_map(tmp_path / "m").certificate
    assert loaded.gap == np.inf
    assert np.isnan(loaded.min_eigenvalue)
    assert b"Infinity" not in (tmp_path / "m").read_bytes()
    assert b"NaN" not in (tmp_path / "m").read_bytes()


def test_kernels_of_given_values_and_sparse_data(tmp_path):
    data = sp.csr_array(X * (X > 1))
    fits = {"precomputed": X @ X.T, "linear": data}
    for kernel, samples in fits.items():
        model = FrobMetric(kernel=kernel, n_directions=3, **SMALL).fit(samples, y)
        save(model, tmp_path / "m")
        loaded = load(tmp_path / "m")
        assert loaded.transform(samples).tobytes() == model.transform(samples).tobytes()
        assert loaded.certify(samples) == model.certify(samples)
    before = (tmp_path / "m").read_bytes()
    with pytest.raises(TypeError, match=r"kernel='rbf' .* are sparse and cannot be written; fit"):
        save(FrobMetric(C=10, kernel="rbf").fit(data, y), tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before


@pytest.mark.parametrize("name", ["named", "cv", "of pairs"])
def test_updates_go_on_alike(tmp_path, name):
    model = pickle.loads(pickle.dumps(fitted(name)[0]))
    save(model, tmp_path / "m")
    data = (X[PAIRS + 5], OF_PAIRS[1]) if name == "of pairs" else (3 * X[1::2], SPECIES[1::2])
    again, other = (each.partial_fit(*data) for each in (load(tmp_path / "m"), model))
    np.testing.assert_array_equal(again.components_, other.components_)
    assert again.certify(*data) == other.certify(*data)
    save(again, tmp_path / "m")
    assert load(tmp_path / "m").certify(*data) == other.certify(*data)


# Promises


def test_a_promise_and_what_it_rests_on_survive(tmp_path, rng):
    pairs, kinds = rng.normal(size=(60, 2, 3)), [1, -1] * 30
    model = PairFrobMetric(C=10.0).fit(pairs, kinds)
    promise = {"max_false_match": 0.1, "confidence": 0.9}
    model.promise_threshold(pairs + 1, kinds, **promise)
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.promise_ == model.promise_
    assert loaded.threshold_ == -loaded.promise_.threshold
    for each in (model, loaded):
        with pytest.warns(UserWarning, match="120 of the 120 points are points that the model"):
            each.promise_threshold(pairs, kinds, **promise)
    save(loaded.set_threshold(np.inf), tmp_path / "m")
    assert load(tmp_path / "m").threshold_ == np.inf
    assert not hasattr(load(tmp_path / "m"), "promise_")


# Every field


#: Fields of a FrobMetric that prove nothing: names, counts and times of a run, what is not used.
FREE = {
    "certificate.rounding",
    "certificate.scope",
    "features.kernel.coef0",
    "features.kernel.degree",
    "features.names",
    "features.unit_length",
    "recipe.coef0",
    "recipe.degree",
    "recipe.gamma",
    "recipe.n_passes",
    "recipe.neighbors",
    "recipe.targets",
    "run.n_iter",
    "run.tol",
    "source.n_contradictions",
    "space.n_directions",  # None claims nothing
    "threshold.distance",
}
#: The same of single models: pairs are compared with a yardstick, and not with third points.
OTHERS = {"of pairs": {"recipe.n_impostors", "recipe.n_neighbors", "source.n_unlabeled"}}
OTHERS["of pairs"] |= {"threshold.learned"}


def other(value):
    """Return another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return 1.5 * value + 0.5
    return f"{value} " if isinstance(value, str) else 1


#: Values of other types than most fields.
ODD = ["text", None, True, 10**30, -7, [], {}, {"float": "nan"}, {"tuple": [1]}, {"Recipe": {}}]


def verdict(path, data, claim):
    """Return what loading and proving a file says; any other error than ValueError is raised."""
    try:
        model = load(path)
        is_claimed = str(claim) == str(model.certificate_)
        wrong = disagreements(model.certificate_, model.certify(*data), model.history_)
    except ValueError as error:  # a CertificateError is one too
        return str(error)
    return "certified" if is_claimed and not wrong else f"other claims: {wrong}"


@pytest.mark.parametrize("name", ["dual", "equal rows", "rbf", "named", "of pairs", "cv"])
def test_every_changed_field_is_refused_or_found_by_the_proof(tmp_path, name):
    model, data = fitted(name)
    path, unfound = tmp_path / "m", set()
    save(model, path)
    tensors, header = contents(path)
    for number, place in enumerate(leaves(header["value"])):
        before = part_at(header["value"], place)
        values = [ODD[number % len(ODD)]] if isinstance(before, dict) else [other(before)]
        if "history" not in place:
            values.append(ODD[-number % len(ODD)])
        for value in (value for value in values if value != before):
            write(path, tensors, header | {"value": changed(header["value"], place, value)})
            said = verdict(path, data, model.certificate_)
            if said == "certified" and not {"history", "choice"} & set(place):
                unfound.add(name_of(place))
            assert "\n" not in said
    for key, array in tensors.items():
        array = array.copy()
        array.flat[0] += 1
        write(path, tensors | {key: array}, header)
        if verdict(path, data, model.certificate_) == "certified" and "choice" not in key:
            unfound.add(key.removeprefix("value."))
    free = FREE | OTHERS.get(name, set())
    assert sorted(unfound - free) == [], sorted(unfound - free)


def test_every_field_of_every_value_is_needed_and_no_other(tmp_path):
    path = tmp_path / "m"
    save(fitted("cv")[0], path)
    tensors, header = contents(path)
    kinds = {place[:i] for place in leaves(header["value"]) for i in range(1, len(place))}
    for place in sorted((each for each in kinds if each[-1] in KINDS), key=str)[:40]:
        given = part_at(header["value"], place)
        if not isinstance(given, dict):
            continue
        for name in given:
            some = {key: part for key, part in given.items() if key != name}
            write(path, tensors, header | {"value": changed(header["value"], place, some)})
            with pytest.raises(ValueError, match=f"is damaged: it lacks '{name}'"):
                load(path)
        more = given | {"frog": 1}
        write(path, tensors, header | {"value": changed(header["value"], place, more)})
        with pytest.raises(ValueError, match="has 'frog', which is not known here"):
            load(path)


BLOCKS = "value.evidence.comparisons.blocks.0"


@pytest.mark.parametrize(
    ("name", "tensors", "message"),
    [
        ("dual", {"value.components": np.ones((4, 3))}, r"components_ has shape \(4, 3\)"),
        ("dual", {"value.components": np.full((4, 4), np.nan)}, "finite numbers"),
        ("dual", {"value.components": np.ones((4, 4), dtype=np.int64)}, "finite numbers"),
        ("dual", {"value.evidence.u": np.ones(3)}, "it has 1350 triplets"),
        ("dual", {f"{BLOCKS}.near": np.ones((2, 3), dtype=np.int64)}, "a block of the triplets"),
        ("dual", {f"{BLOCKS}.far": -np.ones((150, 3), dtype=np.int64)}, "far .* out of range"),
        ("dual", {f"{BLOCKS}.anchors": np.ones(150)}, "anchors has dtype float64"),
        ("units", {"value.space.units.weight": np.ones(3)}, r"feature_weight_ has shape \(3,\)"),
        ("units", {"value.space.units.weight": np.full(4, np.nan)}, "feature_weight_ must hold"),
        ("units", {"value.space.units.weight": -np.ones(4)}, "has the entry -1; expected none"),
        ("rbf", {"value.features.kernel.X_fit": np.ones((150, 3))}, r"X_fit_ has shape \(150, 3\)"),
        ("rbf", {"value.features.kernel.X_fit": np.ones((29, 4))}, "components_ has shape"),
        ("rbf", {"value.features.kernel.X_fit": np.full((150, 4), np.inf)}, "X_fit_ must hold"),
        ("equal rows", {"value.evidence.rows": np.arange(75)}, "rows that are not in point_rows_"),
        ("updated", {"value.space.prior_components": np.ones((1, 3))}, "prior_components_"),
        ("triplets", {"value.evidence.comparisons.index": QUADRUPLETS}, r"expected \(3, 3\)"),
        ("triplets", {"value.evidence.comparisons.weight": -np.ones(3)}, "must be non-negative"),
        (
            "triplets",
            {"value.evidence.comparisons.weight": np.zeros(3)},
            "is zero for all triplets",
        ),
        ("dual", {"extra": np.ones(2)}, "tensors has 'extra', which nothing of the model names"),
    ],
)
def test_tensors_that_do_not_belong_together(tmp_path, name, tensors, message):
    path = tmp_path / "m"
    save(fitted(name)[0], path)
    old, header = contents(path)
    write(path, old | tensors, header)
    with pytest.raises(ValueError, match=f"is damaged: .*{message}"):
        load(path)


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("class", "subprocess.Popen", "'subprocess.Popen' is not known"),
        ("class", "TripletFrobMetric", "parameters has .*, which is not known here"),
        ("class", "FrobMetricCV", "parameters has 'C', which is not known here"),
        ("extra", "x", "header has 'extra', which is not known here"),
        ("output", '"excel"', "output = 'excel' is not one of"),
        ("parameters", {"mapping": {"tolx": 1}}, "parameters has 'tolx'"),
        ("parameters", {"mapping": {"loss": "frog"}}, "'loss' parameter of FrobMetric must be"),
        ("parameters", {"mapping": {"prior": {"array": ["nowhere", "C"]}}}, "lacks 'nowhere'"),
        ("parameters", [3], "parameters = .* is not a mapping"),
        ("value", 3, "which nothing of the model names"),
        ("value", {"object": {}}, "'object' is no kind of value"),
        ("value", {"tuple": [], "list": []}, "has 2 kinds; expected one"),
        ("value", "NaN", "NaN is no number in JSON"),
        ("value", "[" * 100_000, "recursion|is damaged"),
        ("value", "{", "Expecting"),
        ("value", f"{10**400}", "integer beyond 64 bits"),
        ("value", {"texts": ["<U99999999", ["a"]]}, "are no texts"),
        ("value", {"array": ["value.components", "Z"]}, "order"),
    ],
)
def test_headers_that_say_nonsense(saved, part, value, message):
    tensors, header = contents(saved)
    write(saved, tensors, header | {part: value})
    with pytest.raises(ValueError, match=f"is damaged: .*({message})"):
        load(saved)


def test_a_recipe_that_no_fit_has_is_refused(saved):
    tensors, header = contents(saved)
    recipe = ("LinearMap", "recipe", "Recipe")
    for name, value in {"loss": "frog", "C": -1.0, "n_passes": 31, "units": "metres"}.items():
        write(saved, tensors, header | {"value": changed(header["value"], (*recipe, name), value)})
        with pytest.raises(ValueError, match=f"is damaged: The '{name}' parameter of Recipe"):
            load(saved)


@pytest.mark.parametrize("part", ["class", *PARTS])
def test_a_missing_part(saved, part):
    tensors, header = contents(saved)
    del header[part]
    write(saved, tensors, header)
    with pytest.raises(ValueError, match=f"is damaged: it lacks '{part}'"):
        load(saved)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_value_is_where_the_table_says(kind):
    found = _class_of(kind)
    assert NAMES[f"{found.__module__}.{found.__qualname__}"] == kind


# Seal, format and files


@pytest.mark.parametrize("name", ["plain", "cv"])
def test_every_changed_byte_of_the_numbers_breaks_the_seal(tmp_path, name):
    path = tmp_path / "m"
    save(fitted(name)[0], path)
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    rng = np.random.default_rng(0)
    for place in rng.integers(start, len(content), 50):
        changed_bytes = bytearray(content)
        changed_bytes[place] ^= rng.integers(1, 256)
        path.write_bytes(changed_bytes)
        with pytest.raises(ValueError, match="was changed or damaged after it was saved: its seal"):
            load(path)


@pytest.mark.parametrize("part", ["class", "parameters", "value"])
def test_an_edited_claim_breaks_the_seal(saved, part):
    tensors, header = contents(saved)
    seal = header.pop(SEAL)
    edited = header[part] + " " if part == "class" else [header[part]]
    write(saved, tensors, header | {part: edited}, seal=seal)
    for read in (load, load_map):
        with pytest.raises(ValueError, match="its seal, a checksum of all that it holds"):
            read(saved)


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("3", "has another format .format version 3, .* fit the model again"),
        (str(FORMAT_VERSION + 1), "upgrade it"),
        ("", "expected a number"),
        ("one", "expected a number"),
        ("-1", "expected a number"),
    ],
)
def test_another_format_is_refused_in_one_line(saved, version, message):
    tensors, header = contents(saved)
    write(saved, tensors, header | {"format_version": version})
    with pytest.raises(ValueError, match=message):
        load(saved)


@pytest.mark.parametrize("content", [b"", b"5.1,3.5\n", bytes(range(256))])
def test_other_content(tmp_path, content):
    path = tmp_path / "m"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is damaged, or not a model saved by frobmetric"):
        load(path)


def test_truncated_file_and_tensors_of_another_program(saved, tmp_path):
    saved.write_bytes(saved.read_bytes()[:-8])
    with pytest.raises(ValueError, match="is damaged, or not a model saved by frobmetric"):
        load(saved)
    save_file({"weight": np.ones(3)}, tmp_path / "other")
    with pytest.raises(ValueError, match="not a model saved by frobmetric"):
        load(tmp_path / "other")


def test_only_fitted_models_of_known_classes_are_saved(tmp_path):
    other = type("FrobMetric", (FrobMetric,), {"__module__": "other"})
    with pytest.raises(NotFittedError):
        save(FrobMetric(), tmp_path / "m")
    for kind in (other, NearestClass):
        with pytest.raises(TypeError, match=f"type {kind.__name__} cannot be saved; expected one"):
            save(kind().fit(X, y), tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_crash_leaves_the_old_file(saved, monkeypatch):
    before = saved.read_bytes()

    def crash(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(OSError, match="disk full"):
        save(fitted("plain")[0], saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_links_folders_and_files_that_are_none(saved, tmp_path):
    model, link = fitted("plain")[0], tmp_path / "link"
    link.symlink_to(saved)
    save(model, link)
    assert link.is_symlink()
    assert not hasattr(load(saved), "dual_coef_")
    with pytest.raises(FileNotFoundError, match=r"folder .* does not exist; create it"):
        save(model, tmp_path / "no" / "m")
    with pytest.raises(OSError, match="not a regular file"):
        save(model, tmp_path)
    with pytest.raises(FileNotFoundError, match="does not exist; expected a model"):
        load(tmp_path / "none")
    with pytest.raises(FileNotFoundError, match="is not a regular file; expected a model"):
        load(tmp_path)


def test_a_missing_extra_says_what_to_install(saved, monkeypatch):
    for module in ("safetensors", "safetensors.numpy"):
        monkeypatch.setitem(sys.modules, module, None)
    message = r"this needs safetensors; install it with: pip install 'frobmetric\[cli\]'"
    with pytest.raises(ImportError, match=message):
        save(fitted("plain")[0], saved)
    with pytest.raises(ImportError, match=message):
        load(saved)


@pytest.mark.parametrize(
    ("read", "most", "absent"),
    [
        ("load_map", 40, {"learners", "metric", "embeddings", "learning", "solvers"}),
        ("load", 160, {"embeddings", "manifold", "plotting", "app"}),
    ],
)
def test_only_what_a_file_needs_is_imported(tmp_path, read, most, absent):
    save(fitted("plain")[0], tmp_path / "m")
    code = f"import sys; from frobmetric.io import {read}; {read}({str(tmp_path / 'm')!r}); "
    code += "print(*(name for name in sys.modules if name.split('.')[0] == 'frobmetric'))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    names = result.stdout.split()
    assert len(names) <= most
    assert not {name.split(".")[1] for name in names if "." in name} & absent


# Agreement of certificates


@pytest.mark.parametrize(
    "field",
    ["primal", "dual", "gap", "relative_gap", "distance_bound", "min_eigenvalue", "violation"],
)
def test_a_changed_claim_is_noticed(field):
    truth = fitted("dual")[0].certificate_
    assert disagreements(truth, truth) == []
    for value in (getattr(truth, field) + 0.1, np.nan):
        assert disagreements(replace(truth, **{field: value}), truth) == [field]
