"""Contracts of all estimators: every contract runs over every entry of the registry."""

import copy
import inspect
import pickle
import re
import sys
from dataclasses import fields, is_dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.utils import get_tags
from threadpoolctl import threadpool_limits

import frobmetric
from estimators import ENTRIES, MAY_BE_ZERO, OF_A_RUN, QUESTIONS, cases, other_value
from frobmetric import load, save
from frobmetric.exceptions import CertificateError

# Small data have few samples of a class, and little to learn.
pytestmark = [
    pytest.mark.filterwarnings("ignore:the learned metric does not help here:UserWarning"),
    pytest.mark.filterwarnings("ignore:the best C is .* at the end of Cs:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*embedding unchanged:UserWarning"),
    pytest.mark.filterwarnings("ignore:.* directions have a positive weight:UserWarning"),
    pytest.mark.filterwarnings("ignore:the classes have room for:UserWarning"),
    pytest.mark.filterwarnings("ignore:.* will load as the default:UserWarning"),
]
#: Questions that compute a result again; that they read no parameter is tested by itself.
RECOMPUTED = ("certify", "check")
HOME = str(Path(frobmetric.__file__).parent)


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """Use one thread: more cost time on small data."""
    with threadpool_limits(1):
        yield


def bits(value):
    """Return what can be compared: equal if and only if two values have the same bits.

    Times are left out, and so is where a value lies in memory.
    """
    if isinstance(value, np.generic):
        return bits(value.item())
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, str | int | bytes | type(None)):
        return value
    if isinstance(value, np.ndarray) and value.dtype != object:
        return f"{value.dtype}{value.shape} {sha256(value.tobytes()).hexdigest()[:16]}"
    if sp.issparse(value):
        return value.format, value.shape, bits(value.tocoo().coords), bits(value.tocoo().data)
    if isinstance(value, dict):
        return {name: bits(part) for name, part in value.items() if "seconds" not in str(name)}
    if hasattr(value, "_asdict"):
        return type(value).__name__, bits(value._asdict())
    if isinstance(value, list | tuple | set | np.ndarray):
        return [bits(part) for part in value]
    if is_dataclass(value):
        parts = {part.name: getattr(value, part.name) for part in fields(value)}
        return type(value).__name__, bits(parts)
    if isinstance(value, BaseEstimator):
        return type(value).__name__, bits(value.get_params(deep=False)), fitted_state(value)
    return type(value).__name__, bits(getattr(value, "__dict__", None))


def fitted_state(model):
    """Return the bits of all public attributes that a fit sets."""
    names = [name for name in dir(model) if name[0] != "_" and name.endswith("_")]
    return {name: bits(getattr(model, name)) for name in names if hasattr(model, name)}


def answers(model, task, leave_out=()):
    """Return the bits of the answers to all questions; a refusal is an answer too."""
    found = {}
    for name, ask in QUESTIONS.items():
        if hasattr(model, name) and name not in leave_out:
            try:
                found[name] = bits(ask(model, task))
            except Exception as error:
                found[name] = f"refused, {type(error).__name__}: {error}"
    return found


def everything(model, task):
    """Return all that can be seen of an estimator, fitted or not."""
    return {
        "parameters": bits(model.get_params(deep=False)),
        "names": sorted(vars(model)),
        "fitted": fitted_state(model),
        "answers": answers(model, task),
    }


def differences(found, expected, place=""):
    """Return where two results of `bits` differ, and how."""
    if isinstance(found, dict) and isinstance(expected, dict):
        names = sorted({*found, *expected}, key=str)
        parts = [(found.get(n, "none"), expected.get(n, "none"), f"{place} {n}") for n in names]
        return [one for part in parts for one in differences(*part)]
    return [] if found == expected else [f"{place}: {found!s:.150} is not {expected!s:.150}"]


def assert_same(found, expected):
    """Assert that two results of `bits` are equal."""
    assert differences(found, expected) == []


def assert_unchanged(model, task, before):
    """Assert that all that can be seen of an estimator is as it was."""
    assert_same(everything(model, task), before)


def questions_of(entry):
    return [name for name in QUESTIONS if hasattr(entry.fitted(), name)]


def measure(model, task):
    """Return numbers that say how near new samples are to each other."""
    if hasattr(model, "transform"):
        return pdist(model.transform(task.new).astype(float))
    if hasattr(model, "pair_score"):
        return model.pair_score(task.pairs)
    return np.unique(model.predict(task.new), return_inverse=True)[1]


def assert_near(found, expected, tolerance):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


# Parameters


@cases("parameters are stored")
def test_parameters_are_only_stored(entry):
    given = {name: object() for name in entry.estimator.get_params(deep=False)}
    model = type(entry.estimator)(**given)
    assert vars(model) == given
    assert model.get_params(deep=False) == given
    assert set(inspect.signature(type(model)).parameters) == set(given)


@cases("parameters are explained")
def test_parameters_are_explained(entry):
    kind = type(entry.estimator)
    table = re.search(r"Parameters\n-+\n(.*?)\n\n", inspect.getdoc(kind), re.DOTALL)[1]
    told = {}
    for row in re.split(r"\n(?=\w)", table):
        default = re.search(r"default=(.*)|default is\s+(\S+)\.(\s|$)", row)
        names = re.match(r"(\w[\w, ]*) :", row)[1].split(", ")
        told |= dict.fromkeys(names, default[1] or default[2])
    defaults = {name: p.default for name, p in inspect.signature(kind).parameters.items()}
    assert list(told) == list(defaults)
    for name, text in told.items():
        assert eval(text) == defaults[name], name  # a literal in our own docstring


