"""Declaration of a command: its function, the source of further options, and its exit codes.

A command is a function: its positional parameters are arguments, its keyword-only ones are options,
with the types of their annotations and the texts of its docstring. `python docs/commands.py` reads
them and writes commands.json, from which help and options are built without importing the function.

Some parameters stand for several options. One whose annotation is a `TypedDict` has the options
that are its keys, with defaults and texts of a source, which is an estimator or a function;
`preparation` has the options of `preparing`. A parameter `given` gets the names of those options of
the source that the command line names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypedDict

from .terminal import EXIT_CODES, Report


@dataclass(frozen=True)
class Command:
    """Function of a command and its declaration; `defaults` replace defaults of the source."""

    run: Callable[..., Report]
    source: Callable[..., object] | None = None
    defaults: Mapping[str, object] = field(default_factory=dict)
    codes: str = EXIT_CODES


def command(
    source: Callable[..., object] | None = None,
    *,
    defaults: Mapping[str, object] | None = None,
    codes: str = EXIT_CODES,
) -> Callable[[Callable[..., Report]], Command]:
    """Declare a function to be a command; `codes` is the help text on its exit codes."""
    return lambda run: Command(run, source, defaults or {}, codes)


@dataclass(frozen=True)
class AtLeast:
    """Smallest value of an option; estimators check the values of other options."""

    least: float


@dataclass(frozen=True)
class AboveZero:
    """Mark of an option whose value is positive."""


Natural = Annotated[int, AtLeast(0)]
Count = Annotated[int, AtLeast(1)]
Folds = Annotated[int, AtLeast(2)]
Positive = Annotated[float, AboveZero()]


class MetricParameters(TypedDict):
    """Parameters of `FrobMetric` that are options of commands that learn a metric."""

    n_neighbors: int
    n_impostors: int | None
    neighbors: Literal["auto", "exact", "approximate"]
    C: float
    units: Literal["auto", "raw", "deviation", "within"]
    n_components: int | Literal["rank"] | None
    loss: Literal["hinge", "smoothed_hinge", "squared_hinge"]
    prior: Literal["identity", "diagonal", "within", "shrunk", "discriminant", "covariance"] | None
    pull: float
    kernel: Literal["linear", "rbf", "polynomial", "precomputed"]
    gamma: float | None
    degree: int
    coef0: float
    n_directions: int | None
    n_passes: int
    targets: Literal["classes", "values"]
    tol: Positive
    max_iter: Count
    solver: Literal["auto", "active_set", "lbfgsb", "newton", "quasi_newton", "smoothing"]
    n_jobs: int | None


class FitParameters(MetricParameters):
    """Parameters of `FrobMetric` that are options of `fit`."""

    keep_dual: bool


class UnfoldingParameters(TypedDict):
    """Parameters of `MaximumVarianceUnfolding` that are options of `unfold`."""

    n_components: int
    n_neighbors: int
    sigma: Positive | None
    constraints: Literal["at_most", "equal"]
    solver: Literal["auto", "lowrank", "dual"]
    tol: Positive
    max_iter: Count
    n_landmarks: int | None
    random_state: Natural | None
    metric: str
    extra_edges: bool
    on_disconnected: Literal["connect", "separate", "error"]


class SolveLimits(TypedDict):
    """Parameters of `solve_sdp` that are options of `sdp solve`."""

    tol: Positive
    max_iter: Count
    time_limit: Positive


class NearestLimits(TypedDict):
    """Parameters of `nearest_correlation` and `nearest_covariance` that are options."""

    min_eigenvalue: Annotated[float, AtLeast(0)]
    tol: Positive
    max_iter: Count


#: Further spellings of options.
FLAGS = {
    "output": "-o",
    "target": "-t",
    "n_components": "-d",
    "n_neighbors": "-k",
    "n_results": "-k",
    "random_state": "--seed",
    "keep_dual": "--keep-proof",
}
#: Texts of parameters that several commands have.
COMMON = """
Parameters
----------
data
    Samples: a csv, tsv, csv.gz, tsv.gz, parquet, npy or npz file; - is the standard input.
model
    A model that `fit` wrote.
n_results
    Number of neighbours of each query.
target
    Column of the labels: its name, or its number (from 0; -1 is the last). An npz file with X and y
    needs none.
file
    A symmetric matrix: a csv, tsv, csv.gz, tsv.gz or npy file; - is the standard input. A csv file
    may have labels in its first line, its first column, or both; one triangle is enough.
output
    The result, in the same formats; csv keeps labels; - is the standard output, in csv.
problem
    An SDPA sparse file: .dat-s, .dat-s.gz or .dat-s.xz.
columns
    Only these columns are features: names, or numbers from 0, with commas.
drop
    Columns that are no features, such as the number of a row: names or numbers, with commas.
impute
    Fill in missing numbers by the median or the mean of their column, and missing categories by the
    most frequent one; without it a missing value is an error.
categories
    How to use columns of texts: one-hot makes a feature of zeros and ones for each category.
    Without it a text is an error.
header
    Whether a csv file begins with a line of names.
seed
    Seed of the random split.
n_votes
    Number of neighbours that vote in the k-NN error.
"""
