"""The commands that make the paper's figures and tables again: reproduce mvu."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from . import options
from .extras import require
from .terminal import reports

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
    """Lets `mvu` be a name to type, although it is the only one so far."""


class MVUExperiment(StrEnum):
    """The experiments of `reproduce mvu`."""

    swiss_roll = "swiss_roll"
    teapots = "teapots"
    teapots_3 = "teapots_3"
    faces = "faces"
    time = "time"


Output = Annotated[
    Path, typer.Option("-o", "--output", help="Folder for the page, its figures and results.")
]
Only = Annotated[
    list[MVUExperiment] | None,
    typer.Option("--only", show_default=False,
                 help="Run this one only; can be given several times. The page keeps what the "
                 "folder has of others."),
]  # fmt: skip
Quick = Annotated[
    bool, typer.Option("--quick", help="Few points: to see in a minute whether all works.")
]
Limit = Annotated[
    float,
    typer.Option("--limit", metavar="SECONDS", callback=options.positive,
                 help="For each method on each set of points."),
]  # fmt: skip
DataFolder = Annotated[
    Path | None,
    typer.Option("--data", exists=True, file_okay=False, show_default=False,
                 help="Folder of the data files; FROBMETRIC_DATA if not given."),
]  # fmt: skip
Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, show_default=False,
                 help="Of each method; as many as there are processors if not given."),
]  # fmt: skip


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
      python -m frobmetric.experiments.sdp_rivals.setup csdp
    and is left out where it is not there, as are data sets without their file.
    """
    from .reproduce_actions import reproduce_mvu

    chosen = [name.value for name in only or MVUExperiment]
    return reproduce_mvu(
        output, chosen, quick=quick, limit=limit, data=data, threads=threads or os.cpu_count()
    )
