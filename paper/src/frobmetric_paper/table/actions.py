"""What the commands of `reproduce` do that fill a table of methods and data sets."""

from __future__ import annotations

import difflib
import shlex
from dataclasses import dataclass, field, replace

from frobmetric._extras import MissingExtraError
from frobmetric._parameters import InvalidParameterError
from frobmetric.cli.terminal import ExitCode, Report, live_line, say

from ..baselines import METRIC, TABLE
from ..harness.page import write_page
from ..mvu.actions import make_folder
from .cells import Store
from .choice import first_values
from .files import short, write_files
from .page import page_blocks
from .table import Watch, conduct
from .view import BASES, View
from .words import duration, outcome_words, percent, seconds


@dataclass(frozen=True)
class Annex:
    """What a page has beside its table.

    Attributes
    ----------
    blocks : list of blocks of `reproduce_page`
    data : dict
        For the report; empty if there is no result.
    interrupted : bool
    """

    blocks: list = field(default_factory=list)
    data: dict = field(default_factory=dict)
    interrupted: bool = False


def no_annex(interrupted):
    """That there is nothing beside the table."""
    return Annex(interrupted=interrupted)


def reproduce_table(
    spec, output, *, chosen, methods, limit, budget, threads, words, annex=no_annex
):
    """Fill the chosen part of a table and write its page; Ctrl-C writes what is finished.

    Parameters
    ----------
    spec : TableSpec
    output : Path
        A folder, made if it is not there.
    chosen : list of str
        Names of columns.
    methods : list of str
        Names of methods, or several with commas; all of the table if empty.
    limit : float
        Seconds for each fit.
    budget : float
        Seconds for all fits of a method on a data set.
    threads : int
    words : list of str
        Further words of the command that makes the same page again.
    annex : callable
        Whether Ctrl-C has come -> Annex, when the table is filled.

    Returns
    -------
    Report
    """
    wanted = method_names(methods)
    make_folder(output)
    rivals = [_rival(name, spec.quick) for name in TABLE]
    with live_line("looking for what is finished") as show:
        results, interrupted = conduct(
            spec.in_order_of_work,
            rivals,
            Store(output / "cells"),
            limit,
            budget,
            threads,
            Lines(show),
            lambda column, method: column in chosen and method in wanted,
        )
    beside = annex(interrupted)
    view = _view(spec, results, rivals, chosen, wanted)
    settings = {
        "limit": f"{limit:g} s for each fit",
        "threads": str(threads),
        "budget": f"{budget:g} s for each method on each data set",
    }
    command = _command(spec, output, wanted, limit, budget, threads, words)
    page = _write(output, view, settings, command, beside.blocks)
    return _report(page, view, beside, command)


def words_of(only, every, *, quick, runs, data):
    """The words of a command for what was chosen: `only` is empty, or some of `every`."""
    words = []
    if only and set(only) != set(every):
        words += [word for name in only for word in ("--only", name)]
    words += ["--quick"] if quick else []
    words += ["--runs", str(runs)] if runs else []
    return words + (["--data", str(data)] if data else [])


def method_names(words):
    """Names of methods from the words of ``--methods``, in the order of the table."""
    names = [name.strip() for word in words for name in word.split(",") if name.strip()]
    for name in names:
        if name not in TABLE:
            nearest = difflib.get_close_matches(name, TABLE, n=1)
            hint = f" Did you mean {nearest[0]}?" if nearest else ""
            known = ", ".join(TABLE)
            raise InvalidParameterError(f"--methods {name} is not one of {known}.{hint}")
    return [name for name in TABLE if not names or name in names]


def _rival(name, quick):
    rival = METRIC[name]
    return replace(rival, search=first_values(rival.search)) if quick else rival


class Lines(Watch):
    """Says what has ended, and shows on a terminal what is under way."""

    def __init__(self, show):
        self.show = show

    def begin(self, task, label, forecast):
        if self.show:
            here = "about" if forecast.is_known else "at most"
            self.show(
                f"{task.column}, run {task.run + 1}: {label}   {forecast.done} of {forecast.all}   "
                f"this method here {here} {duration(forecast.here)}, all at most "
                f"{duration(forecast.whole)}"
            )

    def end(self, cell):
        remark = f"   ({cell.remark})" if cell.remark and cell.outcome != "limit" else ""
        found = outcome_words(cell)
        if cell.is_done:
            found = f"{percent(100 * cell.test_error)} %   {seconds(cell.total_seconds)}"
        say(f"{cell.task.column}, run {cell.task.run + 1}: {cell.label}   {found}{remark}")


def _view(spec, results, rivals, chosen, wanted):
    """What is shown: what was asked for, and what is there from before."""
    by_name = {result.column.name: result for result in results}
    ordered = [by_name[column.name] for column in spec.columns if column.name in by_name]
    done = {
        (cell.task.column, cell.task.method)
        for result in ordered
        for cell in result.cells
        if cell.is_done
    }
    columns = {*chosen, *(column for column, _ in done)}
    methods = {*wanted, *(method for _, method in done)}
    return View(
        spec,
        [result for result in ordered if result.column.name in columns],
        [rival for rival in rivals if rival.name in methods],
    )


def _command(spec, output, wanted, limit, budget, threads, words):
    """What makes the same page again."""
    words = ["frobmetric", "reproduce", spec.name, "-o", output, *words]
    words += ["--methods", ",".join(wanted)] if len(wanted) < len(TABLE) else []
    words += ["--limit", f"{limit:g}", "--budget", f"{budget:g}", "--threads", threads]
    return shlex.join(map(str, words))


def _write(output, view, settings, command, more):
    """The page, its figures and files; the path of the HTML."""
    figures = []
    with live_line("drawing"):
        try:
            from .figures import draw

            figures = draw(view, output)
        except MissingExtraError as error:
            say(f"no figures: {error}")
        write_files(output, view, settings, command)
        blocks = page_blocks(view, figures, settings, command, more)
        return write_page(output, view.spec.title, blocks)[-1]


def _report(page, view, beside, command):
    left_out = {result.column.name: result.reason for result in view.results if result.reason}
    shown = {method.name for method in view.methods}
    cells = [cell for result in view.done for cell in result.cells if cell.task.method in shown]
    for name, reason in left_out.items():
        say(f"warning: {name} was left out: {reason}")
    if beside.interrupted:
        say(f"interrupted; what is finished was kept. To go on: {command}")
    done = sum(cell.is_done for cell in cells)
    data = {
        "page": str(page),
        "command": command,
        "cells": [short(cell) for cell in cells],
        "left_out": left_out,
    }
    text = f"{page}: {done} of {len(cells)} results are there"
    return Report(_code(cells, beside), text, data | beside.data)


def _code(cells, beside):
    if beside.interrupted:
        return ExitCode.INTERRUPTED
    if not beside.data and not any(cell.is_done for cell in cells):
        return ExitCode.BAD_DATA
    own = [cell for cell in cells if cell.task.method in BASES and cell.outcome != "skipped"]
    return ExitCode.CERTIFIED if all(map(_is_certified, own)) else ExitCode.NOT_CERTIFIED


def _is_certified(cell):
    return cell.is_done and cell.detail.get("status") == "optimal"
