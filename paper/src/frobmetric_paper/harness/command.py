"""Course of a `frobmetric reproduce` command: run an experiment, write its page, report.

An experiment is an object with

* `name`, `template` (path of its page.md), `cell_type`, `figures` (its file names) and `quick`;
* `merges`: whether the results that are not chosen can be taken from results.json;
* `conduct(runner, **choices)` -> results, which runs what is chosen and not stored yet;
* `load(dict)` -> results, from results.json.

Its results are a `task.Results`.
"""

from __future__ import annotations

import csv
import io
import json
import shlex

from frobmetric.app.cli.terminal import ExitCode, Report, live_line, say
from frobmetric.runtime.environment import MissingExtraError

from . import formatting
from .page import SMALL, colophon, fill, links, write_files, write_page
from .run import ProgressListener, Runner
from .task import Store, done

#: Fields of a cell that are too long for one line of JSON.
DETAILS = ("detail", "machine", "rules", "tries")


def reproduce(
    experiment, output, *, limit, threads, options, page_only=False, resume=False, **choices
):
    """Run an experiment and write its page to a folder; Ctrl-C writes what is finished.

    `limit` is in seconds for each fit; `options` are those of the command that makes the same page
    again, beside output, limit and threads; `choices` are arguments of the experiment's `conduct`.
    With `page_only` nothing is run; with `resume` nothing that results.json has. Return a Report.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ValueError(f"{output} is not a folder; give --output another name") from None
    if page_only:
        record, results = read_results(experiment, output)
        _draw(results, output)
        page = write_page(output, page_text(experiment, results, record, output))
        return Report(ExitCode.CERTIFIED, f"{page}: written from results.json", {"page": str(page)})
    with live_line("looking for finished results") as show:
        store = Store(output / "cells", experiment.cell_type)
        before, previous = _previous(experiment, output)
        more = {"previous": previous, "resumes": resume}
        runner = Runner(store, limit, threads, TerminalListener(show), **more)
        results = experiment.conduct(runner, **choices)
    budget = {"budget": choices["budget"]} if "budget" in choices else {}
    options |= {"resume": resume, "limit": limit} | budget | {"threads": threads}
    record = _record(experiment, results, output, options, before)
    with live_line("drawing"):
        for file in set(experiment.figures) - set(results.kept_figures):
            (output / file).unlink(missing_ok=True)
        _draw(results, output)
        _write_results(output, record | results.to_dict(), results.rows())
        page = write_page(output, page_text(experiment, results, record, output))
    return _report(page, results, runner.interrupted, record["command"])


class TerminalListener(ProgressListener):
    """Progress listener that says what has ended, and shows on a terminal what is running."""

    def __init__(self, show):
        self.show = show

    def begin(self, task, label, n_done, n_cells):
        if self.show:
            self.show(f"{task.where}: {label}   {n_done} of {n_cells}")

    def end(self, cell):
        remark = f"   ({cell.remark})" if cell.remark and cell.outcome != "limit" else ""
        text = cell.summary if cell.is_done else formatting.outcome(cell)
        say(f"{cell.task.where}: {cell.label}   {text}{remark}")


def read_results(experiment, folder):
    """Return the record and the results of an experiment from results.json."""
    path = folder / "results.json"
    if not path.is_file():
        raise ValueError(f"{path} does not exist; run the command without --page-only first")
    data = json.loads(path.read_text(encoding="utf-8"))
    return data, experiment.load(data)


def _previous(experiment, folder):
    """Return record and results of the page that is written again; {} and None if not of use.

    A page of the small version is no part of a whole one.
    """
    if not experiment.merges or not (folder / "results.json").is_file():
        return {}, None
    record, results = read_results(experiment, folder)
    return (record, results) if record["is_small"] == experiment.quick else ({}, None)


def page_text(experiment, results, record, folder):
    """Return the page in Markdown."""
    blocks = results.blocks(folder) | {
        "small": SMALL if record["is_small"] else "",
        "links": links(folder, experiment.name),
        "colophon": colophon(
            [*record.get("earlier", []), record["command"]], record["settings"], record["machines"]
        ),
    }
    return fill(experiment.template.read_text(encoding="utf-8"), blocks, folder)


def command_line(name, output, options):
    """Return the command that makes a page again, without options that are None, False or empty."""
    words = ["frobmetric", "reproduce", name, "-o", output]
    for option, value in options.items():
        if isinstance(value, list):
            words += [word for each in value for word in (f"--{option}", each)]
        elif value is True:
            words += [f"--{option}"]
        elif value:
            words += [f"--{option}", f"{value:g}" if isinstance(value, float) else value]
    return shlex.join(map(str, words))


def _write_results(folder, data, rows):
    """Write results.json, and table.csv if there are rows."""
    contents = {"results.json": json.dumps(data, indent=1, allow_nan=False)}
    if rows:
        text = io.StringIO()
        writer = csv.DictWriter(text, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        contents["table.csv"] = text.getvalue()
    write_files(folder, contents)


def _record(experiment, results, output, options, before):
    """Return the entries of results.json that describe the run; `before` are those it had."""
    settings = {"limit": f"{options['limit']:g} s for each fit", "threads": str(options["threads"])}
    if "budget" in options:
        settings["budget"] = f"{options['budget']:g} s for each method on each data set"
    machines = {", ".join(map(": ".join, cell.machine.items())) for cell in results.cells}
    command = command_line(experiment.name, output, options)
    known = [*before.get("earlier", []), before["command"]] if before and "" in machines else []
    return {
        "experiment": experiment.name,
        "command": command,
        "earlier": [each for each in dict.fromkeys(known) if each != command],
        "settings": settings,
        "is_small": experiment.quick,
        "machines": sorted(
            {f"{machine}." for machine in machines if machine}
            | set(before["machines"] if known else ())
        ),
    }


def _draw(results, output):
    try:
        results.draw(output)
    except MissingExtraError as error:
        say(f"no figures: {error}")


def _report(page, results, interrupted, command):
    for name, reason in results.left_out.items():
        say(f"warning: {name} was left out: {reason}")
    if interrupted:
        say(f"interrupted; what is finished was kept. To continue: {command}")
    cells = [cell.to_dict((*DETAILS, *cell.unsaved)) for cell in results.cells]
    data = {"page": str(page), "command": command, "cells": cells, "left_out": results.left_out}
    text = f"{page}: {len(done(results.cells))} of {len(cells)} results are there"
    return Report(_exit_code(results, interrupted), text, data)


def _exit_code(results, interrupted):
    if interrupted:
        return ExitCode.INTERRUPTED
    if not results.has_answer:
        return ExitCode.BAD_DATA
    finished = [cell for cell in results.own_cells if cell.outcome != "skipped"]
    is_certified = all(cell.is_certified for cell in finished)
    return ExitCode.CERTIFIED if is_certified else ExitCode.NOT_CERTIFIED
