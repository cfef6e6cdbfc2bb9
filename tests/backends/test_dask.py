"""Fits on a real cluster of worker processes: the same answer, also if workers are killed."""

import os
import pickle
import signal
import subprocess
import sys
import warnings
from importlib import import_module

import numpy as np
import pytest
from sklearn.datasets import load_digits

from frobmetric import FrobMetric, FrobMetricCV

distributed = pytest.importorskip("distributed", reason="needs the extra dask")
import dask.array  # noqa: E402
import dask.dataframe  # noqa: E402

from frobmetric.backends import constraints as sharded_constraints  # noqa: E402
from frobmetric.backends import dask as dask_engine  # noqa: E402
from frobmetric.backends import placement  # noqa: E402
from frobmetric.backends.dask import ClusterLostError, DaskEngine, Outcome, Parcel  # noqa: E402
from frobmetric.backends.engine import Program, Value  # noqa: E402
from frobmetric.backends.spool import Spools, Stored  # noqa: E402
from frobmetric.backends.vectors import Sharded  # noqa: E402
from frobmetric.learning import learn as learning  # noqa: E402
from frobmetric.learning.sharded import search  # noqa: E402

active_set = import_module("frobmetric.solvers.active_set")  # the name is the function

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def start_cluster(processes):
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(processes=processes, silence_logs=50, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def cluster():
    yield from start_cluster(processes=True)


@pytest.fixture
def threads():
    """Client of a cluster whose workers are threads, which start at once."""
    yield from start_cluster(processes=False)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600]


def as_collections(X, y, n_rows=250):
    return dask.array.from_array(X, chunks=(n_rows, 20)), dask.array.from_array(y, chunks=n_rows)


def assert_same(found, expected, tolerance=1e-9):
    M = expected.get_mahalanobis_matrix()
    error = np.abs(found.get_mahalanobis_matrix() - M).max() / np.abs(M).max()
    assert error <= tolerance
    assert found.certificate_.relative_gap <= found.tol
    assert found.certificate_.primal == pytest.approx(expected.certificate_.primal, rel=1e-9)


@pytest.mark.slow
def test_a_fit_on_a_cluster_is_that_in_memory(cluster, digits):
    found = FrobMetric().fit(*as_collections(*digits))
    assert_same(found, FrobMetric().fit(*digits))
    assert np.array_equal(found.components_, FrobMetric().fit(*as_collections(*digits)).components_)


