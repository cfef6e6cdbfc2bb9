"""What the commands of `reproduce` do, once their arguments are read."""

from __future__ import annotations

import shlex
from dataclasses import asdict

from frobmetric._extras import MissingExtraError
from frobmetric.cli.terminal import ExitCode, Report, live_line, say

from ..baselines.embedding import OUR_TOL
from ..harness.page import write_page
from .cells import Store
from .experiment import EXPERIMENTS, Watch, collect, conduct, plan
from .page import TITLE, page_blocks
from .words import seconds

#: What of a cell is too long for a line of JSON.
LONG = ("embedding", "spectrum", "machine")


def reproduce_mvu(output, chosen, *, quick, limit, data, threads):
    """Run the chosen experiments and write the page; Ctrl-C writes what is finished.

    Parameters
    ----------
    output : Path
        A folder, made if it is not there.
    chosen : list of str
        Names of `EXPERIMENTS`.
    quick : bool
    limit : float
        Seconds for each method on each set of points.
    data : Path, optional
        Folder of the data files.
    threads : int

    Returns
    -------
    Report
    """
    make_folder(output)
    store = Store(output / "cells")
    experiments = [plan(name, quick=quick, folder=data) for name in EXPERIMENTS]
    wanted = [experiment for experiment in experiments if experiment.name in chosen]
    found, interrupted = _conduct(wanted, store, limit, threads)
    for experiment in experiments:
        found.setdefault(experiment.name, collect(experiment, store, limit, threads))
    results = [found[name] for name in EXPERIMENTS if _is_shown(found[name], chosen)]
    command = _command(output, chosen, quick, limit, data, threads)
    settings = {"limit": f"{limit:g} s for each method", "threads": str(threads)}
    page = _write(output, results, settings, command, quick)
    return _report(page, results, interrupted, command)


class Lines(Watch):
    """Says what has ended, and shows on a terminal what is under way."""

    def __init__(self, show):
        self.show = show

    def begin(self, task, label):
        if self.show:
            self.show(f"{task.experiment}, n = {task.n}: {label}")

    def end(self, cell):
        remark = f"   ({cell.remark})" if cell.remark and cell.outcome != "limit" else ""
        where = f"{cell.task.experiment}, n = {cell.task.n}"
        say(f"{where}: {cell.label}   {seconds(cell)}{remark}")


def _conduct(experiments, store, limit, threads):
    """Results by name, and whether Ctrl-C came before all were there."""
    found = {}
    try:
        with live_line("looking for what is finished") as show:
            for experiment in experiments:
                watch = Lines(show)
                found[experiment.name] = conduct(experiment, store, limit, threads, watch)
    except KeyboardInterrupt:
        return found, True
    return found, False


def make_folder(output):
    """Make the folder of a page, unless it is there."""
    try:
        output.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ValueError(f"{output} is not a folder; give --output another name") from None


def _is_shown(result, chosen):
    """Whether the page has it: it was asked for, or some of it is there from before."""
    return result.experiment.name in chosen or any(cell.is_done for cell in result.cells)


def _command(output, chosen, quick, limit, data, threads):
    """What makes the same page again."""
    words = ["frobmetric", "reproduce", "mvu", "-o", output]
    if len(chosen) < len(EXPERIMENTS):
        words += [word for name in chosen for word in ("--only", name)]
    words += ["--quick"] if quick else []
    words += ["--limit", f"{limit:g}", "--threads", threads]
    words += ["--data", data] if data else []
    return shlex.join(map(str, words))


def _write(output, results, settings, command, quick):
    """The page and its figures; the path of the HTML."""
    figures = {}
    with live_line("drawing"):
        try:
            from .figures import draw

            figures = {result.experiment.name: draw(result, output) for result in results}
        except MissingExtraError as error:
            say(f"no figures: {error}")
        blocks = page_blocks(results, figures, settings, command, quick=quick)
        return write_page(output, TITLE, blocks)[-1]


def _report(page, results, interrupted, command):
    left_out = {result.experiment.name: result.reason for result in results if result.reason}
    cells = [cell for result in results for cell in result.cells]
    for name, reason in left_out.items():
        say(f"warning: {name} was left out: {reason}")
    if interrupted:
        say(f"interrupted; what is finished was kept. To go on: {command}")
    done = sum(cell.is_done for cell in cells)
    data = {
        "page": str(page),
        "command": command,
        "cells": [_short(cell) for cell in cells],
        "left_out": left_out,
    }
    return Report(
        _code(cells, interrupted), f"{page}: {done} of {len(cells)} results are there", data
    )


def _code(cells, interrupted):
    if interrupted:
        return ExitCode.INTERRUPTED
    if not any(cell.is_done for cell in cells):
        return ExitCode.BAD_DATA
    own = [cell for cell in cells if cell.task.method.startswith("ours")]
    return ExitCode.CERTIFIED if all(map(_is_certified, own)) else ExitCode.NOT_CERTIFIED


def _is_certified(cell):
    return cell.is_done and cell.certificate["relative_gap"] <= OUR_TOL


def _short(cell):
    return {name: value for name, value in asdict(cell).items() if name not in LONG}
