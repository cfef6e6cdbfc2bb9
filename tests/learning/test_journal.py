"""Fits with a checkpoint: any of them can be ended at any time, and goes on."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, load_wine

from frobmetric import FrobMetric, FrobMetricCV
from frobmetric.core.points import Factored
from frobmetric.learning import samples as samples_module
from frobmetric.learning.journal import Progress, from_arrays, to_arrays
from frobmetric.model.sets import GivenTriplets
from frobmetric.runtime.checkpoint import Checkpoint
from frobmetric.solvers import Interrupted

X, Y = load_wine(return_X_y=True)
OPTIONS = {"C": 1e4, "tol": 1e-7, "n_passes": 3, "keep_dual": True}


class KilledError(BaseException):
    """End of a process."""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.ckpt"


@pytest.fixture(scope="module")
def whole():
    """Metric of a fit without a checkpoint."""
    return _metric().fit(X, Y)


@pytest.fixture
def kill_after(monkeypatch):
    """Return a function that lets a process end right after it has saved so many states."""
    save = Checkpoint.save

    def kill_after(n_states):
        left = [n_states]

        def save_and_die(self, arrays):
            save(self, arrays)
            left[0] -= 1
            if not left[0]:
                raise KilledError

        monkeypatch.setattr(Checkpoint, "save", save_and_die)

    yield kill_after
    monkeypatch.undo()


def _metric(**options):
    return FrobMetric(**OPTIONS | options)


def _assert_same(a, b):
    assert np.array_equal(a.components_, b.components_)
    assert np.array_equal(a.dual_coef_, b.dual_coef_)
    assert np.array_equal(a.triplets_.to_array(), b.triplets_.to_array())
    assert a.certificate_ == b.certificate_
    assert a.n_iter_ == b.n_iter_
    assert [step[:4] for step in a.history_] == [step[:4] for step in b.history_]


def _stage(path):
    """Return the stage in a file, of a fit whose identity is taken from the file itself."""
    header = json.loads(path.read_bytes().split(b"\n", 3)[2])
    return from_arrays(Checkpoint(path, header["identity"]).load())


@pytest.mark.parametrize("seconds", [0, 30])
def test_a_fit_with_a_checkpoint_is_the_same_to_the_last_bit(path, seconds, whole):
    metric = _metric().fit(X, Y, checkpoint=path, checkpoint_seconds=seconds)
    _assert_same(metric, whole)
    assert not path.exists()
    assert os.listdir(path.parent) == []


@pytest.mark.slow
def test_a_fit_goes_on_after_every_state(path, kill_after, monkeypatch, whole):
    seen = set()
    monkeypatch.setattr("frobmetric.runtime.checkpoint.SHARE", np.inf)  # a state after every step
    for n_states in (*range(1, 8), 12, 30, 80, 200):
        kill_after(n_states)
        try:
            _metric().fit(X, Y, checkpoint=path, checkpoint_seconds=0)
            break
        except KilledError:
            monkeypatch.undo()
        stage = _stage(path)
        seen.add((stage.number, stage.run.u is not None))
        metric = _metric().fit(X, Y, checkpoint=path)
        assert metric.status_ == "optimal"
        assert metric.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=2e-7)
        assert np.array_equal(metric.triplets_.to_array(), whole.triplets_.to_array())
        assert metric.n_iter_ >= len(metric.history_)
        assert not path.exists()
        monkeypatch.setattr("frobmetric.runtime.checkpoint.SHARE", np.inf)
    assert {number for number, _ in seen} == {0, 1, 2}
    assert (2, True) in seen


@pytest.mark.parametrize(
    ("n_states", "number", "is_searched"),
    [(1, 0, False), (2, 0, True), (3, 1, False), (4, 1, True), (5, 2, False), (6, 2, True)],
)
def test_after_a_stage_the_fit_goes_on_to_the_same_bits(
    path, kill_after, monkeypatch, whole, n_states, number, is_searched
):
    kill_after(n_states)
    with pytest.raises(KilledError):
        _metric().fit(X, Y, checkpoint=path)
    monkeypatch.undo()
    stage = _stage(path)
    assert (stage.number, stage.is_searched) == (number, is_searched)
    searches = _count_searches(monkeypatch)
    _assert_same(_metric().fit(X, Y, checkpoint=path), whole)
    assert len(searches) == 3 - number - is_searched


def _count_searches(monkeypatch):
    searches, mine = [], samples_module.mine_distinct

    def count(*arguments, **options):
        searches.append(None)
        return mine(*arguments, **options)

    monkeypatch.setattr(samples_module, "mine_distinct", count)
    return searches


def test_history_and_counts_go_on(path, kill_after, monkeypatch):
    monkeypatch.setattr("frobmetric.runtime.checkpoint.SHARE", np.inf)
    kill_after(12)
    with pytest.raises(KilledError):
        _metric(n_passes=1).fit(X, Y, checkpoint=path, checkpoint_seconds=0)
    monkeypatch.undo()
    run = _stage(path).run
    steps = []
    metric = _metric(n_passes=1, callback=lambda step: steps.append(step))
    metric.fit(X, Y, checkpoint=path)
    assert run.n_iter > 0
    assert metric.history_[: len(run.history)] == list(run.history)
    assert len(metric.history_) == len(run.history) + len(steps)
    seconds = [step.seconds for step in metric.history_]
    assert seconds == sorted(seconds)
    assert min(step.gap for step in steps) <= min(step.gap for step in run.history)


@pytest.mark.parametrize("n_passes", [1, 2])
def test_ctrl_c_leaves_the_last_state(path, n_passes):
    def interrupt(step):
        if step.relative_gap < 1e-2:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        _metric(callback=interrupt, n_passes=n_passes, keep_dual=True).fit(X, Y, checkpoint=path)
    stage, learned = _stage(path), caught.value.solution
    assert (stage.number, stage.is_searched) == (0, True)
    metric, whole = _metric(n_passes=n_passes), _metric(n_passes=n_passes).fit(X, Y)
    metric.fit(X, Y, checkpoint=path)
    if n_passes == 1:
        assert np.array_equal(stage.run.u, learned.proof.u)
        assert metric.history_[: len(learned.run.history)] == list(learned.run.history)
        assert metric.n_iter_ > learned.run.n_iter
    else:  # an earlier solve is repeated, to the same bits
        _assert_same(metric, whole)
    assert metric.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=2e-7)
    assert not path.exists()


def test_a_fit_that_ends_by_its_limit_is_complete(path):
    with pytest.warns(UserWarning, match="max_iter"):
        _metric(max_iter=3, n_passes=1).fit(X, Y, checkpoint=path)
    assert not path.exists()


def _interrupted(path, kill_after, monkeypatch, *arguments, **given):
    kill_after(2)
    with pytest.raises(KilledError):
        _metric().fit(*arguments, checkpoint=path, **given)
    monkeypatch.undo()


CHANGED = X.copy()
CHANGED[77, 3] = np.nextafter(CHANGED[77, 3], 9)


@pytest.mark.parametrize(
    ("options", "data", "message"),
    [
        ({}, (CHANGED, Y), r"another fit: X differs\. Give the same data"),
        ({}, (X[::-1], Y), "another fit: X differs"),
        ({}, (X.astype(np.float32), Y), "another fit: X differs"),
        ({}, (sparse.csr_array(X), Y), "another fit: X differs"),
        ({}, (X, Y[::-1]), r"another fit: y differs\."),
        ({"C": 10}, (X, Y), r"C was 10000\.0 and is 10\.0\."),
        ({"prior": "identity"}, (X, Y), "prior was None and is 'identity'"),
        ({"prior": np.eye(13)}, (X, Y), "prior differs"),
        ({"n_passes": 2, "tol": 1e-3}, (X, Y), r"n_passes was 3\.0 .*tol was 1e-07"),
    ],
)
def test_the_checkpoint_of_another_fit_is_refused(
    path, kill_after, monkeypatch, options, data, message
):
    _interrupted(path, kill_after, monkeypatch, X, Y)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=message):
        _metric(**options).fit(*data, checkpoint=path)
    assert path.read_bytes() == before


def test_parameters_that_do_not_matter_may_change(path, kill_after, monkeypatch):
    _interrupted(path, kill_after, monkeypatch, X, Y)
    free = {"n_jobs": 1, "n_components": 2, "callback": lambda step: None, "keep_dual": False}
    metric = _metric(**free, C=np.float32(1e4)).fit(X, Y, checkpoint=path)
    assert metric.components_.shape == (2, 13)
    assert not path.exists()


def test_given_triplets_and_labels_as_text_are_kept_and_compared(path, kill_after, monkeypatch):
    names, triplets = np.array(["a", "b", "c"], dtype=object)[Y], [[0, 1, 60], [60, 61, 150]]
    given = {"triplets": triplets, "triplet_weight": [1, 2]}
    _interrupted(path, kill_after, monkeypatch, X, names, **given)
    with pytest.raises(ValueError, match="triplets differs"):
        _metric().fit(X, names, **given | {"triplet_weight": [2, 1]}, checkpoint=path)
    metric = _metric().fit(X, names, **given, checkpoint=path)
    _assert_same(metric, _metric().fit(X, names, **given))


def test_sparse_samples_have_checkpoints_too(path, kill_after, monkeypatch):
    S = sparse.csr_array(X * (X.mean(axis=0) < X))
    _interrupted(path, kill_after, monkeypatch, S, Y)
    _assert_same(_metric().fit(S, Y, checkpoint=path), _metric().fit(S, Y))


def test_an_update_has_its_own_checkpoint(path, kill_after, monkeypatch):
    A, a = load_iris(return_X_y=True)
    first = FrobMetric().fit(A[::2], a[::2])
    other = FrobMetric(C=1).fit(A[::2], a[::2]).set_params(C=1000)
    kill_after(2)
    with pytest.raises(KilledError):
        first.partial_fit(A[1::2], a[1::2], checkpoint=path)
    monkeypatch.undo()
    with pytest.raises(ValueError, match="the earlier metric differs"):
        other.partial_fit(A[1::2], a[1::2], checkpoint=path)
    first.partial_fit(A[1::2], a[1::2], checkpoint=path)
    expected = FrobMetric().fit(A[::2], a[::2]).partial_fit(A[1::2], a[1::2])
    assert np.array_equal(first.components_, expected.components_)
    assert not path.exists()


def test_a_first_update_passes_its_checkpoint_on(path):
    metric = FrobMetric().partial_fit(X, Y, checkpoint=path)
    assert np.array_equal(metric.components_, FrobMetric().fit(X, Y).components_)
    assert not path.exists()


def test_a_stage_keeps_the_order_of_its_factor_in_memory(rng):
    triplets = GivenTriplets(np.array([[0, 1, 2]]), np.ones(1))
    for order in "CF":
        L = np.array(rng.standard_normal((4, 3)), order=order)
        stage = from_arrays(to_arrays(Progress(1, False, triplets, Factored(L))))
        assert np.isfortran(stage.point.L) == np.isfortran(L)
        assert np.array_equal(stage.point.L, L)
        assert stage.run.u is None


SCRIPT = """
import sys
import numpy as np
from sklearn.datasets import load_digits
from frobmetric import FrobMetric, FrobMetricCV