def test_rows_near_a_plane_are_searched_by_sketches(threads, monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(240) % 3
    X = (rng.normal(size=(240, 3)) + y[:, None]) @ rng.normal(size=(3, 20))
    X += 0.01 * rng.normal(size=X.shape)

    def refuse(*_):
        raise AssertionError("all rows met those of all shards")

    monkeypatch.setattr(search._Search, "_in_full", refuse)
    options = {"n_passes": 1, "units": "raw"}
    found = FrobMetric(**options).fit(*as_collections(X, y, 50))
    expected = FrobMetric(**options).fit(X, y)
    assert found.n_triplets_ == expected.n_triplets_
    assert_same(found, expected)


def watch_stored(monkeypatch):
    """Return a list to which the number of shards and of the spooled pieces of runs are added."""
    seen, start = [], DaskEngine.start

    def watched(engine, program, inputs, combines):
        bundles, parts = start(engine, program, inputs, combines)
        if program.kept:
            group = bundles[0].result()
            kept = [piece for bundle in group.bundles for piece in bundle.kept]
            seen.append((engine.n_shards, sum(isinstance(piece, Stored) for piece in kept)))
        return bundles, parts

    monkeypatch.setattr(DaskEngine, "start", watched)
    return seen


@pytest.mark.parametrize("is_short", [False, True])
def test_pieces_are_in_files_where_memory_is_short(threads, digits, monkeypatch, is_short):
    X, y = digits[0][:300], digits[1][:300]
    free = 60 * 8 * 64 / dask_engine.SHARE if is_short else np.inf
    monkeypatch.setattr(dask_engine, "_free_memory", lambda worker: free)
    seen = watch_stored(monkeypatch)
    options = {"n_passes": 1, "units": "raw"}
    found = FrobMetric(**options).fit(*as_collections(X, y, 100))
    assert_same(found, FrobMetric(**options).fit(X, y))
    assert {n_shards for n_shards, _ in seen} == {5 if is_short else 2}
    assert any(n_stored for _, n_stored in seen) == is_short


@pytest.mark.slow
def test_workers_with_short_memory_exchange_what_is_in_files(cluster, digits, monkeypatch):
    free = 50 * 8 * 64 / dask_engine.SHARE
    monkeypatch.setattr(dask_engine, "_free_memory", lambda worker: free)
    seen = watch_stored(monkeypatch)
    assert_same(FrobMetric().fit(*as_collections(*digits)), FrobMetric().fit(*digits))
    assert max(n_stored for _, n_stored in seen) > 10


def test_a_task_that_is_elsewhere_is_executed_again():
    program = Program((), ((np.ones, (3,)), (np.sum, (Value(0),))), (0,), (1,))
    work = program, (max,), 2, False
    outcome = dask_engine._run_group(*work)
    assert outcome.reduced == (3.0,)
    sent = pickle.loads(pickle.dumps(outcome))
    assert isinstance(sent, Outcome)
    assert (sent.group, sent.reduced) == (None, (3.0,))
    for each in (outcome, sent):
        bundles = dask_engine._kept(each, *work).bundles
        assert [bundle.kept[0].tolist() for bundle in bundles] == [[1.0] * 3] * 2


@pytest.mark.slow
def test_labels_may_be_in_memory_and_samples_in_a_frame(cluster, digits):
    pandas = pytest.importorskip("pandas")
    X, y = digits
    frame = pandas.DataFrame(X).add_prefix("pixel ")
    frame["digit"] = y
    frame = dask.dataframe.from_pandas(frame, npartitions=3)
    expected = FrobMetric(n_passes=1).fit(*digits)
    found = FrobMetric(n_passes=1).fit(frame.drop(columns="digit"), frame["digit"])
    assert_same(found, expected)
    assert list(found.feature_names_in_[:2]) == ["pixel 0", "pixel 1"]
    found = FrobMetric(n_passes=1).fit(as_collections(*digits)[0], y)
    assert_same(found, expected)


def test_samples_are_mapped_lazily(threads, digits):
    metric = FrobMetric(n_components=3).fit(*digits)
    X, _ = as_collections(*digits)
    mapped = metric.transform(X)
    assert isinstance(mapped, dask.array.Array)
    np.testing.assert_allclose(mapped.compute(), metric.transform(digits[0]), rtol=1e-12)
    with pytest.raises(ValueError, match="expected 64 features"):
        metric.transform(X[:, :5])


@pytest.mark.slow
def test_options_are_chosen_on_a_cluster(cluster, digits):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = FrobMetricCV().fit(*as_collections(*digits))
    assert found.certificate_.relative_gap <= found.tol
    assert found.report_.errors.n_units == 600


def test_errors_of_the_samples_reach_the_caller(threads, digits):
    X, y = digits
    X = X.copy()
    X[300, 7] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        FrobMetric().fit(*as_collections(X, y))
    with pytest.raises(ValueError, match="one label for each"):
        FrobMetric().fit(as_collections(*digits)[0], y[:-1])


@pytest.mark.slow
def flat(value):
    """Return what is in nested lists and tuples."""
    if not isinstance(value, list | tuple):
        return [value]
    return [each for part in value for each in flat(part)]


@pytest.mark.parametrize("most", [0, 1000])
def test_only_vectors_of_few_rows_leave_the_workers(cluster, digits, monkeypatch, most):
    monkeypatch.setattr(sharded_constraints, "MOST_ROWS", most)
    for name, value in {"FEW_ROWS": 1000, "SAMPLE": 500}.items():
        monkeypatch.setattr(active_set, name, value)
    monkeypatch.setattr(learning, "MOST_SAMPLES", 0)  # doubts are about some of the samples
    monkeypatch.setattr(learning, "warn_of_doubts", lambda *found: None)
    vectors, matrices, gather = [0], [0], DaskEngine._gather

    def watched(engine, futures):
        found = gather(engine, futures)
        parts = (part.reduced if isinstance(part, Outcome) else part for part in found)
        values = [value for part in parts if part is not None for value in part]
        # lists are joined: those of all parts are one vector
        vectors.extend(
            sum(np.size(each) for each in flat(value) if np.ndim(each) == 1)
            for value in values
            if isinstance(value, list)
        )
        matrices.extend(np.size(value) for value in values if not isinstance(value, list))
        return found

    monkeypatch.setattr(DaskEngine, "_gather", watched)
    metric = FrobMetric(n_passes=1, units="raw").fit(*as_collections(*digits))
    assert metric.n_triplets_ == 5400
    assert max(matrices) <= 65**2
    assert max(vectors) <= max(most, 10)  # as there are classes
    assert (max(vectors) > 10) == (most > 0)


def test_what_is_sent_to_other_shards_is_sent_alone(threads):
    engine = DaskEngine(threads, 2)
    v = Sharded.put(engine, [np.arange(3.0), np.arange(2.0)])
    rows = v.map(np.square)
    short = rows.map(np.sum)
    joined = short.joined(np.array, [range(2)])
    assert joined.node.bundles[0].result().kept[0].tolist() == [5.0, 1.0]
    groups = [group.result() for group in short.node.bundles]
    assert [len(bundle.kept) for group in groups for bundle in group.bundles] == [1, 1]
    assert rows.node.is_computed


def test_large_constants_are_sent_once(threads):
    engine = DaskEngine(threads, 2)
    matrix = np.ones((800, 800))
    v = Sharded.put(engine, [np.arange(3.0), np.arange(2.0)])
    shared = v.share(matrix)
    assert shared.node.is_computed
    total = v.map(lambda piece, M: piece.sum() + M.sum(), shared)
    assert float(total.reduce(lambda a, b: a + b, float)) == 4 + 2 * matrix.size


@pytest.mark.slow
def test_a_killed_worker_is_survived(digits):
    expected = FrobMetric().fit(*digits)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(processes=True, silence_logs=50, **options) as cluster,
        distributed.Client(cluster),
    ):
        killed, steps = [], []

        def kill_one(step):
            steps.append(step)
            if len(steps) in (3, 12):
                worker = list(cluster.workers.values())[len(killed)]
                os.kill(worker.pid, signal.SIGKILL)
                killed.append(worker.pid)

        found = FrobMetric(callback=kill_one).fit(*as_collections(*digits))
    assert len(killed) == 2
    assert_same(found, expected, 1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("is_short", [False, True])
def test_the_loss_of_all_workers_at_once_is_survived(digits, monkeypatch, is_short):
    if is_short:
        free = 150 * 8 * 64 / dask_engine.SHARE
        monkeypatch.setattr(dask_engine, "_free_memory", lambda worker: free)
    expected = FrobMetric().fit(*digits)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(processes=True, silence_logs=50, **options) as cluster,
        distributed.Client(cluster),
    ):
        killed = []

        def kill_all(step):
            if not killed:
                killed.extend(worker.pid for worker in cluster.workers.values())
                for pid in killed:
                    os.kill(pid, signal.SIGKILL)

        found = FrobMetric(callback=kill_all).fit(*as_collections(*digits))
        assert not set(killed) & {worker.pid for worker in cluster.workers.values()}
    assert len(killed) == 2
    assert_same(found, expected, 1e-10)


