"""The commands for semidefinite programs: sdp solve, sdp info, correlation, covariance."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Annotated

from .._extras import require
from . import options
from .terminal import reports

typer = require("typer", "cli")

MATRIX = "csv, tsv or npy"


SOLVE_CODES = options.exit_codes(
    "solved to --tol, or proven to have no solution",
    "not solved to --tol",
    "with -o the best answer so far is written first",
)
INFO_CODES = options.exit_codes("done", "(not used)", "nothing is written")
NEAREST_CODES = options.exit_codes(
    "done; the matrix is the nearest one to --tol", "not converged", "nothing is written"
)

app = typer.Typer(
    help="Solve semidefinite programs from SDPA files, with a proof of the answer.",
    epilog=SOLVE_CODES,
    no_args_is_help=True,
    rich_markup_mode=None,
)


Problem = Annotated[
    Path,
    typer.Argument(help="An SDPA sparse file: .dat-s, .dat-s.gz or .dat-s.xz.", show_default=False),
]
Square = Annotated[
    Path,
    typer.Argument(
        help=f"A symmetric matrix: a {MATRIX} file. A csv file may have labels in its first "
        "line, its first column, or both; one triangle is enough.",
        show_default=False,
    ),
]
Nearest = Annotated[
    Path,
    typer.Option(
        "-o",
        "--output",
        show_default=False,
        help=f"The nearest matrix: a {MATRIX} file; csv keeps the labels.",
    ),
]
Tol = Annotated[float, typer.Option("--tol", callback=options.positive, help="Error to reach.")]
MaxIter = Annotated[
    int, typer.Option("--max-iter", min=1, help="Largest number of eigen-decompositions.")
]
MinEigenvalue = Annotated[
    float, typer.Option("--min-eigenvalue", min=0, help="No eigenvalue is to be smaller.")
]


Solution = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        show_default=False,
        help="Where to write the solution; see above. Not written if not given.",
    ),
]
Errors = Annotated[
    float,
    typer.Option(
        "--tol", callback=options.positive, help="Largest eta_p, eta_d and eta_g to accept."
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        metavar="SECONDS",
        callback=options.positive,
        show_default=False,
        help="Stop after so many seconds; never if not given.",
    ),
]
Sigma = Annotated[
    float | None,
    typer.Option(
        "--sigma",
        callback=options.positive,
        show_default=False,
        help="Solve the perturbed problem instead, with <F0, X> - |X|^2 / (2 sigma) in (D).",
    ),
]
Weights = Annotated[
    Path | None,
    typer.Option(
        "--weights",
        show_default=False,
        help="File of n positive weights, one a line, after labels or not; or of a "
        "positive definite matrix W. Minimises |W^(1/2) (X - G) W^(1/2)|.",
    ),
]
Elementwise = Annotated[
    Path | None,
    typer.Option(
        "--elementwise",
        show_default=False,
        help="File of a matrix H >= 0: minimises |H o (X - G)|, entry by entry. Where H "
        "is 0 the data may be missing. Slower.",
    ),
]
Fixed = Annotated[
    Path | None,
    typer.Option(
        "--fixed",
        show_default=False,
        help="csv file of entries to keep: two labels, or numbers from 0, on each line, "
        "below a line `row,column` or not.",
    ),
]
Lower = Annotated[
    str | None,
    typer.Option(
        "--lower",
        metavar="NUMBER|FILE",
        show_default=False,
        help="Bound on entries off the diagonal: a number, or a file of a matrix, empty "
        "where there is none.",
    ),
]
Upper = Annotated[
    str | None, typer.Option("--upper", metavar="NUMBER|FILE", show_default=False, help="The same.")
]
Portfolios = Annotated[
    Path | None,
    typer.Option(
        "--constraints", show_default=False, help="csv file of rows a.T X a = b: see above."
    ),
]

SOLVE_HELP = """Solve an SDPA file, and prove how good the answer is.

\b
The problem, with its names and signs, is that of the SDPA format:
  (P)  minimise c.x       with  Z = sum x_i F_i - F0  positive semidefinite
  (D)  maximise <F0, X>   with  <F_i, X> = c_i  and X positive semidefinite