@cases("clone")
def test_a_clone_has_the_parameters_and_no_fit(entry):
    model, task = entry.fitted(), entry.task(0)
    twin = clone(model)
    assert bits(twin.get_params()) == bits(model.get_params())
    assert_unchanged(twin, task, everything(entry.fresh(), task))
    assert_unchanged(entry.fit(twin, task), task, everything(model, task))


PARAMETERS = [
    (entry, name)
    for entry in ENTRIES
    for name in entry.estimator.get_params(deep=False)
    if name not in OF_A_RUN
]


#: Values that no parameter with a default of a type takes.
BAD_VALUES = {
    bool: ["yes", 2.5],
    int: [-1, 2.5, "many", True],
    float: [-1.0, np.nan, "much"],
    str: ["frog", 2.5j],
}


@cases("values", PARAMETERS, "name")
def test_a_value_that_is_none_is_refused(entry, name):
    task, default = entry.task(0), entry.estimator.get_params(deep=False)[name]
    zero = [0] if name not in MAY_BE_ZERO and type(default) in (int, float) else []
    for value in [object(), *zero, *BAD_VALUES.get(type(default), [])]:
        model = entry.fresh(**{name: value})
        with pytest.raises((ValueError, TypeError), match=rf"\b{name}\b"):
            model.fit(*task.args)
        assert vars(model) == model.get_params(deep=False)


@cases("set_params", PARAMETERS, "name")
def test_a_parameter_that_is_changed_after_a_fit_changes_no_answer(entry, name):
    model, task = entry.fitted(), entry.task(0)
    before = fitted_state(model) | answers(model, task, leave_out=RECOMPUTED)
    model.set_params(**{name: other_value(entry, name)})
    assert_same(fitted_state(model) | answers(model, task, leave_out=RECOMPUTED), before)


@cases("no parameter is read")
def test_no_answer_reads_a_parameter(entry):
    model, task = entry.fitted(), entry.task(0)
    before = fitted_state(model) | answers(model, task)
    names = set(model.get_params(deep=False)) - set(OF_A_RUN)
    model.set_params(**dict.fromkeys(names, object()))
    assert_same(fitted_state(model) | answers(model, task), before)


# Fits


@cases("fit")
def test_a_fit_changes_neither_parameters_nor_data(entry):
    model, task = entry.fresh(), entry.task(0)
    before = bits([model.get_params(), task.args])
    assert model.fit(*task.args) is model
    assert bits([model.get_params(), task.args]) == before
    assert set(QUESTIONS) & set(dir(model))


@cases("questions")
def test_questions_are_answered_and_change_nothing(entry):
    model, task = entry.fitted(), entry.task(0)
    before = everything(model, task)
    refused = {
        name for name, answer in before["answers"].items() if str(answer).startswith("refused")
    }
    assert refused == set(entry.refuses)
    assert_unchanged(model, task, before)


@cases("same bits")
def test_the_same_data_give_the_same_bits(entry):
    task = entry.task(0)
    before = everything(entry.fitted(), task)
    assert_unchanged(entry.fit(entry.fresh(), task), task, before)
    if entry.is_same_in_fortran and task.args[0].ndim == 2:
        fortran = task.with_samples(np.asfortranarray)
        assert_unchanged(entry.fit(entry.fresh(), fortran), task, before)


@cases("a new fit")
def test_a_new_fit_forgets_the_earlier_one(entry):
    """Nothing is left of other options, of names, of updates, and of thresholds."""
    model, task, first = entry.fresh(), entry.task(0), entry.task(1)
    as_other = {"n_components": 1, "prior": "identity", "calibration": 0.3}
    if first.args[0].ndim == 2 and entry.label != "precomputed":
        first = _frames(first.with_samples(lambda X: X.astype(np.float32)), pd.DataFrame)[0]
    model.set_params(**{name: value for name, value in as_other.items() if entry.has(name)})
    model.fit(*first.args)
    if hasattr(model, "set_threshold"):
        model.set_threshold(0.25)
    if hasattr(model, "partial_fit"):
        model.partial_fit(*first.args)
    last = entry.fresh(**({"keep_dual": False} if entry.has("keep_dual") else {}))
    model.set_params(**last.get_params(deep=False)).fit(*task.args)
    assert_unchanged(model, task, everything(last.fit(*task.args), task))


@cases("before a fit")
def test_nothing_works_before_a_fit(entry):
    model, task = entry.fresh(), entry.task(0)
    for name in fitted_state(entry.fitted()):
        assert not hasattr(model, name)
    for name in questions_of(entry):
        error = NotFittedError if hasattr(model, name) else AttributeError
        with pytest.raises(error):
            QUESTIONS[name](model, task)
    for call in (lambda: model.set_threshold(1.0), lambda: model.pair_distance(task.pairs)):
        if hasattr(model, call.__code__.co_names[0]):
            with pytest.raises(NotFittedError):
                call()
    assert vars(model) == model.get_params(deep=False)


# Fits that fail


def _spoilt(X, value):
    X = np.array(X, dtype=float)
    X.flat[3] = value
    return X


