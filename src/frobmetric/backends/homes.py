"""Homes of the tasks of a fit on a Dask cluster: they stay with their data, and move together."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from distributed import SchedulerPlugin

#: Beginning of the keys of our tasks.
PREFIX = "frobmetric-"
#: Seconds for which the tasks of a lost worker wait for a new one, before a living one takes them.
PATIENCE = 5.0
#: Seconds between two looks at the tasks that wait.
PAUSE = 0.25


class Homes(SchedulerPlugin):
    """Gives the tasks of a lost worker a new home, all the same one.

    Our tasks may only run on the worker that has their data: if they might run elsewhere too, idle
    workers would steal them, and get all the shards of the other one along with the task. Dask lets
    such tasks wait for ever if that worker is lost, and also those that might run elsewhere if all
    workers were lost at that moment, as those are that read the data.
    """

    name = "frobmetric-homes"
    idempotent = True

    def __init__(self) -> None:
        self._moved: dict[str, str] = {}
        self._lost: dict[str, float] = {}
        self._spare: list[str] = []
        self._waiting: set[Any] = set()

    async def start(self, scheduler: Any) -> None:
        """Remember the scheduler."""
        self._scheduler = scheduler

    def add_worker(self, scheduler: Any, worker: str) -> None:
        """Keep a new worker for the tasks of one that is lost."""
        self._spare.append(worker)

    def transition(self, key: Any, start: str, finish: str, *args: Any, **more: Any) -> None:
        """Find a home, soon, for a task that cannot run where it may."""
        if finish == "no-worker" and (
            _is_ours(key) or self._scheduler.tasks[key].loose_restrictions
        ):
            if not self._waiting:
                asyncio.get_running_loop().call_soon(self._place)
            self._waiting.add(key)

    def _place(self) -> None:
        placed = {}
        for key in list(self._waiting):
            task = self._scheduler.tasks.get(key)
            if task is None or task.state != "no-worker" or not task.worker_restrictions:
                self._waiting.discard(key)
            elif task.loose_restrictions:
                if self._scheduler.workers:
                    placed[key] = "processing"
            elif home := self._home(next(iter(task.worker_restrictions))):
                task.worker_restrictions = {home}
                placed[key] = "processing"
        self._waiting -= placed.keys()
        self._scheduler.transitions(placed, stimulus_id=f"{self.name}-{time.time()}")
        if self._waiting:
            asyncio.get_running_loop().call_later(PAUSE, self._place)

    def _home(self, home: str) -> str | None:
        """Return the living worker that takes the tasks of a home; None if they have to wait."""
        while home in self._moved:
            home = self._moved[home]
        workers = self._scheduler.workers
        if home in workers:
            return home
        lost = self._lost.setdefault(home, time.monotonic())
        self._spare = [each for each in self._spare if each in workers]
        if self._spare:
            self._moved[home] = self._spare.pop(0)
        elif workers and time.monotonic() > lost + PATIENCE:
            taken = list(self._moved.values())
            self._moved[home] = min(workers, key=lambda each: (taken.count(each), each))
        return self._moved.get(home)


def _is_ours(key: Any) -> bool:
    return str(key).startswith(PREFIX)