\b
-o NAME.npz   writes arrays: x; X1, X2, ... and Z1, Z2, ..., one for each
              block, vectors for diagonal blocks.
-o OTHER      writes text as CSDP does: a line with x, then lines
              `1 block i j value` of Z and `2 block i j value` of X, upper
              triangles.
Of a problem without a solution the proof is written, the rest being 0:
an X with <F_i, X> = 0 and <F0, X> = 1 if (P) is infeasible; an x with
c.x = -1 and Z = sum x_i F_i if (D) is.

\b
The errors, and the names in the JSON object:
  eta_p           |<F_i, X> - c_i| / (1 + |c|): the rows, those of (D)
  eta_d           distance of Z from semidefinite / (1 + |F0|)
  eta_g           |primal - dual| / (1 + |primal| + |dual|)
  status          optimal, primal_infeasible, dual_infeasible, or why it ended:
                  max_iter, time_limit, stalled, interrupted
  primal, dual    c.x and <F0, X>; null if infeasible
  bound           <F0, X> of (D) is proven to be no larger; null if unknown
  min_eigenvalue  of X and of Z
  ray_error       relative error of the proof, if infeasible; else null
  n_iter          eigen-decompositions
  seconds         to solve, without reading and writing
"""


@app.command(help=SOLVE_HELP, epilog=SOLVE_CODES)
@reports
def solve(
    problem: Problem,
    output: Solution = None,
    tol: Errors = 1e-6,
    time_limit: TimeLimit = None,
    max_iter: MaxIter = 20_000,
    sigma: Sigma = None,
    as_json: options.Json = False,
):
    from .sdp_actions import solve_file

    return solve_file(
        problem,
        output,
        inf if sigma is None else sigma,
        tol=tol,
        max_iter=max_iter,
        time_limit=inf if time_limit is None else time_limit,
    )


@app.command(epilog=INFO_CODES)
@reports
def info(problem: Problem, as_json: options.Json = False):
    """Show sizes and numbers of an SDPA file, without solving it.

    Blocks are shown as number × size. Blocks whose entries are not connected can be split into
    smaller ones, which `solve` does.
    """
    from .sdp_actions import describe_file

    return describe_file(problem)


@reports
def correlation(
    data: Square,
    output: Nearest,
    weights: Weights = None,
    elementwise: Elementwise = None,
    fixed: Fixed = None,
    lower: Lower = None,
    upper: Upper = None,
    min_eigenvalue: MinEigenvalue = 0.0,
    tol: Tol = 1e-8,
    max_iter: MaxIter = 1000,
    as_json: options.Json = False,
):
    """Find the nearest correlation matrix.

    Its diagonal is 1, and no eigenvalue is below --min-eigenvalue.
    """
    from .nearest import nearest_correlation_file

    if min_eigenvalue >= 1:
        raise typer.BadParameter("it must be below 1", param_hint="--min-eigenvalue")
    if weights is not None and elementwise is not None:
        raise typer.BadParameter("give it or --weights, not both", param_hint="--elementwise")
    files = {"weights": weights, "elementwise": elementwise, "fixed": fixed}
    limits = {"min_eigenvalue": min_eigenvalue, "tol": tol, "max_iter": max_iter}
    return nearest_correlation_file(data, output, files, (lower, upper), limits)


@reports
def covariance(
    data: Square,
    output: Nearest,
    constraints: Portfolios = None,
    min_eigenvalue: MinEigenvalue = 0.0,
    tol: Tol = 1e-8,
    max_iter: MaxIter = 1000,
    as_json: options.Json = False,
):
    """Find the nearest covariance matrix, with given variances.

    \b
    A file of --constraints has one line for each portfolio a whose variance
    a.T X a is given. Where the data have labels the columns have their names,
    and those left out are 0:
      sense,b,steel,oil
      =,0.04,1,0
      <=,0.01,0.5,0.5
    Where they have none, there is a column for each variable, in order.
    """
    from .nearest import nearest_covariance_file

    limits = {"min_eigenvalue": min_eigenvalue, "tol": tol, "max_iter": max_iter}
    return nearest_covariance_file(data, output, constraints, limits)
