"""cvxpy with Clarabel, an interior-point method, at its default tolerances (1e-8)."""

from .cvxpy_program import solve_with
from .in_python import command, missing_modules
from .rival import Rival


def learn(task):
    return solve_with(task, "CLARABEL")


RIVAL = Rival(
    name="clarabel",
    learns_from="triplets",
    required=("C",),
    needs="cvxpy and clarabel: pip install cvxpy clarabel",
    command=command("function", f"{__name__}:learn", "cvxpy", "clarabel"),
    missing=missing_modules("cvxpy", "clarabel"),
)
