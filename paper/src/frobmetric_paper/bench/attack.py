"""Attacks on the library, and how often it answered them as it should.

The attacks are a tool of the library's tests, `tests/attack/suite` of the checkout.
"""

import os
import sys
import time
from functools import partial
from importlib import import_module

from ..harness.benchmark import Benchmark
from . import RESULTS

#: Folder of the library's tests.
TESTS = RESULTS.parents[1] / "tests"

#: Variable of the environment with the seed; another seed tries other things.
SEED = "FROBMETRIC_ATTACK_SEED"
#: Variable with the number of tries; without it a run is long, or short with --quick.
COUNT = "FROBMETRIC_ATTACK_COUNT"
#: Seconds after which the findings of a run that goes on are stored.
PAUSE = 20.0


def suite():
    """Return the package of the attacks."""
    if str(TESTS) not in sys.path:
        sys.path.append(str(TESTS))
    return import_module("attack.suite")


def measure(attack, options):
    """Return the findings of an attack as plain data; what is found meanwhile is stored too."""
    seed = int(os.environ.get(SEED, "0"))
    count = int(os.environ.get(COUNT, options.choose(attack.long, attack.short)))
    stored = time.monotonic()

    def as_data(found):
        return vars(found) | {"n_tries": found.n_tries, "n_planned": count, "seed": seed}

    def store(found):
        nonlocal stored
        if time.monotonic() > stored + PAUSE:
            options.store(as_data(found))
            stored = time.monotonic()

    with suite().heard_by(store):
        return as_data(attack.run(count, seed)) | {"n_planned": None}


def page(data):
    """Return the rows of the page: one for each attack, its outcomes, and its defects."""
    rows = [{"attack": name, "tries": _tries(part)} | part for name, part in data.items()]
    outcomes = [
        {"attack": name, "outcome": outcome, "n": n}
        for name, part in data.items()
        for outcome, n in sorted(part["counts"].items(), key=lambda each: -each[1])
    ]
    defects = [{"attack": name} | each for name, part in data.items() for each in part["defects"]]
    return {"attacks": rows, "outcomes": outcomes, "defects": defects}


def _tries(part):
    """Return the number of tries, and of how many a run was that did not come to its end."""
    planned = part.get("n_planned")
    return f"{part['n_tries']:,}" + (f" of {planned:,}, stopped" if planned else "")


BENCHMARK = Benchmark(
    parts={name: partial(measure, attack) for name, attack in suite().find_attacks().items()},
    page=page,
)
