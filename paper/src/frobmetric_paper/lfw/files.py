"""table.csv and results.json of `frobmetric reproduce lfw`: what the page shows, for programs."""

from __future__ import annotations

import json
from dataclasses import asdict

from frobmetric._atomic import replacing

from ..table.files import as_csv, short
from . import paper as lfw_paper
from .methods import FROB
from .summary import RATES, curve, done, largest_gap, mean, mean_seconds

#: What of a rule of a cell is too long for a file that is looked at.
LONG = ("scores",)
#: What of a cell is too long for one line of JSON.
DETAILS = ("same", "detail", "machine", "rules")


def write_files(folder, result, settings, command):
    """Write both files; their paths."""
    contents = {
        "table.csv": as_csv(list(rows(result))),
        "results.json": json.dumps(
            _everything(result, settings, command), indent=1, allow_nan=False
        ),
    }
    for name, content in contents.items():
        with replacing(folder / name) as file:
            file.write(content.encode())
    return [folder / name for name in contents]


def rows(result):
    """A dictionary for each rule of each method, and of each place of the table."""
    for (name, variant), cells in result.folds.items():
        yield from _rows(cells, {"part": "folds", "method": name, "variant": variant})
    for (count, dimensions), cells in result.table.items():
        paper = lfw_paper.ACCURACY.get((count, dimensions), (None, None))
        more = {
            "paper_accuracy": paper[0],
            "paper_std": paper[1],
            "paper_seconds": lfw_paper.SECONDS.get((count, dimensions)),
        }
        place = {"n_triplets": count, "dimensions": dimensions}
        yield from _rows(cells, {"part": "table", "method": FROB.name} | place, more)


def _rows(cells, where, paper=None):
    """A row for each rule; those of the table have the same columns as the others."""
    columns = dict.fromkeys(("part", "method", "variant", "dimensions", "n_triplets"))
    if done(cells):
        first = done(cells)[0]
        recipe = json.loads(first.task.recipe)
        columns |= {
            "variant": first.task.variant,
            "dimensions": recipe["n_dimensions"],
            "n_triplets": first.detail.get("n_triplets"),
        }
        for rule in first.rules:
            found = mean(cells, rule)
            yield (
                columns
                | where
                | {
                    "rule": rule,
                    "folds": found.folds,
                    "accuracy": found.accuracy,
                    "std": found.std,
                    "standard_error": found.error,
                    "area": found.area,
                    "seconds": mean_seconds(cells),
                    "relative_gap": largest_gap(cells),
                }
                | dict.fromkeys(("paper_accuracy", "paper_std", "paper_seconds"))
                | (paper or {})
            )


def _everything(result, settings, command):
    return {
        "experiment": "lfw",
        "command": command,
        "settings": settings,
        "is_small": result.plan.quick,
        "left_out": result.reason,
        "sizes": result.sizes,
        "choices": [_choice(*item) for item in result.choices.items()],
        "rows": list(rows(result)),
        "curves": list(_curves(result)),
        "cells": [_without_scores(cell) for cell in result.cells],
    }


def _choice(key, choice):
    name, variant = key
    found = {"method": name, "variant": variant, "is_complete": choice.is_complete}
    if choice.best is None:
        return found | {"outcome": choice.tries[0].outcome, "remark": choice.tries[0].remark}
    return found | {
        "recipe": asdict(choice.setup.recipe),
        "parameters": dict(choice.setup.parameters),
        "rule": choice.rule,
        "n_neighbors": choice.n_neighbors,
        "accuracy": {rule: choice.best.both(rule) for rule in choice.best.rules},
    }


def _curves(result):
    """The mean ROC of each rule of each method."""
    for (name, variant), cells in result.folds.items():
        for rule in done(cells)[0].rules if done(cells) else ():
            yield {
                "method": name,
                "variant": variant,
                "rule": rule,
                "false_positive_rate": RATES.round(5).tolist(),
                "true_positive_rate": curve(cells, rule).round(5).tolist(),
            }


def _without_scores(cell):
    rules = {
        name: {key: value for key, value in found.items() if key not in LONG}
        for name, found in cell.rules.items()
    }
    return short(cell, ("same", "machine")) | {"rules": rules}