BAD_DATA = {
    "NaN": lambda X, *y: (_spoilt(X, np.nan), *y),
    "infinite": lambda X, *y: (_spoilt(X, np.inf), *y),
    "complex": lambda X, *y: (X * 1j, *y),
    "text": lambda X, *y: (np.full(np.shape(X), "frog"), *y),
    "one row": lambda X, *y: (X[0], *y),
    "no rows": lambda X, *y: (X[:0], *(part[:0] for part in y if isinstance(part, np.ndarray))),
    "too few answers": lambda X, y: (X, y[:-1]),
    "answers of NaN": lambda X, y: (X, np.full(len(y), np.nan)),
    "no answers": lambda X, y: (X, None),
}


def _bad_data():
    for entry in ENTRIES:
        args = entry.task(0).args
        has_answers = len(args) == 2 and isinstance(args[1], np.ndarray)
        for name in BAD_DATA:
            if has_answers or not ("answers" in name or (name == "no rows" and len(args) == 2)):
                yield entry, name


@cases("bad data", _bad_data(), "name")
def test_bad_data_are_refused_and_leave_what_was(entry, name):
    task = entry.task(0)
    args = BAD_DATA[name](*task.args)
    for model in (entry.fresh(), entry.fitted()):
        before = everything(model, task)
        with pytest.raises((ValueError, TypeError)):
            model.fit(*args)
        assert_unchanged(model, task, before)


class InjectedError(Exception):
    """An error that is raised somewhere inside a fit."""


def calls_during(run, fail_at=0, error=InjectedError):
    """Return the number of calls of functions of the library; the one with this number fails.

    Functions that clean up are let through: their failure would be that of Python.
    """
    count, tracer = 0, sys.gettrace()

    def watch(frame, event, _):
        nonlocal count
        if event == "call" and _may_fail(frame.f_code):
            count += 1
            if count == fail_at:
                sys.settrace(tracer)
                raise error(frame.f_code.co_qualname)

    sys.settrace(watch)
    try:
        run()
    finally:
        sys.settrace(tracer)
    return count


@cache
def _may_fail(code):
    is_plain = not code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE)
    return is_plain and code.co_name != "__exit__" and code.co_filename.startswith(HOME)


@cases("an error anywhere")
def test_an_error_anywhere_in_a_fit_leaves_all_or_nothing(entry):
    """After an error in some function the estimator is as before, or as after the fit."""
    old, task = entry.task(1), entry.task(0)
    before = everything(entry.fitted(1), old)
    after = everything(entry.fresh().fit(*task.args), old)
    model = entry.fitted(1)
    n_calls = calls_during(lambda: model.fit(*task.args))
    early = np.linspace(1, n_calls - 3, 3).astype(int).tolist()
    for number in sorted({*early, *range(n_calls - 2, n_calls + 1)} - {0, -1, -2}):
        for model in (entry.fresh(), entry.fitted(1)):
            expected = before if fitted_state(model) else everything(model, old)
            try:
                calls_during(lambda: model.fit(*task.args), number)  # noqa: B023
            except InjectedError as error:
                found = everything(model, old)
                if differences(found, expected) and differences(found, after):
                    pytest.fail(f"after an error in {error}: {differences(found, expected)}")


class LateError(ClassifierMixin, BaseEstimator):
    """A rule that fails when it is fitted to all samples, the last thing that a fit does."""

    def __init__(self, n_samples):
        self.n_samples = n_samples

    def fit(self, X, y):
        """Fail with most of the samples, and learn one class from a part of them."""
        if len(X) > 0.9 * self.n_samples:
            raise InjectedError("the last step")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        """Return the first class."""
        return np.full(len(X), self.classes_[0])


class BrokenMap(TransformerMixin, BaseEstimator):
    """A map that is fitted, and cannot be used."""

    def fit(self, X, y=None):
        """Learn nothing."""
        return self

    def transform(self, X):
        """Fail."""
        raise InjectedError("the last step")


LATE = [(e, "rule") for e in ENTRIES if e.has("rule", "cv")]
LATE += [(e, "metric") for e in ENTRIES if e.has("metric", "preprocessor")]


@cases("an error late in a fit", LATE, "name")
def test_an_error_late_in_a_fit_leaves_what_was(entry, name):
    n_samples = len(entry.task(0).args[0])
    old, broken = entry.task(1), {"rule": LateError(n_samples), "metric": BrokenMap()}[name]
    for model in (entry.fresh(), entry.fitted(1)):
        before, parameter = everything(model, old), model.get_params(deep=False)[name]
        with pytest.raises(InjectedError, match="the last step"):
            model.set_params(**{name: broken}).fit(*entry.task(0).args)
        assert_unchanged(model.set_params(**{name: parameter}), old, before)


WITH_CALLBACK = [entry for entry in ENTRIES if entry.has("callback")]


def _fail_at(number, error):
    """Return a callback that raises an error when it is called for the nth time."""
    steps = []

    def callback(step):
        steps.append(step)
        if len(steps) == number:
            raise error

    return callback, steps


def _n_steps(entry):
    callback, steps = _fail_at(0, None)
    entry.fresh(callback=callback).fit(*entry.task(0).args)
    return len(steps)


