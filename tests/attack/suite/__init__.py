"""Attacks on the library: hostile calls, problems, files, names and signals, and what they find.

A module of this package is one kind of attack. Its `ATTACKS` lists functions that try something
hostile many times and return their `Findings`: how often which outcome came, and a reproducer of
each defect. The benchmark `attack` of the paper's package runs them (`make attack`, `make
attack-long`) and writes the counts to its page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

#: Defects of one attack that are kept with their reproducers; all of them are counted.
KEPT = 20
#: Functions that hear of the findings after each try.
_listeners: list[Callable[[Findings], None]] = []


@dataclass
class Findings:
    """Outcomes of an attack.

    `counts` has the number of tries by outcome, `kinds` by what was tried. `defects` are those that
    must not happen: each says what was tried, what came out, and how to try it again. `notes` are
    measurements in words.
    """

    counts: Counter = field(default_factory=Counter)
    kinds: Counter = field(default_factory=Counter)
    defects: list[dict] = field(default_factory=list)
    n_defects: int = 0
    notes: str = ""

    def add(self, kind: str, outcome: str) -> None:
        """Count a try that ended as it should."""
        self.counts[outcome] += 1
        self.kinds[kind] += 1
        for hear in _listeners:
            hear(self)

    def add_defect(self, kind: str, outcome: str, reproducer: str) -> None:
        """Count a try that ended as it must not."""
        self.n_defects += 1
        if len(self.defects) < KEPT:
            self.defects.append({"kind": kind, "outcome": outcome, "reproducer": reproducer})
        self.add(kind, outcome)

    @property
    def n_tries(self) -> int:
        return sum(self.counts.values())


@contextmanager
def heard_by(listener: Callable[[Findings], None]) -> Iterator[None]:
    """Let a function hear of the findings after each try of the attacks in this block."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@dataclass(frozen=True)
class Attack:
    """One kind of attack: `run(count, seed)` tries `count` hostile things drawn by the seed."""

    name: str
    run: Callable[[int, int], Findings]
    #: Number of tries of the short run, which takes seconds, and of the long one.
    short: int
    long: int


def choose(rng: Any, values: Sequence) -> Any:
    """Return one of some values of any types, by a generator of random numbers."""
    return values[rng.integers(len(values))]


def find_attacks() -> dict[str, Attack]:
    """Return all attacks by name."""
    return {attack.name: attack for attack in _attacks()}


def _attacks() -> Iterator[Attack]:
    for info in iter_modules(__path__):
        yield from getattr(import_module(f"{__name__}.{info.name}"), "ATTACKS", ())
