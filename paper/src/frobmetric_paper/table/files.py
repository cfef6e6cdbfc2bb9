"""table.csv and results.json of a table: what the page shows, for programs."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict

from frobmetric._atomic import replacing

from .view import BASES

#: What of a cell is too long for results.json.
LONG = ("wrong",)
#: What of a cell is too long for one line of JSON.
DETAILS = (*LONG, "tries", "detail", "machine", "rules")


def write_files(folder, view, settings, command):
    """Write both files; their paths."""
    contents = {
        "table.csv": as_csv(rows(view)),
        "results.json": json.dumps(_everything(view, settings, command), indent=1, allow_nan=False),
    }
    for name, content in contents.items():
        with replacing(folder / name) as file:
            file.write(content.encode())
    return [folder / name for name in contents]


def rows(view):
    """A dictionary for each data set and method; errors in percent, times in seconds."""
    return [_row(view, result, method) for result in view.done for method in view.methods]


def short(cell, leave_out=DETAILS):
    """A cell as a dictionary, without what is long."""
    return {name: value for name, value in asdict(cell).items() if name not in leave_out}


def _row(view, result, method):
    found = view.summary(result, method)
    paper = view.published(result, method)
    theirs = paper.error if paper else None
    known = None not in (found.error, theirs)
    return {
        "set": result.column.name,
        "method": method.name,
        "outcome": found.outcome,
        "error": found.error,
        "std": found.std,
        "runs": found.runs,
        "paper_error": theirs,
        "paper_std": paper.std if paper else None,
        "difference": found.error - theirs if known else None,
        "is_far": view.is_far(result, method),
        "validation_error": found.validation,
        "best_rule": found.best_rule,
        "best_rule_error": found.best_rule_error,
        "recall_at_10_before": found.recall_before,
        "recall_at_10": found.recall,
        "ari_before": found.ari_before,
        "ari": found.ari,
        "seconds": found.seconds,
        "total_seconds": found.total_seconds,
        "paper_seconds": paper.seconds if paper else None,
        "remark": found.remark,
    }


def as_csv(found):
    text = io.StringIO()
    if found:
        writer = csv.DictWriter(text, found[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)
    return text.getvalue()


def _everything(view, settings, command):
    return {
        "table": view.spec.name,
        "command": command,
        "settings": settings,
        "is_small": view.spec.quick,
        "sets": [_set(result) for result in view.results],
        "rows": rows(view),
        "compared": [
            {"set": result.column.name, "method": method.name, "with": base, **asdict(found)}
            for result in view.done
            for base in BASES
            for method in view.methods
            if method.name != base and (found := view.compared(result, method, base))
        ],
        "cells": [short(cell, LONG) for result in view.done for cell in result.cells],
    }


def _set(result):
    column = result.column
    return {
        "name": column.name,
        "label": column.label,
        "note": column.note,
        "runs": column.n_runs,
        "sizes": result.sizes,
        "left_out": result.reason,
    }