def test_a_living_worker_takes_the_tasks_of_one_that_does_not_come_back(
    threads, digits, monkeypatch
):
    monkeypatch.setattr(placement, "PATIENCE", 0.1)
    X, y = digits[0][:300], digits[1][:300]
    retired = []

    def retire(step):
        if not retired:
            retired.extend(list(threads.scheduler_info()["workers"])[:1])
            threads.retire_workers(retired)

    found = FrobMetric(n_passes=1, callback=retire).fit(*as_collections(X, y, 100))
    assert len(threads.scheduler_info()["workers"]) == 1
    assert_same(found, FrobMetric(n_passes=1).fit(X, y))


def test_what_is_sent_has_the_size_of_its_files(tmp_path):
    rows = Spools(tmp_path).store(np.ones((100, 50)))
    assert 40_000 <= sys.getsizeof(Parcel([rows, 1.0])) < 41_000
    assert sys.getsizeof(rows) < 1000


@pytest.mark.slow
def test_a_lost_scheduler_is_a_clear_error(digits):
    code = (
        "import time, distributed\n"
        "if __name__ == '__main__':\n"
        "    c = distributed.LocalCluster(n_workers=1, threads_per_worker=1, silence_logs=50,\n"
        "                                 dashboard_address=':0')\n"
        "    print(c.scheduler_address, flush=True)\n"
        "    time.sleep(600)\n"
    )
    start = [sys.executable, "-c", code]
    process = subprocess.Popen(start, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        address = process.stdout.readline().strip()
        with dask.config.set({"distributed.comm.timeouts.connect": "3s"}):
            client = distributed.Client(address)

            def kill(step):
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()

            with client.as_current(), pytest.raises(ClusterLostError, match="checkpoint"):
                FrobMetric(callback=kill).fit(*as_collections(*digits))
            client.close(timeout=1)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()


@pytest.mark.slow
def test_without_a_cluster_the_error_tells_what_to_do(digits):
    code = (
        "import dask.array, numpy as np\n"
        "from frobmetric import FrobMetric\n"
        "X = dask.array.ones((20, 3), chunks=(10, 3))\n"
        "try:\n"
        "    FrobMetric().fit(X, np.arange(20) % 2)\n"
        "except ValueError as error:\n"
        "    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "create a client first" in run.stdout