X, y = load_digits(return_X_y=True)
metric = FrobMetric(C=1e4, tol=1e-4)
metric.fit(X[:600], y[:600], checkpoint=sys.argv[1], checkpoint_seconds=0.05)
np.savez(sys.argv[2], primal=metric.certificate_.primal, gap=metric.certificate_.relative_gap)
"""


@pytest.mark.slow
def test_a_killed_process_goes_on(path, tmp_path, rng):
    """Kill real processes as soon as they have written a state, then let one finish."""
    answer, states = tmp_path / "answer.npz", []
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(path), str(answer)])
        known = path.read_bytes() if path.exists() else b""
        while process.poll() is None and (not path.exists() or path.read_bytes() == known):
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.2))
        process.kill()
        process.wait()
        if not path.exists():
            break
        states.append(_stage(path))
    subprocess.run([sys.executable, "-c", SCRIPT, str(path), str(answer)], check=True)
    assert states
    assert not path.exists()
    found, (digits, labels) = np.load(answer), load_digits(return_X_y=True)
    whole = FrobMetric(C=1e4, tol=1e-4).fit(digits[:600], labels[:600])
    assert found["gap"] <= 1e-4
    assert float(found["primal"]) == pytest.approx(whole.certificate_.primal, rel=1e-4)
    assert os.listdir(tmp_path) == ["answer.npz"]


@pytest.mark.parametrize(
    "options", [pytest.param({}, marks=pytest.mark.slow), {"Cs": [100.0], "units": "deviation"}]
)
def test_a_fit_after_a_choice_goes_on(path, kill_after, options):
    metric = FrobMetricCV(keep_dual=True, **options)
    expected = metric.fit(X, Y)
    dual, components = expected.dual_coef_, expected.components_
    kill_after(2)
    with pytest.raises(KilledError):
        FrobMetricCV(keep_dual=True, **options).fit(X, Y, checkpoint=path, checkpoint_seconds=0)
    assert path.exists()
    kill_after(0)
    resumed = FrobMetricCV(keep_dual=True, **options).fit(X, Y, checkpoint=path)
    assert resumed.best_params_ == expected.best_params_
    assert np.array_equal(resumed.components_, components)
    assert np.array_equal(resumed.dual_coef_, dual)
    assert not path.exists()


def test_the_file_of_another_choice_is_refused(path, kill_after):
    kill_after(1)
    with pytest.raises(KilledError):
        FrobMetricCV(Cs=[100.0]).fit(X, Y, checkpoint=path)
    kill_after(0)
    with pytest.raises(ValueError, match=r"belongs to another fit: C was 100\.0 and is 10\.0"):
        FrobMetricCV(Cs=[10.0]).fit(X, Y, checkpoint=path)


def test_a_choice_that_learns_nothing_takes_a_checkpoint(path):
    rng = np.random.default_rng(0)
    noise, labels = rng.normal(size=(60, 3)), np.arange(60) % 2
    with pytest.warns(UserWarning, match="Euclid on .* is kept"):
        FrobMetricCV().fit(noise, labels, checkpoint=path, checkpoint_seconds=0)
    assert not path.exists()
