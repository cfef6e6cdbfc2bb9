"""Tasks of lost workers get another one, all the same; those of living workers are left to Dask."""

import asyncio
from types import SimpleNamespace

import pytest

pytest.importorskip("distributed")

from frobmetric.backends import placement
from frobmetric.backends.placement import PATIENCE, Placement


class Scheduler:
    """What the plugin uses of a scheduler; tasks run as soon as their worker does."""

    def __init__(self, *workers):
        self.workers, self.tasks, self.unrunnable = dict.fromkeys(workers), {}, {}
        self.paused, self.n_transitions = set(), 0
        self.plugin = Placement()
        asyncio.run(self.plugin.start(self))

    @property
    def running(self):
        return [SimpleNamespace(address=w) for w in self.workers if w not in self.paused]

    def transitions(self, finish, stimulus_id):
        self.n_transitions += len(finish)
        for key in finish:
            task = self.tasks[key]
            running = {each.address for each in self.running}
            if running & task.worker_restrictions or (running and task.loose_restrictions):
                del self.unrunnable[task]
            else:
                self.plugin.transition(key, "no-worker", "no-worker")

    def submit(self, key, worker, is_loose=False, dependents=()):
        task = Task(key, {worker}, is_loose, list(dependents))
        self.tasks[key] = task
        if worker not in self.workers:
            self.unrunnable[task] = 0.0
        return task

    def lose(self, worker):
        del self.workers[worker]
        lost = [t for t in self.tasks.values() if worker in t.worker_restrictions]
        self.unrunnable |= dict.fromkeys(lost, 0.0)

    def add(self, worker):
        self.workers[worker] = None
        self.plugin.add_worker(self, worker)

    def places(self):
        return {key: next(iter(task.worker_restrictions)) for key, task in self.tasks.items()}


class Task(SimpleNamespace):
    __hash__ = object.__hash__

    def __init__(self, key, worker_restrictions, loose_restrictions, dependents):
        names = ("key", "worker_restrictions", "loose_restrictions", "dependents")
        values = (key, worker_restrictions, loose_restrictions, dependents)
        super().__init__(**dict(zip(names, values, strict=True)))


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that stands still, and let looks be those of the tests."""
    now = SimpleNamespace(time=1000.0, delays=[])
    monkeypatch.setattr(placement.time, "monotonic", lambda: now.time)
    monkeypatch.setattr(Placement, "_look", lambda plugin, delay: now.delays.append(delay))
    return now


def place(scheduler, worker, n_tasks):
    return [scheduler.submit(f"frobmetric-{worker}-{i}", worker) for i in range(n_tasks)]


def test_a_free_worker_takes_all_tasks_at_once(clock):
    scheduler = Scheduler("a", "b", "c")
    place(scheduler, "a", 3), place(scheduler, "b", 2)
    scheduler.lose("b")
    scheduler.plugin._place()
    assert set(scheduler.places().values()) == {"a", "c"}
    assert not scheduler.unrunnable
    late = scheduler.submit("frobmetric-late", "b")
    scheduler.plugin._place()
    assert late.worker_restrictions == {"c"}


def test_a_worker_with_tasks_takes_them_after_some_seconds(clock):
    scheduler = Scheduler("a", "b", "c")
    place(scheduler, "a", 3), place(scheduler, "b", 2), place(scheduler, "c", 1)
    scheduler.lose("b")
    scheduler.plugin._place()
    assert len(scheduler.unrunnable) == 2
    assert clock.delays == [placement.PAUSE]
    clock.time += PATIENCE + 1
    scheduler.plugin._place()
    assert [*scheduler.places().values()] == ["a"] * 3 + ["c"] * 3


def test_a_new_worker_replaces_a_lost_one(clock):
    scheduler = Scheduler("a", "b")
    place(scheduler, "a", 2), place(scheduler, "b", 2)
    scheduler.lose("a"), scheduler.lose("b")
    scheduler.plugin._place()
    assert len(scheduler.unrunnable) == 4
    scheduler.add("c"), scheduler.add("d")
    scheduler.plugin._place()
    assert [*scheduler.places().values()] == ["c", "c", "d", "d"]


def test_a_worker_at_the_address_of_a_lost_one(clock):
    scheduler = Scheduler("a", "b")
    place(scheduler, "a", 1), place(scheduler, "b", 1)
    for lost, other in (("a", "b"), ("b", "a")) * 2:
        scheduler.lose(lost)
        scheduler.plugin._place()
        clock.time += PATIENCE + 1
        scheduler.plugin._place()
        assert set(scheduler.places().values()) == {other}
        scheduler.add(lost)


def test_every_loss_waits_for_a_new_worker(clock):
    scheduler = Scheduler("a", "b")
    place(scheduler, "b", 2)
    for _ in range(2):
        place(scheduler, "a", 1)
        scheduler.lose("a")
        scheduler.plugin._place()
        assert scheduler.unrunnable
        clock.time += PATIENCE + 1
        scheduler.plugin._place()
        assert not scheduler.unrunnable
        scheduler.add("a")


def test_a_worker_that_is_paused_keeps_its_tasks(clock):
    scheduler = Scheduler("a", "b")
    task = place(scheduler, "a", 1)[0]
    scheduler.paused.add("a")
    scheduler.unrunnable[task] = 0.0
    clock.time += PATIENCE + 1
    scheduler.plugin.transition(task.key, "waiting", "no-worker")
    assert clock.delays == [0.0]
    scheduler.plugin._place()
    assert clock.delays == [0.0]
    assert scheduler.n_transitions == 0
    assert task.worker_restrictions == {"a"}


def test_tasks_that_read_for_ours_run_anywhere_and_those_of_others_are_left(clock):
    scheduler = Scheduler()
    ours = scheduler.submit("frobmetric-bundle", "a")
    copied = scheduler.submit("rechunk", "a", is_loose=True, dependents=[ours])
    read = scheduler.submit("read", "a", is_loose=True, dependents=[copied, copied])
    other = scheduler.submit("theirs", "a", is_loose=True)
    strict = scheduler.submit("theirs too", "a")
    scheduler.plugin._place()
    assert len(scheduler.unrunnable) == 5
    scheduler.add("b")
    scheduler.plugin._place()
    assert set(scheduler.unrunnable) == {other, strict}
    assert read.worker_restrictions == {"a"}
    assert ours.worker_restrictions == {"b"}


def test_looks_do_not_pile_up(monkeypatch):
    scheduler, looks = Scheduler("a"), []
    monkeypatch.setattr(Placement, "_place", lambda plugin: looks.append(plugin))
    task = place(scheduler, "lost", 1)[0]

    async def transit():
        for _ in range(100):
            scheduler.plugin.transition(task.key, "waiting", "no-worker")
        await asyncio.sleep(0.01)

    asyncio.run(transit())
    assert looks == [scheduler.plugin]


def test_a_look_does_not_wait_for_a_later_one():
    scheduler = Scheduler()
    task = place(scheduler, "lost", 1)[0]

    async def transit():
        scheduler.plugin.transition(task.key, "waiting", "no-worker")
        await asyncio.sleep(0.01)
        assert task in scheduler.unrunnable  # the next look is due in some time
        scheduler.add("new")
        scheduler.plugin.transition(task.key, "waiting", "no-worker")
        await asyncio.sleep(placement.PAUSE / 10)
        assert task not in scheduler.unrunnable

    asyncio.run(transit())
    assert task.worker_restrictions == {"new"}
