"""One method on one run of a data set: the answer as plain data."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from math import inf

from ..harness.record import describe_machine
from ..harness.store import ENDED, CellStore, Settling, ending, task_digest
from .choice import choose
from .measures import JUDGES, MAIN, RULES

#: What of the words of a program is not kept.
UNKEPT = ("stderr",)


@dataclass(frozen=True)
class Task:
    """What is to be computed: two equal ones have the same answer.

    Attributes
    ----------
    column : str
    n : int
        Number of training samples.
    run : int
        From 0.
    method : str
    search : str
        The values that parameters are chosen from, as JSON.
    refits : bool
    threads : int
    data : str
        A checksum.
    rules : str
        The names of `RULES`.
    version : str
        Of frobmetric.
    """

    column: str
    n: int
    run: int
    method: str
    search: str
    refits: bool
    threads: int
    data: str
    rules: str = ", ".join(RULES)
    version: str = field(default_factory=lambda: version("frobmetric"))

    @property
    def file_name(self):
        """Other tasks of the same method have other names: none takes the place of another."""
        return f"{self.column}-{self.run:02}-{self.method}-{task_digest(self, 4)}.json"


@dataclass(frozen=True)
class Cell(Settling):
    """How one method did in one run.

    Attributes
    ----------
    task : Task
    label : str
        The method, for people.
    outcome : {"done", "limit", "missing", "failed", "skipped"}
    limit : float
        Seconds that each fit was given.
    remark : str
        Why there is no answer, or what is to be known of it.
    parameters : dict
        The chosen ones.
    tries : list of dict
        Every `Try` of the search.
    validation_error, test_error : float, optional
        By 3-NN if the answer is a map, else by its own prediction.
    rules : dict
        Of a map: name of a rule -> {"validation", "test"}, its errors.
    best_rule : str
        That with the smallest validation error; empty where there are none.
    measures, before : dict
        Those of `measure_map`, with the map and without.
    seconds : float, optional
        Of the fit whose answer was measured.
    total_seconds : float
        Of all fits, the limit for those that it ended.
    wrong : str
        A digit for each test sample, 1 if it is classified wrongly.
    n_triplets : int, optional
        Of those that learn from triplets.
    detail : dict
        What the method tells of the measured fit; ours its certificate.
    machine : dict
        Where it ran.
    """

    task: Task
    label: str
    outcome: str
    limit: float
    remark: str = ""
    parameters: dict = field(default_factory=dict)
    tries: list = field(default_factory=list)
    validation_error: float | None = None
    test_error: float | None = None
    rules: dict = field(default_factory=dict)
    best_rule: str = ""
    measures: dict = field(default_factory=dict)
    before: dict = field(default_factory=dict)
    seconds: float | None = None
    total_seconds: float = 0.0
    wrong: str = ""
    n_triplets: int | None = None
    detail: dict = field(default_factory=dict)
    machine: dict = field(default_factory=dict)

    @property
    def is_complete(self):
        """Whether the search for parameters came to its end."""
        return self.is_done and all(attempt["outcome"] != "limit" for attempt in self.tries)

    @property
    def best_rule_error(self):
        """On the test part; None where there are no rules."""
        return self.rules[self.best_rule]["test"] if self.best_rule else None


class Store(CellStore):
    """A folder of finished cells, one JSON file each."""

    cell_type, task_type = Cell, Task

    def has_some(self, column):
        """Whether there may be cells of a data set."""
        return any(self.folder.glob(f"{column}-*.json"))


def task_of(rival, column, number, run, threads):
    """What a method has to do in a loaded run of this number."""
    search = json.dumps({name: list(values) for name, values in rival.search.items()})
    n = len(run.reduced.y_train)
    return Task(column.name, n, number, rival.name, search, column.refits, threads, run.data)


def compute(rival, task, run, limit, budget=inf):
    """The cell of a task, whatever comes of it.

    Parameters
    ----------
    rival : MetricBaseline
    task : Task
    run : Run
    limit, budget : float
        Seconds for each fit, and after which no further one is tried.

    Returns
    -------
    Cell
    """
    known = {
        "task": task,
        "label": rival.label or rival.name,
        "limit": limit,
        "machine": describe_machine(),
    }
    try:
        return _compute(rival, task, run, limit, budget, known)
    except ENDED as error:
        outcome, remark = ending(error)
        return Cell(outcome=outcome, remark=remark, **known)


def _compute(rival, task, run, limit, budget, known):
    split, triplets = run.split(rival.features), _triplets(rival, run)
    choice = choose(rival, split, triplets, limit, task.run, task.threads, budget)
    known |= {
        "tries": [asdict(attempt) for attempt in choice.tries],
        "total_seconds": sum(attempt.seconds for attempt in choice.tries),
        "n_triplets": triplets and triplets.n_triplets,
    }
    if choice.best is None:
        return Cell(outcome=choice.tries[-1].outcome, remark=choice.tries[-1].remark, **known)
    known |= {
        "remark": choice.remark,
        "parameters": choice.best.parameters,
        "validation_error": choice.best.validation_error,
    }
    fitted, final = choice.fitted, split
    if task.refits:
        try:
            fitted = _refit(rival, task, run.joined, choice.best.parameters, limit)
        except ENDED as error:
            return _without_refit(error, known)
        final = run.joined.split(rival.features)
        known["total_seconds"] += fitted.seconds
    used = run.joined if task.refits else run
    return _judged(rival, fitted, (choice.fitted, split), final, used, known)


def _triplets(rival, run):
    return run.triplets if rival.learns_from == "triplets" else None


def _refit(rival, task, joined, parameters, limit):
    split = joined.split(rival.features)
    return rival.fit(
        split.X_train,
        split.y_train,
        triplets=_triplets(rival, joined),
        queries={"test": split.X_test},
        parameters=parameters,
        limit=limit,
        seed=task.run,
        threads=task.threads,
    )


def _without_refit(error, known):
    outcome, remark = ending(error)
    known["total_seconds"] += known["limit"] if outcome == "limit" else 0.0
    known["remark"] = f"{remark} when it learned from the validation part too"
    return Cell(outcome=outcome, **known)


def _judged(rival, fitted, chosen_by, split, run, known):
    found = JUDGES[rival.answers](fitted, chosen_by, split)
    wrong = found.pop("wrong")
    return Cell(
        outcome="done",
        test_error=float(wrong.mean()),
        wrong="".join("01"[int(each)] for each in wrong),
        seconds=float(fitted.seconds),
        detail=_plain(fitted.detail),
        before=run.before if MAIN in found.get("rules", {}) else {},
        **found,
        **known,
    )


def _plain(detail):
    """What of a detail is kept, with None for infinity and NaN, which JSON does not have."""
    kept = {name: value for name, value in detail.items() if name not in UNKEPT}
    return json.loads(json.dumps(kept), parse_constant=lambda word: None)
