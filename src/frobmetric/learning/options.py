"""Options of a run, which decide how a problem is solved and not which."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

from ..solvers.monitor import Callback, Reporter


@dataclass(frozen=True, eq=False)
class RunOptions:
    """Tolerance and limits of a solve, what is kept of it and who is told of its steps.

    The fields are parameters of `FrobMetric`.
    """

    tol: float = 1e-3
    max_iter: int = 1000
    solver: str = "auto"
    keep_dual: bool = False
    n_jobs: int | None = None
    verbose: int = 0
    callback: Callback | None = None

    @classmethod
    def of(cls, parameters: dict[str, Any]) -> Self:
        """Return the options of parameters by name; those of the problem are left out."""
        names = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in parameters.items() if name in names})

    @property
    def on_step(self) -> Callback | None:
        """Callback of a solver, which also writes lines if `verbose` asks for them."""
        return Reporter(self.verbose, self.callback) if self.verbose else self.callback


#: Options of a run of which nothing is asked.
DEFAULT = RunOptions()