@cases("an error of a callback", WITH_CALLBACK)
def test_an_error_of_a_callback_leaves_what_was(entry):
    task, n_steps = entry.task(0), _n_steps(entry)
    for number in {1, n_steps // 2 + 1, n_steps}:
        for model in (entry.fresh(), entry.fitted(1)):
            before = everything(model, entry.task(1))
            model.set_params(callback=_fail_at(number, RuntimeError("out of paper"))[0])
            with pytest.raises(RuntimeError, match="out of paper"):
                model.fit(*task.args)
            model.set_params(callback=None)
            assert_unchanged(model, entry.task(1), before)


@cases("Ctrl-C in the last solve", WITH_CALLBACK)
def test_ctrl_c_in_the_last_solve_keeps_the_best_map_so_far(entry):
    task, n_steps = entry.task(0), _n_steps(entry)
    complete = sorted(fitted_state(entry.fresh().fit(*task.args)))
    for number in {1, n_steps // 2 + 1, n_steps}:
        for model in (entry.fresh(), entry.fitted(1)):
            model.set_params(callback=_fail_at(number, KeyboardInterrupt())[0])
            with pytest.raises(KeyboardInterrupt):
                model.fit(*task.args)
            assert model.status_ == "interrupted"
            assert sorted(fitted_state(model)) == complete
            assert np.isfinite(measure(model, task)).all()
            assert answers(model.set_params(callback=None), task)["transform"]
            least = min(step.gap for step in model.history_)
            assert model.certificate_.gap <= 1.1 * least + 1e-6 * abs(model.certificate_.primal)


@cases("Ctrl-C anywhere")
def test_ctrl_c_anywhere_in_a_fit_leaves_what_was_or_a_map(entry):
    """Elsewhere than in the last solve the estimator is as before, or as after the fit."""
    old, task = entry.task(1), entry.task(0)
    before = everything(entry.fitted(1), old)
    after = everything(entry.fresh().fit(*task.args), old)
    n_calls = calls_during(lambda: entry.fresh().fit(*task.args))
    for number in np.linspace(1, n_calls, 4).astype(int).tolist():
        model = entry.fitted(1)
        try:
            calls_during(lambda: model.fit(*task.args), number, KeyboardInterrupt)  # noqa: B023
        except KeyboardInterrupt as error:
            found = everything(model, old)
            if differences(found, before) and differences(found, after):
                is_whole = found["names"] == after["names"]
                if not is_whole or getattr(model, "status_", "interrupted") != "interrupted":
                    pytest.fail(f"after Ctrl-C in {error}: {differences(found, before)}")


# Copies and files


def _by_file(model, path):
    save(model, path / "model.safetensors")
    return load(path / "model.safetensors")


COPIES = {
    "pickle": lambda model, _: pickle.loads(pickle.dumps(model)),
    "copy": lambda model, _: copy.copy(model),
    "deepcopy": lambda model, _: copy.deepcopy(model),
    "file": _by_file,
}
EACH_COPY = [(e, name) for e in ENTRIES for name in COPIES if e.is_saved or name != "file"]


def _kept(entry, name, found):
    """Return the part of a result that a copy keeps."""
    # the value has what a file leaves out, too; all of its parts are attributes
    lost = (*entry.not_stored, "map_") if name == "file" and entry.not_stored else ()
    return {key: value for key, value in found.items() if key not in lost}


@cases("copies", EACH_COPY, "name")
def test_a_copy_gives_the_same_answers(entry, name, tmp_path):
    model, task = entry.fitted(), entry.task(0)
    twin = COPIES[name](model, tmp_path)
    assert type(twin) is type(model)
    assert_same(bits(twin.get_params()), bits(model.get_params()))
    found, expected = ((fitted_state(one), answers(one, task)) for one in (twin, model))
    assert_same(*(_kept(entry, name, one[0]) for one in (found, expected)))
    assert_same(*(_kept(entry, name, one[1]) for one in (found, expected)))
    assert not {*entry.not_stored} & {*found[0]} or name != "file"
    assert_unchanged(clone(twin), task, everything(entry.fresh(), task))


@cases("copies of an unfitted one")
def test_a_copy_of_an_unfitted_one_is_unfitted(entry):
    model, task = entry.fresh(), entry.task(0)
    for name in ("pickle", "copy", "deepcopy"):
        assert_unchanged(COPIES[name](model, None), task, everything(entry.fresh(), task))


@cases("files of others", [entry for entry in ENTRIES if not entry.is_saved])
def test_what_has_no_file_says_so(entry, tmp_path):
    with pytest.raises(TypeError, match=f"type {type(entry.estimator).__name__} cannot be saved"):
        save(entry.fitted(), tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())


@cases("files after set_params", [row for row in PARAMETERS if row[0].is_saved], "name")
def test_a_file_does_not_depend_on_parameters_changed_after_a_fit(entry, name, tmp_path):
    model, task = entry.fitted(), entry.task(0)
    expected = answers(model, task, leave_out=RECOMPUTED)
    model.set_params(**{name: other_value(entry, name)})
    found = answers(_by_file(model, tmp_path), task, leave_out=RECOMPUTED)
    assert_same(*(_kept(entry, "file", one) for one in (found, expected)))


PROMISING = [entry for entry in ENTRIES if hasattr(entry.estimator, "promise_threshold")]


EACH_PROMISE = [row for row in EACH_COPY if row[0] in PROMISING]


@cases("known points", EACH_PROMISE, "name")
def test_a_copy_knows_what_it_was_learned_from(entry, name, tmp_path):
    points = entry.task(0).args[0]
    known = np.unique(points.reshape(-1, points.shape[-1]), axis=0)
    pairs = known[: len(known) // 2 * 2].reshape(-1, 2, known.shape[1])
    for model in (entry.fitted(), COPIES[name](entry.fitted(), tmp_path)):
        with pytest.warns(UserWarning, match="points are points that the model was learned from"):
            model.promise_threshold(pairs, -np.ones(len(pairs)), max_false_match=0.5)


@cases("promises", EACH_PROMISE, "name")
def test_a_copy_keeps_its_promise_and_threshold(entry, name, tmp_path, rng):
    task = entry.task(0)
    pairs = rng.normal(size=(20, 2, task.new.shape[1]))
    model = entry.fitted().promise_threshold(pairs, -np.ones(20), max_false_match=0.5)
    twin = COPIES[name](model, tmp_path)
    assert_same(bits(twin.promise_), bits(model.promise_))
    assert twin.threshold_ == model.threshold_
    twin.set_threshold(0.5)
    assert not hasattr(twin, "promise_")


# The same data in other forms


@cases("scale", [entry for entry in ENTRIES if entry.scale])
@pytest.mark.parametrize("unit", [0.125, 1e6])
def test_the_unit_of_the_samples(entry, unit):
    task = entry.task(0)
    scaled = task.with_samples(lambda X: unit * X)
    found = measure(entry.fit(entry.fresh(), scaled), scaled)
    factor = {"same": 1.0, "double": unit}[entry.scale]
    assert_near(found, factor * measure(entry.fitted(), task), 1e-9 if unit < 1 else 1e-6)


EXTREME = [(entry, power) for entry in ENTRIES if entry.scale for power in (-480, -160, 160, 480)]


@cases("extreme units", EXTREME, "power")
def test_extreme_units_have_the_same_answer_or_are_refused(entry, power):
    task = entry.task(0)
    scaled = task.with_samples(lambda X: np.ldexp(X, power))
    try:
        found = measure(entry.fit(entry.fresh(), scaled), scaled)
    except ValueError as error:
        assert re.search("scale the features|overflow|vanish", str(error))  # noqa: PT017
        return
    factor = {"same": 1.0, "double": 2.0**power}[entry.scale]
    assert_near(found, factor * measure(entry.fitted(), task), 1e-6)


@cases("offset", [entry for entry in ENTRIES if entry.offset])
def test_the_origin_does_not_matter(entry):
    task = entry.task(0)
    moved = task.with_samples(lambda X: X + 2.0**26)
    model = entry.fit(entry.fresh(**entry.precise), moved)
    expected = entry.fit(entry.fresh(**entry.precise), task)
    assert_near(measure(model, moved), measure(expected, task), entry.offset)


@cases("sparse samples")
def test_sparse_samples_are_dense_ones_or_refused(entry):
    task = entry.task(0)
    args = (sp.csr_array(task.args[0]) if task.args[0].ndim == 2 else None, *task.args[1:])
    if not get_tags(entry.estimator).input_tags.sparse:
        with pytest.raises((TypeError, ValueError)):
            entry.fresh().fit(*args)
    elif task.args[0].ndim == 2:
        model, plain = entry.fresh(**entry.precise), entry.fresh(**entry.precise).fit(*task.args)
        assert_near(measure(model.fit(*args), task), measure(plain, task), 1e-2)


@cases("order", [entry for entry in ENTRIES if entry.order])
def test_the_order_of_rows_does_not_matter(entry, rng):
    task, order = entry.task(0), rng.permutation(entry.task(0).sizes[0])
    other = replace(task, args=tuple(part[order] for part in task.args))
    found = entry.fit(entry.fresh(**entry.precise), other)
    expected = entry.fit(entry.fresh(**entry.precise), task)
    assert_near(measure(found, task), measure(expected, task), entry.order)


@cases("weights", [entry for entry in ENTRIES if entry.weight])
def test_weights_are_repetitions(entry):
    """A weight of two is the row twice, and a weight of zero is no row."""
    task, weight = entry.task(0), np.arange(entry.task(0).sizes[0]) % 4 - 1
    weight[weight < 0] = 1
    model = entry.fresh(**entry.precise).fit(*task.args, sample_weight=weight)
    again = entry.fresh(**entry.precise).fit(*(np.repeat(part, weight, 0) for part in task.args))
    assert_near(measure(model, task), measure(again, task), entry.weight)
    for name in ("threshold_", "rank_"):
        if hasattr(model, name):
            assert getattr(model, name) == pytest.approx(getattr(again, name), rel=entry.weight)
    alike = entry.fresh(**entry.precise).fit(*task.args, sample_weight=np.full(len(weight), 4.0))
    plain = entry.fresh(**entry.precise).fit(*task.args)
    if entry.is_repeatable:
        assert_near(measure(alike, task), measure(plain, task), entry.weight)
    if entry in FROM_TUPLES:
        rows = np.repeat(np.arange(len(weight)), weight)
        repeated = plain.score(*(part[rows] for part in task.args))
        assert plain.score(*task.args, sample_weight=weight) == pytest.approx(repeated)


@cases("repeated rows", [entry for entry in ENTRIES if entry.is_repeatable])
def test_all_rows_twice_are_all_rows_once(entry):
    task = entry.task(0)
    model = entry.fresh(**entry.precise)
    twice = model.fit(*(np.repeat(part, 2, axis=0) for part in task.args))
    expected = entry.fresh(**entry.precise).fit(*task.args)
    assert_near(measure(twice, task), measure(expected, task), 1e-6)


@cases("single precision")
def test_single_precision(entry):
    task = entry.task(0)
    single = task.with_samples(lambda X: X.astype(np.float32))
    model = entry.fit(entry.fresh(), single)
    assert_near(measure(model, single), measure(entry.fitted(), task), 1e-5)
    if entry.keeps_single:
        assert model.transform(single.new).dtype == np.float32
        assert model.transform(task.new).dtype == np.float64


FROM_TUPLES = [entry for entry in ENTRIES if entry.task(0).args[0].ndim == 3]
NAMED = [e for e in ENTRIES if e not in FROM_TUPLES and e.label != "precomputed"]


def _frames(task, library):
    names = list("abcdefghijkl")[: task.args[0].shape[1]]
    task = replace(task, asked=None)
    return task.with_samples(lambda X: library(dict(zip(names, X.T, strict=True)))), names


@cases("data frames", NAMED)
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_data_frames_are_arrays_with_names(entry, library):
    task = entry.task(0)
    framed, names = _frames(task, library)
    model, plain = entry.fresh().fit(*framed.args), entry.fresh().fit(*task.args)
    assert model.feature_names_in_.tolist() == names
    assert not hasattr(plain, "feature_names_in_")
    if entry.is_same_in_fortran:
        parts = [fitted_state(one) for one in (model, plain)]
        of_names = {"feature_names_in_", "metric_", model._kept}  # whose value has the names
        assert_same(*({n: part[n] for n in part if n not in of_names} for part in parts))
    assert not hasattr(entry.fit(model, task), "feature_names_in_")


@cases("wrong names", [entry for entry in NAMED if hasattr(entry.estimator, "transform")])
def test_wrong_names_are_refused(entry):
    task = entry.task(0)
    framed, names = _frames(task, pd.DataFrame)
    model = entry.fresh().fit(*framed.args)
    assert_near(model.transform(framed.new), entry.fitted().transform(task.new), 1e-9)
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(framed.new.rename(columns={"a": "z"}))
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(framed.new[names[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.transform(task.new)


@cases("wrong shapes")
def test_samples_of_other_shapes_are_refused(entry):
    model, task = entry.fitted(), entry.task(0)
    before = everything(model, task)
    for change in (lambda X: X[..., :-1], lambda X: X * np.nan):
        other = replace(task.with_samples(change), truth=task.truth)
        for name in ("transform", "predict", "energies", "pair_distance", "trust"):
            if name in questions_of(entry) and name not in entry.refuses:
                with pytest.raises(ValueError):  # noqa: PT011 - of many kinds
                    QUESTIONS[name](model, other)
    assert_unchanged(model, task, before)


OF_INDICES = [e for e in ENTRIES if e.has("preprocessor") and e.has_fit_of_indices]


@cases("preprocessors", OF_INDICES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_samples_may_be_indices_of_a_preprocessor(entry, dtype):
    task = entry.task(0).with_samples(lambda X: X.astype(dtype))
    given, *rest = task.args
    n_features = given.shape[-1]
    points, index = np.unique(given.reshape(-1, n_features), axis=0, return_inverse=True)
    index, order = index.reshape(given.shape[:-1]), np.arange(len(points))[::-1]
    words = np.array([f"shoe {i}" for i in range(len(points))])
    plain = entry.fresh().fit(*task.args)
    for rows, preprocessor in [
        (index, points),
        (index.tolist(), points),
        (len(points) - 1 - index, points[order]),
        (index, lambda rows: points[rows]),
        (words[index], lambda ids: points[[words.tolist().index(name) for name in ids]]),
        *([(given.tolist(), None)] if dtype == np.float64 else []),
    ]:
        model = entry.fresh(preprocessor=preprocessor).fit(rows, *rest)
        assert_same(fitted_state(model), fitted_state(plain))
        if entry in FROM_TUPLES:
            np.testing.assert_array_equal(
                model.decision_function(rows), plain.decision_function(given)
            )


@cases("names of a preprocessor", [entry for entry in OF_INDICES if entry in FROM_TUPLES])
def test_a_preprocessor_of_named_columns_gives_its_names(entry):
    tuples, *rest = entry.task(0).args
    points, index = np.unique(tuples.reshape(-1, 4), axis=0, return_inverse=True)
    table = pd.DataFrame(points, columns=list("abcd"))
    model = entry.fresh(preprocessor=table).fit(index.reshape(tuples.shape[:-1]), *rest)
    assert model.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(table.rename(columns={"a": "e"}))


# Certificates

CERTIFIED = [entry for entry in ENTRIES if entry.is_certified]


@cases("certified or not")
def test_which_estimators_have_a_certificate(entry):
    assert hasattr(entry.fitted(), "certificate_") == entry.is_certified


@cases("certificates", CERTIFIED)
def test_a_certificate_is_an_interval(entry):
    found = entry.fitted().certificate_
    assert found.gap >= 0
    sign = -1 if "maximum" in str(found) else 1
    assert found.gap == pytest.approx(sign * (found.primal - found.dual), rel=1e-6, abs=1e-9)
    tolerance = entry.estimator.get_params().get("tol", 1e-3)
    assert found.relative_gap <= max(tolerance, 1e-8)


BRACKETED = [e for e in CERTIFIED if e.has("tol", "max_iter") and not e.has("cv")]


@cases("brackets", BRACKETED)
def test_certificates_of_rough_and_exact_fits_agree(entry):
    """The optimum is in all intervals: no bound contradicts what another fit reached."""
    task, options = entry.task(0), {"n_passes": 1} if entry.has("n_passes") else {}
    fits = [entry.fresh(tol=tol, **options).fit(*task.args) for tol in (0.3, 1e-2, 1e-6)]
    ends = np.sort([(fit.certificate_.primal, fit.certificate_.dual) for fit in fits], axis=1)
    assert ends[:, 0].max() <= ends[:, 1].min() + 1e-9 * (1 + np.abs(ends).max())
    assert fits[-1].certificate_.gap <= fits[0].certificate_.gap + 1e-9 * np.abs(ends).max()


PROVEN = [entry for entry in ENTRIES if hasattr(entry.estimator, "certify")]


@cases("proofs", PROVEN)
def test_a_proof_can_be_repeated(entry, tmp_path):
    task = entry.task(0)
    model = entry.fitted()
    for twin in (model, _by_file(model, tmp_path)):
        assert twin.certify(*task.args).primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    for samples in (task.args[0][::-1] * 2 + 1, np.roll(task.args[0], 1, axis=0)):
        with pytest.raises((CertificateError, ValueError)):
            model.certify(samples, *task.args[1:])
    with pytest.raises(ValueError, match="keep_dual=True"):
        entry.fresh(keep_dual=False).fit(*task.args).certify(*task.args)


EXACT = [e for e in PROVEN if "exact" in inspect.signature(e.estimator.certify).parameters]


@cases("exact proofs", EXACT)
def test_a_certificate_holds_in_exact_arithmetic(entry):
    model, task = entry.fitted(), entry.task(0)
    exact = model.certify(*task.args, exact=True)
    assert exact.dual <= exact.primal
    assert exact.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert exact.relative_gap <= 1.01 * model.tol


# Distances and answers

WITH_MAP = [entry for entry in ENTRIES if hasattr(entry.estimator, "pair_distance")]
SYMMETRIC = [entry for entry in WITH_MAP if entry.estimator.get_params().get("side") != "query"]


@cases("distances", SYMMETRIC)
def test_distances_are_those_of_mapped_points(entry):
    model, task = entry.fitted(), entry.task(0)
    pairs, mapped = task.pairs, model.transform(task.new).reshape(len(task.pairs), 2, -1)
    distance = model.pair_distance(pairs)
    expected = np.linalg.norm(mapped[:, 0] - mapped[:, 1], axis=1)
    np.testing.assert_allclose(distance, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(model.pair_score(pairs), -distance)
    np.testing.assert_array_equal(model.pair_distance(pairs[:, ::-1]), distance)
    np.testing.assert_array_equal(model.pair_distance(pairs[:, [0, 0]]), 0)
    np.testing.assert_array_equal(model.pair_distance(pairs[2:]), distance[2:])


@cases("distances as a function", [e for e in SYMMETRIC if hasattr(e.estimator, "get_metric")])
def test_the_function_and_the_matrix_have_the_same_distances(entry):
    model, task = entry.fitted(), entry.task(0)
    pairs = task.pairs
    distance, M = pickle.loads(pickle.dumps(model.get_metric())), model.get_mahalanobis_matrix()
    found = [distance(a, b) for a, b in pairs]
    np.testing.assert_allclose(found, model.pair_distance(pairs), rtol=1e-9, atol=1e-9)
    assert found == [distance(b, a) for a, b in pairs]
    assert not any(distance(a, a) for a, _ in pairs)
    np.testing.assert_allclose([distance(*p, squared=True) for p in pairs], np.square(found))
    np.testing.assert_allclose(M, model.components_.T @ model.components_)
    if M.shape[0] == pairs.shape[2] and entry.label != "precomputed":
        away = pairs[:, 0] - pairs[:, 1]
        np.testing.assert_allclose(found, np.sqrt(np.einsum("ij,jk,ik->i", away, M, away)))


@cases("answers to tuples", FROM_TUPLES)
def test_answers_to_tuples_are_differences_of_distances(entry):
    model, task = entry.fitted(), entry.task(0)
    ends = {2: [(0, 1)], 3: [(0, 1), (0, 2)], 4: [(0, 1), (2, 3)]}[task.asked.shape[1]]
    near, *far = (model.pair_distance(task.asked[:, list(pair)]) for pair in ends)
    decision, predicted = model.decision_function(task.asked), model.predict(task.asked)
    if far:
        np.testing.assert_allclose(decision, far[0] - near, atol=1e-9)
        np.testing.assert_array_equal(predicted, np.where(decision > 0, 1, -1))
        assert model.score(task.asked) == np.mean(predicted == 1)
    else:
        np.testing.assert_array_equal(decision, -near)
        np.testing.assert_array_equal(predicted, np.where(near <= model.threshold_, 1, -1))
        assert model.score(*task.args) == pytest.approx(roc_auc_score(task.truth, -near))


@cases("turned tuples", FROM_TUPLES)
def test_minus_one_turns_a_comparison_round(entry):
    task = entry.task(0)
    size = task.asked.shape[1]
    turn = {2: [1, 0], 3: [0, 2, 1], 4: [2, 3, 0, 1]}[size]
    is_turned = np.arange(len(task.asked)) % 3 == 0
    turned = np.where(is_turned[:, None, None], task.asked[:, turn], task.asked)
    answers_ = task.args[1:] if size == 2 else (np.where(is_turned, -1, 1),)
    model, plain = entry.fresh().fit(turned, *answers_), entry.fresh().fit(*task.args)
    assert_near(measure(model, task), measure(plain, task), 1e-9)
    assert model.score(turned, *answers_) == pytest.approx(plain.score(*task.args))
    sign = 1 if size == 2 else -1
    decision = plain.decision_function(task.asked)
    np.testing.assert_array_equal(sign * plain.decision_function(task.asked[:, turn]), decision)


@cases("equal points", FROM_TUPLES)
def test_tuples_of_equal_points_are_left_out_with_a_warning(entry):
    task = entry.task(0)
    void = np.repeat(task.args[0][:1, :1], task.args[0].shape[1], axis=1)
    more = tuple(np.append(part, part[:1], axis=0) for part in task.args)
    more[0][-1:] = void
    with pytest.warns(UserWarning, match="1 of .* tuples have equal points"):
        model = entry.fresh(**entry.precise).fit(*more)
    expected = entry.fresh(**entry.precise).fit(*task.args)
    assert_near(measure(model, task), measure(expected, task), 1e-6)
    with pytest.raises(ValueError, match="tuples have equal points"):
        entry.fresh().fit(np.repeat(task.args[0][:, :1], void.shape[1], axis=1), *task.args[1:])


@cases("wrong tuples", FROM_TUPLES)
def test_wrong_tuples_are_refused(entry):
    task, model = entry.task(0), entry.fitted()
    tuples, *given = task.args
    for args, words in [
        ((tuples[:, :1], *given), "of 1 point"),
        ((tuples[:, :, 0].astype(int), *given), "there is no preprocessor"),
        ((tuples, np.zeros(len(tuples))), r"y\[0\] = 0.*; expected \+1"),
        ((tuples, np.ones(len(tuples), bool)), r"y\[0\] = True; expected \+1"),
    ]:
        for call in (entry.fresh().fit, model.score):
            with pytest.raises(ValueError, match=words):
                call(*args)
    with pytest.raises(TypeError, match=r"has no fit_transform; call fit\(tuples\)"):
        model.fit_transform(*task.args)


@cases("pairs of one kind", [entry for entry in FROM_TUPLES if len(entry.task(0).args) == 2])
def test_pairs_of_one_kind_are_refused(entry):
    pairs, y = entry.task(0).args
    for args, words in [
        ((pairs, np.ones(len(y))), r"all 48 pairs are similar \(\+1\)"),
        ((pairs, -np.ones(len(y))), r"all 48 pairs are dissimilar \(-1\)"),
        ((pairs, None), "y is None"),
    ]:
        for call in (entry.fresh().fit, entry.fitted().score):
            with pytest.raises(ValueError, match=words):
                call(*args)
    with pytest.raises(ValueError, match="strategy is 'weird'"):
        entry.fresh().fit(pairs, y, calibration_params={"strategy": "weird"})


RANKED = [e for e in PROVEN if "explain" not in e.refuses and not e.has("cv")]


@cases("ranks", RANKED)
def test_components_are_ordered_and_truncated(entry):
    task = entry.task(0)
    full, two, by_rank = (entry.fresh(n_components=n).fit(*task.args) for n in (None, 2, "rank"))
    lengths = np.linalg.norm(full.components_, axis=1)
    assert (np.diff(lengths) <= 1e-12 * lengths[0]).all()
    assert not lengths[full.rank_ :].any()
    np.testing.assert_array_equal(two.components_, full.components_[:2])
    np.testing.assert_array_equal(by_rank.components_, full.components_[: full.rank_])
    assert two.certificate_.primal == full.certificate_.primal
    names = two.get_feature_names_out().tolist()
    assert names == [f"{type(two).__name__.lower()}{i}" for i in range(2)]


# Endings


@cases("a callback that stops", WITH_CALLBACK)
def test_a_callback_can_stop(entry):
    steps, task = [], entry.task(0)
    stop = {"callback": lambda step: len(steps) == 2 or steps.append(step), "tol": 1e-12}
    model = entry.fresh(**stop).fit(*task.args)
    assert model.status_ == "stopped"
    assert model.n_iter_ >= len(model.history_) > 0
    assert np.isfinite(measure(model, task)).all()


LIMITED = [entry for entry in BRACKETED if entry.limit]


def _stopped_early(entry, **parameters):
    """Return a fit that ended before its tolerance, and its warning."""
    once = {"n_passes": 1} if entry.has("n_passes") else {}
    model = entry.fresh(tol=1e-12, **once, **parameters)
    with pytest.warns(ConvergenceWarning, match=r"raise max_iter") as caught:
        model.fit(*entry.task(0).args)
    return model, caught[0]


@cases("too few steps", LIMITED)
def test_too_few_steps_warn_and_leave_a_map_with_a_true_interval(entry):
    rough = [_stopped_early(entry, max_iter=n + 1)[0] for n in range(entry.limit)]
    assert {getattr(model, "status_", "max_iter") for model in rough} == {"max_iter"}
    once = {"n_passes": 1} if entry.has("n_passes") else {}
    best = entry.fresh(**once).fit(*entry.task(0).args)
    ends = np.sort([(m.certificate_.primal, m.certificate_.dual) for m in [best, *rough]], axis=1)
    assert ends[:, 0].max() <= ends[:, 1].min() + 1e-9 * (1 + np.abs(ends).max())


@cases("where warnings point", LIMITED)
def test_a_warning_of_a_fit_points_at_the_line_of_the_caller(entry):
    assert _stopped_early(entry, max_iter=1)[1].filename == __file__


@cases("verbose", [entry for entry in ENTRIES if entry.has("verbose")])
def test_verbose_writes_and_silence_is_the_default(entry, capsys):
    entry.fresh().fit(*entry.task(0).args)
    assert capsys.readouterr().out == ""
    kind = type(entry.estimator.get_params()["verbose"])
    entry.fresh(verbose=kind(1)).fit(*entry.task(0).args)
    assert re.search("gap|objective|error", capsys.readouterr().out)
