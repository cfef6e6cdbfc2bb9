"""cvxpy with SCS, a first-order method, at tolerance 1e-7."""

from .cvxpy_program import solve_with
from .in_python import command, missing_modules
from .rival import Rival

TOLERANCE = 1e-7


def learn(task):
    return solve_with(task, "SCS", eps_abs=TOLERANCE, eps_rel=TOLERANCE)


RIVAL = Rival(
    name="scs",
    learns_from="triplets",
    required=("C",),
    needs="cvxpy and scs: pip install cvxpy scs",
    command=command("function", f"{__name__}:learn", "cvxpy", "scs"),
    missing=missing_modules("cvxpy", "scs"),
)
