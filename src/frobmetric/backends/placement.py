"""Placement of the tasks of a fit on a Dask cluster: on the worker that has their data."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import Any

from distributed import SchedulerPlugin

#: Beginning of the keys of our tasks.
PREFIX = "frobmetric-"
#: Seconds for which the tasks of a lost worker wait for a worker without tasks of ours, before they
#: go to one that has some.
PATIENCE = 5.0
#: Seconds between two looks at tasks that wait.
PAUSE = 0.25


class Placement(SchedulerPlugin):
    """Moves the tasks of a lost worker, all of them to the same other worker.

    Our tasks may only run on the worker that has their data: if they might run elsewhere too, idle
    workers would steal them, and get all the shards of the other one along with the task. Dask lets
    such tasks wait for ever if that worker is lost. It does so too with those that may run
    anywhere, but had rather run on a worker that is lost, if no worker was left at that moment:
    those that read the data for ours.

    Tasks whose worker lives, but takes none at the moment, are left to Dask.
    """

    name = "frobmetric-placement"
    idempotent = True

    def __init__(self) -> None:
        self._successors: dict[str, str] = {}
        self._lost: dict[str, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._is_placing = False

    async def start(self, scheduler: Any) -> None:
        """Remember the scheduler."""
        self._scheduler = scheduler

    def add_worker(self, scheduler: Any, worker: str) -> None:
        """Forget that an address was lost: a worker has it again."""
        self._successors.pop(worker, None)
        self._lost.pop(worker, None)

    def transition(self, key: Any, start: str, finish: str, *args: Any, **more: Any) -> None:
        """Look soon at a task that cannot run where it may."""
        if finish == "no-worker":
            task = self._scheduler.tasks[key]
            if _is_ours(task) or task.loose_restrictions:
                self._look(PAUSE if self._is_placing else 0.0)

    def _look(self, delay: float) -> None:
        """Look after some seconds, in place of a look that is due later."""
        loop = asyncio.get_running_loop()
        if self._timer is None or self._timer.when() > loop.time() + delay:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = loop.call_later(delay, self._place)

    def _place(self) -> None:
        """Move the tasks of lost workers, or look again later."""
        self._timer = None
        tasks, workers = list(self._scheduler.unrunnable), self._scheduler.workers
        ours = [task for task in tasks if _is_ours(task) and _worker(task) not in workers]
        reading = [task for task in tasks if task.loose_restrictions and _is_for_ours(task)]
        if not ours and not reading:
            return
        self._find_successors(sorted(set(map(_worker, ours))))
        finish = {task.key: "processing" for task in reading if self._scheduler.running}
        for task in ours:
            if (worker := self._last(_worker(task))) in workers:
                task.worker_restrictions = {worker}
                finish[task.key] = "processing"
        self._is_placing = True
        try:
            self._scheduler.transitions(finish, stimulus_id=f"{self.name}-{time.time()}")
        finally:
            self._is_placing = False
        if len(finish) < len(ours) + len(reading):
            self._look(PAUSE)

    def _last(self, worker: str) -> str:
        """Return the last successor of a lost worker, which may be lost, too."""
        while worker not in self._scheduler.workers and worker in self._successors:
            worker = self._successors[worker]
        return worker

    def _find_successors(self, lost: list[str]) -> None:
        """Find a worker for the tasks of each lost one, unless a new one may still come."""
        n_tasks = Counter(_worker(t) for t in self._scheduler.tasks.values() if _is_ours(t))
        for last in dict.fromkeys(map(self._last, lost)):
            if last in self._scheduler.workers:
                continue
            since = self._lost.setdefault(last, time.monotonic())
            running = [each.address for each in self._scheduler.running]
            best = min(running, key=lambda each: (n_tasks[each], each), default=None)
            if best and (n_tasks[best] == 0 or time.monotonic() > since + PATIENCE):
                self._successors[last] = best
                n_tasks[best] += n_tasks[last] + 1


def _is_ours(task: Any) -> bool:
    return str(task.key).startswith(PREFIX) and bool(task.worker_restrictions)


def _worker(task: Any) -> str:
    """Return the worker that has the data of a task of ours."""
    return next(iter(task.worker_restrictions))


def _is_for_ours(task: Any) -> bool:
    """Return whether a task of ours needs the result of this one, directly or through others."""
    seen, stack = set(), [task]
    while stack:
        for each in stack.pop().dependents:
            if _is_ours(each):
                return True
            if each.key not in seen:
                seen.add(each.key)
                stack.append(each)
    return False
