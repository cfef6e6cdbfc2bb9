"""The commands that make the paper's figures and tables again: reproduce mvu, uci, action, lfw."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from frobmetric._extras import require
from frobmetric.cli import options
from frobmetric.cli.terminal import reports

typer = require("typer", "cli")

CODES = """\b
Exit codes:
  0    done; what could not be had is said on the page
  2    wrong usage
  3    bad data, or nothing could be run
  4    done, but an answer of ours is not certified
  130  interrupted by Ctrl-C; the page has what was finished, and the same
       command goes on from there
"""

app = typer.Typer(
    help="Make the paper's figures and tables again, beside its own numbers.",
    epilog=CODES,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def reproduce():
    """One command for each part of the paper: what they share is above, in `app`."""


class MVUExperiment(StrEnum):
    """The experiments of `reproduce mvu`."""

    swiss_roll = "swiss_roll"
    teapots = "teapots"
    teapots_3 = "teapots_3"
    faces = "faces"
    time = "time"


class UCISet(StrEnum):
    """The data sets of `reproduce uci`."""

    mnist = "mnist"
    usps = "usps"
    letters = "letters"
    yale = "yale"
    balance = "balance"
    wine = "wine"
    iris = "iris"


class ActionPart(StrEnum):
    """The data sets of `reproduce action`, and the words of documents."""

    msr_action3d = "msr_action3d"
    utd_mhad = "utd_mhad"
    words = "words"


class LFWPart(StrEnum):
    """The parts of `reproduce lfw`."""

    choice = "choice"
    folds = "folds"
    table = "table"
    methods = "methods"


Output = Annotated[
    Path, typer.Option("-o", "--output", help="Folder for the page, its figures and results.")
]
Only = Annotated[
    list[MVUExperiment] | None,
    typer.Option(
        "--only",
        show_default=False,
        help="Run this one only; can be given several times. The page keeps what the "
        "folder has of others.",
    ),
]
OnlySet = Annotated[
    list[UCISet] | None,
    typer.Option(
        "--only",
        show_default=False,
        help="Fill this column only; can be given several times. The page keeps what the "
        "folder has of others.",
    ),
]
OnlyPart = Annotated[
    list[ActionPart] | None,
    typer.Option(
        "--only",
        show_default=False,
        help="Fill this column, or merge words, only; can be given several times. The "
        "page keeps what the folder has of others.",
    ),
]
OnlyFaces = Annotated[
    list[LFWPart] | None,
    typer.Option(
        "--only",
        show_default=False,
        help="Do this part only, and the choices that it needs; can be given several "
        "times. The page keeps what the folder has of others.",
    ),
]
FaceLimit = Annotated[
    float,
    typer.Option(
        "--limit",
        metavar="SECONDS",
        callback=options.positive,
        help="For each fit. A method over it on View 1 or in a fold is not tried again.",
    ),
]
FacePictures = Annotated[
    bool,
    typer.Option(
        "--pictures/--no-pictures",
        help="Draw some triplets of faces too. The pictures carry no licence: a page "
        "with them is not to be published.",
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--methods",
        metavar="NAMES",
        show_default=False,
        help="Run these methods only, with commas or given several times; an unknown "
        "name lists all.",
    ),
]
Runs = Annotated[
    int | None,
    typer.Option(
        "--runs",
        min=1,
        show_default=False,
        help="Splits of each set that is split at random; 50 of wine and iris and 10 of "
        "others if not given.",
    ),
]
ActionRuns = Annotated[
    int | None,
    typer.Option("--runs", min=1, show_default=False, help="Splits of each set; 10 if not given."),
]
FitLimit = Annotated[
    float,
    typer.Option(
        "--limit",
        metavar="SECONDS",
        callback=options.positive,
        help="For each fit. A method over it in its first run on a set is not tried again there.",
    ),
]
Budget = Annotated[
    float,
    typer.Option(
        "--budget",
        metavar="SECONDS",
        callback=options.positive,
        help="For all fits of a method on a set; no further run begins after it.",
    ),
]
Quick = Annotated[
    bool, typer.Option("--quick", help="Few points: to see in minutes whether all works.")
]
Limit = Annotated[
    float,
    typer.Option(
        "--limit",
        metavar="SECONDS",
        callback=options.positive,
        help="For each method on each set of points.",
    ),
]
DataFolder = Annotated[
    Path | None,
    typer.Option(
        "--data",
        exists=True,
        file_okay=False,
        show_default=False,
        help="Folder of the data files; FROBMETRIC_DATA if not given.",
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        show_default=False,
        help="Of each method; as many as there are processors if not given.",
    ),
]


@app.command(epilog=CODES)
@reports
def mvu(
    output: Output = Path("mvu"),
    only: Only = None,
    quick: Quick = False,
    limit: Limit = 3600.0,
    data: DataFolder = None,
    threads: Threads = None,
    as_json: options.Json = False,
):
    """Reproduce maximum variance unfolding.

    Embeds the swiss roll, the teapots and the Frey faces with Isomap, LLE, ours (perturbed, exact)
    and CSDP (two formulations), and measures time against n. The folder gets index.md and
    index.html with all numbers beside the paper's, and figures. Finished results are kept in its
    folder `cells`, so that the same command goes on where it was stopped.

    \b
    CSDP comes from
      python -m frobmetric_paper.baselines.setup csdp
    and is left out where it is not there, as are data sets without their file.
    """
    from .mvu.actions import reproduce_mvu

    chosen = [name.value for name in only or MVUExperiment]
    return reproduce_mvu(
        output, chosen, quick=quick, limit=limit, data=data, threads=threads or os.cpu_count()
    )


@app.command(epilog=CODES)
@reports
def uci(
    output: Output = Path("uci"),
    only: OnlySet = None,
    methods: Methods = None,
    runs: Runs = None,
    quick: Quick = False,
    limit: FitLimit = 600.0,
    budget: Budget = 1800.0,
    data: DataFolder = None,
    threads: Threads = None,
    as_json: options.Json = False,
):
    """Reproduce Table I: metrics for classification.

    Learns metrics on seven data sets with FrobMetric and its rivals, parameters being chosen on
    validation parts, and measures them by 3-NN and more. The folder gets index.md and index.html
    with all numbers beside the paper's, table.csv, results.json and figures. Finished results are
    kept in its folder `cells`, so that the same command goes on where it was stopped.

    \b
    LMNN and ITML come from
      python -m frobmetric_paper.baselines.setup
    and are left out where they are not there, as are data sets without their file.
    """
    from .uci.actions import reproduce_uci

    return reproduce_uci(
        output,
        [name.value for name in only or ()],
        methods or [],
        runs=runs,
        quick=quick,
        limit=limit,
        budget=budget,
        data=data,
        threads=threads or os.cpu_count(),
    )


@app.command(epilog=CODES)
@reports
def action(
    output: Output = Path("action"),
    only: OnlyPart = None,
    methods: Methods = None,
    runs: ActionRuns = None,
    quick: Quick = False,
    limit: FitLimit = 600.0,
    budget: Budget = 1800.0,
    data: DataFolder = None,
    threads: Threads = None,
    as_json: options.Json = False,
):
    """Reproduce the metrics for action recognition, on other data.

    The paper's videos are not to be had: MSR Action3D stands in for KTH and UTD-MHAD for Weizmann.
    Sequences of skeletons become histograms of words, merged by the information bottleneck, which
    is also shown on the words of documents. FrobMetric and its rivals learn metrics as in `uci`;
    the folder gets index.md and index.html, table.csv, results.json and figures. Finished results
    are kept in its folder `cells`, so that the same command goes on where it was stopped.

    \b
    LMNN and ITML come from
      python -m frobmetric_paper.baselines.setup
    and are left out where they are not there, as are data sets without their file.
    """
    from .action.actions import reproduce_action

    return reproduce_action(
        output,
        [name.value for name in only or ()],
        methods or [],
        runs=runs,
        quick=quick,
        limit=limit,
        budget=budget,
        data=data,
        threads=threads or os.cpu_count(),
    )


@app.command(epilog=CODES)
@reports
def lfw(
    output: Output = Path("lfw"),
    only: OnlyFaces = None,
    quick: Quick = False,
    limit: FaceLimit = 600.0,
    pictures: FacePictures = False,
    data: DataFolder = None,
    threads: Threads = None,
    as_json: options.Json = False,
):
    """Reproduce face verification: Labeled Faces in the Wild.

    Chooses parameters on View 1 and judges metrics by ten folds of View 2: FrobMetric over
    dimensions and numbers of triplets as in the paper's table, and other methods beside it. The
    folder gets index.md and index.html with all numbers beside the paper's, table.csv, results.json
    and figures. Finished results are kept in its folder `cells`, so that the same command goes on
    where it was stopped.

    \b
    LMNN and ITML come from
      python -m frobmetric_paper.baselines.setup
    and are left out where they are not there.
    """
    from .lfw.actions import reproduce_lfw

    return reproduce_lfw(
        output,
        [name.value for name in only or ()],
        quick=quick,
        limit=limit,
        pictures=pictures,
        data=data,
        threads=threads or os.cpu_count(),
    )
