"""One call after another in a process of its own, with limits on its time and its memory."""

from __future__ import annotations

import contextlib
import io
import os
import resource
import signal
import tempfile
import warnings
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from .entry import Entry
from .mutations import Mutation, mutate
from .table import entries
from .verdict import Verdict, judge_answer, judge_error, leaks

#: Seconds of processor time of one call, and bytes beyond what the process has at its start.
SECONDS = 20.0
MEMORY = 3 << 30
#: Probabilities that a call has one, two or three mutated arguments.
HOW_MANY = (0.7, 0.2, 0.1)
#: Share of the mutations of arguments that make the call, against its settings.
DATA_SHARE = 0.6


class OutOfTimeError(BaseException):
    """The call took too long; no handler of the library catches it."""


def serve(pipe: Connection, seed: int, start: int, stop: int, step: int) -> None:
    """Make the calls of a range and send each number before, and its verdict after the call."""
    table = entries()
    _limit_memory()
    signal.signal(signal.SIGPROF, _out_of_time)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        expected: dict[Any, Any] = {}
        for number in range(start, stop, step):
            pipe.send((number, None))
            pipe.send((number, attempt(table, seed, number, expected)))
    pipe.send((None, None))


def attempt(
    table: tuple[Entry, ...], seed: int, number: int, expected: dict[Any, Any]
) -> tuple[str, str, Verdict]:
    """Make one call; return the entry's name, the mutations and the verdict."""
    entry, arguments, mutations = draw(table, seed, number)
    text = ", ".join(f"{name}: {m.name}" for name, m in mutations.items())
    precision, plain = _precision(mutations), None
    if precision is not None:
        key = entry.name, frozenset(arguments)
        if key not in expected:
            expected[key] = _plain(entry, {name: entry.arguments[name] for name in arguments})
        plain = expected[key]
        precision = None if plain is None else precision
    given = arguments | {name: m.value for name, m in mutations.items()}
    return entry.name, text, judge(entry, given, plain, precision)


def draw(
    table: tuple[Entry, ...], seed: int, number: int
) -> tuple[Entry, dict[str, Any], dict[str, Mutation]]:
    """Draw an entry point, the optional arguments that are given, and the mutated ones."""
    rng = np.random.default_rng([seed, number])
    weight = np.array([entry.weight for entry in table])
    entry = table[rng.choice(len(table), p=weight / weight.sum())]
    names = list(entry.arguments)
    share = np.where([name in entry.data for name in names], DATA_SHARE, 1 - DATA_SHARE)
    for is_data in (True, False):
        group = np.array([(name in entry.data) == is_data for name in names], bool)
        share[group] /= max(1, group.sum())
    count = min(len(names), 1 + rng.choice(3, p=HOW_MANY))
    chosen = rng.choice(len(names), count, replace=False, p=share / share.sum()) if names else []
    mutated = {names[k]: mutate(entry.arguments[names[k]], rng) for k in chosen}
    given = {
        name: value
        for name, value in entry.arguments.items()
        if name in mutated or name not in entry.optional or rng.random() < 0.5
    }
    return entry, given, mutated


def judge(
    entry: Entry, given: dict[str, Any], plain: Any = None, precision: float | None = None
) -> Verdict:
    """Make a call within its limits and return the verdict on it."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    caught: list[warnings.WarningMessage] = []
    try:
        answer = _quietly(entry, given, caught)
        signal.setitimer(signal.ITIMER_PROF, 0)
        verdict = judge_answer(answer, plain, precision, may_be_nan=entry.may_be_nan)
    except OutOfTimeError:
        return Verdict("time", f"more than {SECONDS:g} s")
    except Exception as error:
        signal.setitimer(signal.ITIMER_PROF, 0)
        verdict = judge_error(error, entry.takes_path)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    leak = "" if verdict.defect else leaks(caught)
    return Verdict("leaked warning", leak) if leak else verdict


def _quietly(entry: Entry, given: dict[str, Any], caught: list | None = None) -> Any:
    """Return the answer of a call; what it prints is lost, its warnings are collected."""
    with (
        warnings.catch_warnings(record=True) as found,
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("always")
        try:
            return entry.call(**given)
        finally:
            if caught is not None:
                caught.extend(found)


def _plain(entry: Entry, given: dict[str, Any]) -> Any:
    """Return the answer of the call without mutations; None if even that has none."""
    try:
        return _quietly(entry, given)
    except Exception:
        return None


def _precision(mutations: dict[str, Mutation]) -> float | None:
    each = [m.precision for m in mutations.values()]
    return None if None in each else max(each, default=0.0)


def _limit_memory() -> None:
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))


def _out_of_time(signum: int, frame: Any) -> None:
    raise OutOfTimeError
