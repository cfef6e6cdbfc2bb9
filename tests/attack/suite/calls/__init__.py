"""Malformed calls: every public function with arguments of every kind, in processes of their own.

A call is valid but for one to three arguments. These hold the same data in another form (the answer
must then be the same), or something hostile (the answer must then be finite, or the error clear).
`PYTHONPATH=tests python -m attack.suite.calls SEED NUMBER` makes one call again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from multiprocessing import get_context
from multiprocessing.connection import wait

from .. import Attack, Findings
from .verdict import Verdict
from .worker import serve

__all__ = ["ATTACKS", "run", "verdicts"]

#: Seconds without a word after which a process is taken for hung.
PATIENCE = 180.0


def run(count: int, seed: int) -> Findings:
    """Make so many calls, drawn by the seed."""
    findings = Findings()
    for number, name, mutations, verdict in verdicts(count, seed):
        if verdict.defect:
            again = f"{mutations}; {verdict.defect} (calls {seed} {number})"
            findings.add_defect(name, verdict.outcome, again)
        else:
            findings.add(name, verdict.outcome)
    return findings


def verdicts(count: int, seed: int) -> Iterator[tuple[int, str, str, Verdict]]:
    """Yield the number of each call, its entry point, its mutations and the verdict."""
    n_workers = min(len(os.sched_getaffinity(0)), -(-count // 100))
    workers = [_Worker(seed, k, count, n_workers) for k in range(n_workers)]
    try:
        while any(not worker.is_done for worker in workers):
            busy = {worker.pipe: worker for worker in workers if not worker.is_done}
            for pipe in wait(list(busy), timeout=1.0):
                yield from busy.pop(pipe).receive()
            for worker in busy.values():
                yield from worker.check()
    finally:
        for worker in workers:
            worker.end()


class _Worker:
    """Process that makes every `step`-th call, and is started again behind a call that ends it."""

    def __init__(self, seed: int, start: int, stop: int, step: int) -> None:
        self.seed, self.stop, self.step = seed, stop, step
        self.is_done = False
        self._begin(start)

    def _begin(self, start: int) -> None:
        self.current, self.is_done = start, start >= self.stop
        if self.is_done:
            return
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        arguments = (theirs, self.seed, start, self.stop, self.step)
        self.process = context.Process(target=serve, args=arguments)
        self.process.start()
        theirs.close()
        self.heard = time.monotonic()

    def receive(self) -> Iterator[tuple[int, str, str, Verdict]]:
        """Yield what the process has found since the last time."""
        self.heard = time.monotonic()
        try:
            while self.pipe.poll():
                number, result = self.pipe.recv()
                self.is_done = number is None
                if result is not None:
                    yield number, *result
                elif not self.is_done:
                    self.current = number
        except EOFError:
            self.process.join()
            yield from self._lost(f"the process ended with exit code {self.process.exitcode}")

    def check(self) -> Iterator[tuple[int, str, str, Verdict]]:
        """End a process that has been silent for too long."""
        if time.monotonic() - self.heard > PATIENCE:
            yield from self._lost(f"no answer for {PATIENCE:g} s")

    def _lost(self, reason: str) -> Iterator[tuple[int, str, str, Verdict]]:
        self.end()
        yield self.current, "process", "", Verdict("process lost", reason)
        self._begin(self.current + self.step)

    def end(self) -> None:
        """End the process, if it runs."""
        if hasattr(self, "process"):
            self.process.kill()
            self.process.join()


ATTACKS = [Attack("calls", run, short=1000, long=50_000)]
