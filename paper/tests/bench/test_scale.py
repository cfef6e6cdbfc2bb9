"""The benchmark of scale: calibration, the simulation, and a small run of it."""

from dataclasses import asdict, fields, replace

import numpy as np
import pytest

from frobmetric_paper.bench import cluster_simulation as simulation
from frobmetric_paper.bench import cost_model, cost_rates, find, scale
from frobmetric_paper.bench.cluster_simulation import Disturbances, simulate
from frobmetric_paper.bench.cost_model import Job, Machines, Rates
from frobmetric_paper.harness.benchmark import Options
from frobmetric_paper.harness.page import fill_tables

RATES = replace(Rates(**{field.name: 1e-9 for field in fields(Rates)}), worker=1.0)
JOB = Job(n=1_000_000, D=64, n_shards=32, n_steps=20)
MACHINES = Machines(n_machines=16, n_cores=4, is_cluster=True)
STRAGGLING = Disturbances(spread=0.2, n_slow=1, slowness=2.0)


def seconds_of(disturbances, seed=0):
    return simulate(JOB, MACHINES, RATES, disturbances, seed)[0]


def test_an_undisturbed_fit_takes_what_the_model_says():
    model = cost_model.fit(JOB, MACHINES, RATES).seconds
    assert simulate(JOB, MACHINES, RATES, Disturbances(), 0) == (pytest.approx(model), 0)


def test_simulations_are_repeatable():
    disturbances = replace(STRAGGLING, lifetime=1.0)
    assert seconds_of(disturbances, 3) == seconds_of(disturbances, 3)
    assert seconds_of(disturbances, 3) != seconds_of(disturbances, 4)


def test_disturbances_only_cost_time():
    model = seconds_of(Disturbances())
    slow = seconds_of(Disturbances(n_slow=1, slowness=2.0))
    waiting = sum(phase.waiting for phase in simulation.phases_of(JOB, MACHINES, RATES))
    assert slow == pytest.approx(2 * (model - waiting) + waiting)
    straggling = seconds_of(STRAGGLING)
    assert straggling > model
    for is_replayed in (True, False):
        lost = replace(STRAGGLING, lifetime=1.0, is_replayed=is_replayed)
        seconds, n_lost = simulate(JOB, MACHINES, RATES, lost, 0)
        assert n_lost > 0
        assert seconds > straggling


def test_a_fit_that_loses_machines_all_the_time_does_not_end():
    seconds, n_lost = simulate(JOB, MACHINES, RATES, Disturbances(lifetime=1e-3), 0)
    assert seconds == np.inf
    assert n_lost > simulation.MOST_LOST


def test_a_machine_that_is_lost_later_takes_longer_to_replay():
    replays = simulation.repetitions(JOB, MACHINES, RATES, True)
    resumed = simulation.repetitions(JOB, MACHINES, RATES, False)
    assert (np.diff(replays) > 0).all()
    assert resumed[-1] == resumed[2 + simulation.AGAIN]  # from there on it begins at the file
    assert len(replays) == len(resumed) == JOB.n_steps + 3


def test_factors_have_a_mean_of_one():
    rng = np.random.default_rng(0)
    factors = simulation.machine_factors(2000, 8, Disturbances(spread=0.3), rng)
    assert factors.mean() == pytest.approx(1, abs=0.02)


def test_rates_are_found_again():
    """Times that the model itself predicts give its rates, or others with the same times."""
    points = []
    for n, D, n_shards in scale.SMALL:
        job = Job(n=n, D=D, n_shards=n_shards, rank=D / 2)
        seconds = {}
        for phase, (_, kinds) in cost_rates.SOURCES.items():
            work = cost_rates._work(job, phase, kinds)
            seconds[phase] = 100 * cost_model.seconds_of(work, RATES)
        seconds["eigh"] = 0.0
        inner = seconds["forward"] + seconds["adjoint"] + seconds["exchange"]
        seconds["solve"] = seconds.pop("vectors") + inner
        points.append({"job": asdict(job), "seconds": seconds})
    orders = {
        D: cost_model.seconds_of(cost_model.work_of_eigh(Job(n=1, D=D)), RATES) for D in (8, 64, 99)
    }
    rates, errors = cost_rates.calibrate(points, orders)
    assert max(error for name, error in errors.items() if name != "eigh") < 1e-6
    assert rates.search_product == pytest.approx(1e-7, rel=1e-4)


@pytest.mark.slow
def test_a_small_run_fills_the_page(tmp_path):
    benchmark, options = find("scale"), Options(is_quick=True)
    parts = {"model": scale.measure_model(options)}
    assert {row["home"] for row in parts["model"]["checks"]} == {"memory", "file"}
    assert all(row["fit_ratio"] > 0 for row in parts["model"]["checks"])
    parts["plan"] = simulation.simulate_plan(Rates(**parts["model"]["rates"]), 3)
    text = fill_tables(benchmark.text, benchmark.page(parts))
    assert text.count("| 1,000,000 anchors") + text.count("exact search of 1,000,000") >= 2
    assert "$" not in text
    benchmark.draw(parts, tmp_path / "scale.png")
    assert (tmp_path / "scale.png").stat().st_size > 10_000


def test_phases_are_timed_and_put_back():
    before = [vars(owner)[name] for places in scale.PHASES.values() for owner, name in places]
    X, y = scale.make_classes(300, 16)
    row = scale.time_fit(scale.Pieces(X, 2), y)
    after = [vars(owner)[name] for places in scale.PHASES.values() for owner, name in places]
    assert before == after
    phases = row["seconds"]
    assert phases["search"] + phases["solve"] <= phases["fit"]
    assert 150 <= row["size"]["n_held"] <= 300
