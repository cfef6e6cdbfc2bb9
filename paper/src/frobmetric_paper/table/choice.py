"""The choice of a method's parameters on held-out data: one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from ..baselines import ProgramFailedError, TimeLimitError, first_parameters, named
from ..harness.store import ending
from .measures import validation_error


@dataclass(frozen=True)
class Try:
    """One fit of a search.

    Attributes
    ----------
    parameters : dict
    outcome : {"done", "limit", "failed"}
    seconds : float
        Of the fit; the limit where that ended it, 0 where it failed.
    validation_error : float, optional
    remark : str
        Why there is no answer.
    """

    parameters: dict
    outcome: str
    seconds: float
    validation_error: float | None = None
    remark: str = ""


@dataclass
class Choice:
    """What a search found.

    Attributes
    ----------
    tries : list of Try
        In their order.
    best : Try, optional
        None if no fit gave an answer.
    fitted : Fitted, optional
        The answer of the best.
    why_ended : str
        Why not all values were tried; empty if they were.
    """

    @property
    def remark(self):
        """What is to be known of the search; empty if all values were tried in time."""
        over = [str(attempt.parameters) for attempt in self.tries if attempt.outcome == "limit"]
        slow = f"over the limit: {', '.join(over)}" if over else ""
        return "; ".join(filter(None, (slow, self.why_ended)))

    tries: list[Try] = field(default_factory=list)
    best: Try | None = None
    fitted: object = None
    why_ended: str = ""

    def add(self, attempt, fitted=None):
        """Count a try in; the earlier one stays best in a tie."""
        self.tries.append(attempt)
        if fitted is None:
            return
        if self.best is None or attempt.validation_error < self.best.validation_error:
            self.best, self.fitted = attempt, fitted

    def why_over(self, budget):
        """Why no further fit is tried; empty if there is time."""
        if sum(attempt.seconds for attempt in self.tries) <= budget:
            return ""
        return f"the search ended after {len(self.tries)} fits, which took more than {budget:g} s"

    def has(self, parameters):
        return any(attempt.parameters == parameters for attempt in self.tries)


def first_values(search):
    """A search that has nothing to choose: for a look at whether all works."""
    return {name: values[:1] for name, values in search.items()}


def most_fits(rival):
    """How many fits `choose` does at most."""
    return 1 + sum(len(values) - 1 for values in rival.search.values())


def choose(rival, split, triplets, limit, seed, threads, budget=inf):
    """Coordinate search over the values of `rival.search`, judged on the validation part.

    Parameters start at their first values. For one after the other all values are tried, the
    others being the best so far. The first fit over the limit ends the search, later ones do not.

    Parameters
    ----------
    rival : MetricBaseline
    split : Split
    triplets : MinedTriplets or None
        For those that learn from triplets of the training part.
    limit : float
        Seconds for each fit.
    seed, threads : int
    budget : float
        Seconds of all fits after which no further one is tried.

    Returns
    -------
    Choice

    Raises
    ------
    ProgramMissingError
    """
    choice = Choice()
    first = first_parameters(rival.search)

    def attempt(parameters):
        """Whether the search goes on after this."""
        if choice.has(parameters):
            return True
        choice.why_ended = choice.why_over(budget)
        if choice.why_ended:
            return False
        choice.add(*_try(rival, split, triplets, parameters, limit, seed, threads))
        # one that has given no answer yet is slow; else only these values are
        return choice.best is not None or choice.tries[-1].outcome != "limit"

    if not attempt(first):
        return choice
    for names, values in rival.search.items():
        others = first if choice.best is None else choice.best.parameters
        for value in values:
            if not attempt(others | named(names, value)):
                return choice
    return choice


def _try(rival, split, triplets, parameters, limit, seed, threads):
    """A `Try`, and what was fitted if there is an answer."""
    try:
        fitted = rival.fit(
            split.X_train,
            split.y_train,
            triplets=triplets,
            queries={"validation": split.X_validation, "test": split.X_test},
            parameters=parameters,
            limit=limit,
            seed=seed,
            threads=threads,
        )
    except (TimeLimitError, ProgramFailedError) as error:
        outcome, remark = ending(error)
        return (Try(parameters, outcome, limit if outcome == "limit" else 0.0, remark=remark),)
    wrong = validation_error(rival.answers, fitted, split)
    return Try(parameters, "done", float(fitted.seconds), wrong), fitted
