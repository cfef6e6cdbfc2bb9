"""What `reproduce lfw` does, once its arguments are read."""

from __future__ import annotations

import shlex

from frobmetric._extras import MissingExtraError
from frobmetric.cli.terminal import ExitCode, Report, live_line, say

from ..data.pairs import load_face_pictures
from ..harness.page import write_page
from ..mvu.actions import make_folder
from ..table.actions import words_of
from ..table.files import short
from ..table.words import outcome_words, seconds
from .cells import Store
from .experiment import Watch, conduct
from .files import DETAILS, write_files
from .methods import FROB
from .page import TITLE, page_blocks
from .plan import MAIN, PARTS, plan
from .recipe import Recipe
from .summary import done
from .words import rule_words, share, where

NOT_WANTED = "--pictures was not given"


def reproduce_lfw(output, chosen, *, quick, limit, pictures, data, threads):
    """Run the chosen parts and write the page; Ctrl-C writes what is finished.

    Parameters
    ----------
    output : Path
        A folder, made if it is not there.
    chosen : list of str
        Of `PARTS`; all if empty.
    quick : bool
    limit : float
        Seconds for each fit.
    pictures : bool
        Whether to draw some triplets.
    data : Path, optional
        Folder of the data files.
    threads : int

    Returns
    -------
    Report
    """
    make_folder(output)
    with live_line("looking for what is finished") as show:
        result = conduct(
            plan(quick=quick),
            Store(output / "cells"),
            limit,
            threads,
            folder=data,
            chosen=chosen or PARTS,
            watch=Lines(show),
        )
    words = words_of(chosen, PARTS, quick=quick, runs=None, data=data)
    words += ["--pictures"] if pictures else []
    command = _command(output, limit, threads, words)
    settings = {"limit": f"{limit:g} s for each fit", "threads": str(threads)}
    page = _write(output, result, data, pictures, settings, command)
    return _report(page, result, command)


class Lines(Watch):
    """Says what has ended, and shows on a terminal what is under way."""

    def __init__(self, show):
        self.show = show

    def begin(self, task, label, done, whole):
        if self.show:
            self.show(f"{_where(task)}: {label}   {done} of {whole}")

    def end(self, cell):
        remark = f"   ({cell.remark})" if cell.remark and cell.outcome != "limit" else ""
        found = outcome_words(cell)
        if cell.is_done:
            best = max(cell.rules, key=lambda rule: cell.judged(rule).held_out)
            found = (
                f"{share(cell.judged(best).accuracy)} % by {rule_words(best)}   "
                f"{seconds(cell.seconds)}"
            )
        say(f"{_where(cell.task)}: {cell.label}   {found}{remark}")


def _where(task):
    return where(task, Recipe.from_text(task.recipe))


def _command(output, limit, threads, words):
    """What makes the same page again."""
    words = [
        "frobmetric",
        "reproduce",
        "lfw",
        "-o",
        output,
        *words,
        "--limit",
        f"{limit:g}",
        "--threads",
        threads,
    ]
    return shlex.join(map(str, words))


def _write(output, result, data, pictures, settings, command):
    """The page, its figures and files; the path of the HTML."""
    figures, without = {}, ""
    # none from before is to stay beside a page that says there is none
    for name in ("roc.png", "triplets.png"):
        (output / name).unlink(missing_ok=True)
    with live_line("drawing"):
        try:
            from . import figures as lfw_figures

            figures["curves"] = lfw_figures.draw_curves(result, output)
            figures["triplets"], without = _triplets(lfw_figures, output, result, data, pictures)
        except MissingExtraError as error:
            say(f"no figures: {error}")
            without = str(error)
        write_files(output, result, settings, command)
        blocks = page_blocks(result, figures, without, settings, command)
        return write_page(output, TITLE, blocks)[-1]


def _triplets(lfw_figures, output, result, data, pictures):
    """The figure of triplets, and why there is none."""
    cells = done(result.folds.get((FROB.name, MAIN), []))
    if not pictures:
        return [], NOT_WANTED
    if not cells:
        return [], "no fold is finished"
    try:
        faces = load_face_pictures("lfw", folder=data)
    except (OSError, ValueError) as error:
        return [], str(error)
    return lfw_figures.draw_triplets(cells[0].detail["examples"], faces, output), ""


def _report(page, result, command):
    cells = result.cells
    if result.reason:
        say(f"warning: the faces were left out: {result.reason}")
    if result.interrupted:
        say(f"interrupted; what is finished was kept. To go on: {command}")
    data = {
        "page": str(page),
        "command": command,
        "cells": [short(cell, DETAILS) for cell in cells],
        "left_out": {"lfw": result.reason} if result.reason else {},
    }
    text = f"{page}: {len(done(cells))} of {len(cells)} results are there"
    return Report(_code(result, cells), text, data)


def _code(result, cells):
    if result.interrupted:
        return ExitCode.INTERRUPTED
    if not done(cells):
        return ExitCode.BAD_DATA
    own = [cell for cell in cells if cell.task.method == FROB.name and cell.is_done]
    return ExitCode.CERTIFIED if all(map(_is_certified, own)) else ExitCode.NOT_CERTIFIED


def _is_certified(cell):
    return cell.detail.get("status") == "optimal"
