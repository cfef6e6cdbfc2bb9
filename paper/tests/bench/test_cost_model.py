"""The cost model has sane limits."""

from dataclasses import fields, replace

import pytest

from frobmetric_paper.bench import cost_model
from frobmetric_paper.bench.cost_model import Cost, Job, Machines, Rates

RATES = replace(Rates(**{field.name: 1e-9 for field in fields(Rates)}), worker=1.0)
JOB = Job(n=100_000, D=64, n_shards=8)
PHASES = ("reading", "search", "exchange", "step", "solve", "fit")
HOMES = (Machines(), Machines(is_out_of_core=True), Machines(n_machines=4, is_cluster=True))


def cost(phase, job=JOB, machines=HOMES[0], rates=RATES):
    return getattr(cost_model, phase)(job, machines, rates)


@pytest.mark.parametrize("machines", HOMES)
@pytest.mark.parametrize("phase", PHASES)
def test_more_work_takes_more(phase, machines):
    base = cost(phase, machines=machines)
    assert base.seconds > 0
    assert base.memory > 0
    larger = ({"n": 200_000}, {"D": 128})
    for change in larger:
        more = cost(phase, replace(JOB, **change), machines)
        assert more.seconds > base.seconds
        assert more.memory > base.memory
        assert more.bytes >= base.bytes


@pytest.mark.parametrize("change", [{"n_near": 6}, {"n_far": 6}, {"rank": 100.0}])
def test_a_step_grows_with_pairs_and_rank(change):
    assert cost("step", replace(JOB, **change)).seconds > cost("step").seconds


def test_phases_sum_to_the_fit():
    for machines in HOMES:
        names = ("reading", "search", "exchange")
        parts = [cost(name, machines=machines) for name in names]
        parts.append(cost("step", machines=machines).times(JOB.n_steps))
        whole = cost("fit", machines=machines)
        assert whole.seconds == pytest.approx(sum(part.seconds for part in parts))
        assert whole.bytes == pytest.approx(sum(part.bytes for part in parts))
        assert whole.memory == max(part.memory for part in parts)


def test_search_is_quadratic_and_steps_are_linear_in_the_samples():
    double = replace(JOB, n=2 * JOB.n)
    only_products = Rates(search_product=1e-12)
    ratio = cost("search", double, rates=only_products).seconds
    assert ratio == pytest.approx(4 * cost("search", rates=only_products).seconds)
    only_pairs = Rates(adjoint_number=1e-12)
    ratio = cost("step", double, rates=only_pairs).seconds
    assert ratio == pytest.approx(2 * cost("step", rates=only_pairs).seconds)


def test_machines_and_cores_share_the_work_but_not_the_decomposition():
    one = cost("step", machines=Machines())
    many = cost("step", machines=Machines(n_machines=8, n_cores=4))
    assert many.work < one.work / 8
    assert many.waiting == one.waiting
    assert cost("search", machines=Machines(n_machines=8)).work == pytest.approx(
        cost("search").work / 8
    )


def test_bytes_of_a_step_do_not_depend_on_the_samples():
    machines = HOMES[2]
    few, many = (cost("step", replace(JOB, n=n), machines) for n in (10**4, 10**7))
    assert few.bytes == many.bytes > 0
    assert cost("step").bytes == 0  # one machine


def test_tasks_cost_more_than_they_gain_at_last():
    machines = Machines(n_machines=4, n_cores=64, is_cluster=True)
    busy = cost_model.best_shards(JOB, machines, replace(RATES, task=1.0))
    free = cost_model.best_shards(JOB, machines, replace(RATES, task=0.0, vector=1e-6))
    assert busy.n_shards == 4
    assert free.n_shards > 4


@pytest.mark.parametrize("n_shards", [1, 2, 50, 10_000])
def test_rows_held_are_between_the_own_and_all_that_are_needed(n_shards):
    job = replace(JOB, n_shards=n_shards)
    assert job.anchors <= job.held <= min(job.n, job.anchors + job.pairs) + 1e-6
    assert 0 <= job.halo <= job.held - job.anchors + 1e-6
    assert (job.halo == 0) == (n_shards == 1)
    assert replace(job, n_held=17.0).held == 17


def test_fewer_anchors_and_an_approximate_search_are_cheaper():
    whole = cost("search")
    assert cost("search", replace(JOB, n_anchors=1000)).work < whole.work / 50
    assert cost("search", replace(JOB, searched=1 / 8)).work < whole.work / 4
    assert cost("step", replace(JOB, n_anchors=1000)).work < cost("step").work / 10


def test_the_memory_of_the_solver_fills_up():
    vectors = [replace(JOB, n_steps=n).vectors for n in (1, 2, 10, 11, 10_000)]
    assert vectors[:2] == [1.0, 2.0]
    assert vectors == sorted(vectors)
    assert vectors[-1] == pytest.approx(21, abs=0.02)


def test_costs_add_up():
    first, second = Cost(1.0, 2.0, 3.0, 4.0), Cost(10.0, 20.0, 30.0, 1.0)
    assert first.then(second) == Cost(11.0, 22.0, 33.0, 4.0)
    assert first.times(3) == Cost(3.0, 6.0, 9.0, 4.0)
    assert second.seconds == 30
