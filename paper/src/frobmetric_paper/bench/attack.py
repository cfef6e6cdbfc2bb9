"""Attacks on the library, and how often it answered them as it should."""

import os
from functools import partial

from ..attack import find_attacks
from . import Benchmark

#: Variable of the environment with the seed; another seed tries other things.
SEED = "FROBMETRIC_ATTACK_SEED"
#: Variable with the number of tries; without it a run is long, or short with --quick.
COUNT = "FROBMETRIC_ATTACK_COUNT"


def measure(attack, options):
    """Return the findings of an attack as plain data."""
    seed = int(os.environ.get(SEED, "0"))
    count = int(os.environ.get(COUNT, options.choose(attack.long, attack.short)))
    found = attack.run(count, seed)
    return vars(found) | {"n_tries": found.n_tries, "seed": seed}


def page(data):
    """Return the rows of the page: one for each attack, its outcomes, and its defects."""
    rows = [{"attack": name} | part for name, part in data.items()]
    outcomes = [
        {"attack": name, "outcome": outcome, "n": n}
        for name, part in data.items()
        for outcome, n in sorted(part["counts"].items(), key=lambda each: -each[1])
    ]
    defects = [{"attack": name} | each for name, part in data.items() for each in part["defects"]]
    return {"attacks": rows, "outcomes": outcomes, "defects": defects}


BENCHMARKS = [
    Benchmark(
        name="attack",
        parts={name: partial(measure, attack) for name, attack in find_attacks().items()},
        page=page,
    )
]
