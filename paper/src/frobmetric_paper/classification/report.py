"""Cells of a table of methods × data sets as summaries, tables for the page, and figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import product
from math import isclose
from pathlib import Path

import numpy as np

from frobmetric.plotting.style import COLOURS, lighten

from ..harness import formatting
from ..harness.formatting import NOTHING, percent, seconds
from ..harness.page import Markdown, bold, details, escape, fill, panels, table
from ..harness.summary import (
    Difference,
    Mean,
    binomial_std,
    independent_difference,
    mean_of_known,
    paired_difference,
)
from ..harness.task import Results, done
from .findings import findings

#: Ours, with which the other methods are compared.
BASES = ("frob_tuned", "frob")
#: Number of standard deviations beyond which a difference from the paper is marked.
LARGE = 2.0
MARK = "†"
#: Mark of an error over fewer runs than were asked for.
FEWER = "‡"
#: Fields of a Summary that table.csv leaves out.
NOT_IN_CSV = ("asked", "parameters", "parameters_runs")
TEMPLATE = Path(__file__).with_name("table.md")
#: Sentence on cells with two numbers.
BESIDE = "Where a cell has two numbers, the first is ours and the second the paper's."
#: Ends of captions that speak of the paper's numbers.
HOLLOW = {
    "hollow_errors": " The paper's errors are hollow.",
    "hollow_times": " The paper's times are hollow; a triangle to the left means less than that.",
}


# Numbers


@dataclass(frozen=True)
class Summary:
    """A method on a data set, over its finished runs; errors are in percent."""

    runs: int  # number of finished runs
    asked: int  # number of all runs
    outcome: str = "done"  # outcome of the first cell without an answer, if there is one
    remark: str = ""  # remark of the same cell, else the first remark of a run
    total_seconds: float = 0.0  # time of all fits of all runs, searches included
    error: float | None = None  # mean test error
    std: float | None = None  # its standard deviation over runs; None below two
    validation_error: float | None = None
    best_rule: str = ""  # the rule chosen most often on validation parts
    best_rule_error: float | None = None  # mean test error, each run by the rule chosen in it
    recall_at_10: float | None = None  # mean with the map, as is `ari`
    ari: float | None = None
    recall_at_10_before: float | None = None  # mean without the map, as is `ari_before`
    ari_before: float | None = None
    seconds: float | None = None  # mean time of the measured fits
    parameters: dict | None = None  # the parameters chosen most often, in `parameters_runs` runs
    parameters_runs: int = 0

    @classmethod
    def of(cls, cells):
        """Return the Summary of the cells of a method on a data set."""
        finished, ended = done(cells), [cell for cell in cells if not cell.is_done]
        remarks = [cell.remark for cell in finished if cell.remark] or [""]
        return cls(
            runs=len(finished),
            asked=len(cells),
            outcome=ended[0].outcome if ended else "done",
            remark=ended[0].remark if ended else remarks[0],
            total_seconds=sum(cell.total_seconds for cell in cells),
            **(_numbers(finished) if finished else {}),
        )

    @property
    def is_whole(self):
        """Return whether all runs are finished."""
        return 0 < self.runs == self.asked

    def spread(self, n_test):
        """Return the standard deviation; of a single run that of a binomial distribution."""
        return binomial_std(self.error, n_test) if self.std is None else self.std


def _numbers(cells):
    mean = Mean.of([100 * cell.test_error for cell in cells])
    chosen, runs = Counter(tuple(cell.parameters.items()) for cell in cells).most_common(1)[0]
    by_rule = [100 * cell.best_rule_error for cell in cells if cell.best_rule]
    numbers = {
        "error": mean.mean,
        "std": mean.std,
        "validation_error": 100 * mean_of_known([cell.validation_error for cell in cells]),
        "best_rule": Counter(cell.best_rule for cell in cells).most_common(1)[0][0],
        "best_rule_error": mean_of_known(by_rule),
        "seconds": mean_of_known([cell.seconds for cell in cells]),
        "parameters": dict(chosen),
        "parameters_runs": runs,
    }
    for name in ("recall_at_10", "ari"):
        numbers[name] = mean_of_known([cell.measures.get(name) for cell in cells])
        numbers[f"{name}_before"] = mean_of_known([cell.before.get(name) for cell in cells])
    return numbers


def is_far(summary, published, n_test):
    """Return whether an error is more than two standard deviations from the paper's.

    The larger of both counts; of a single run it is that of a binomial distribution.
    """
    if summary.error is None or published is None or published.error is None:
        return False
    std = published.std
    theirs = binomial_std(published.error, n_test) if std is None else std
    return abs(summary.error - published.error) > LARGE * max(summary.spread(n_test), theirs)


def compare(cells, base, n_test):
    """Return the Difference of the errors of two methods on the runs that both finished.

    Over two runs or more it is of the errors by run, over one of the decisions by test sample, or
    of two binomial distributions where decisions are not stored. It is None without a common run,
    and positive where `cells` err more often.
    """
    other = {_key(cell): cell for cell in done(base)}
    pairs = [(cell, other[_key(cell)]) for cell in done(cells) if _key(cell) in other]
    if not pairs:
        return None
    if len(pairs) > 1:
        first = pairs[0][0]
        errors = [100 * (mine.test_error - theirs.test_error) for mine, theirs in pairs]
        return paired_difference(errors, n_test / first.task.n)
    if not all(cell.wrong for cell in pairs[0]):
        return independent_difference(*(100 * cell.test_error for cell in pairs[0]), n_test)
    mine, theirs = (np.array(list(cell.wrong)) == "1" for cell in pairs[0])
    return paired_difference(100.0 * (mine.astype(int) - theirs))


def _key(cell):
    return cell.task.run, cell.task.data


# Results


@dataclass(frozen=True)
class TableResults(Results):
    """Results of a table beside the paper's numbers."""

    experiment: object
    columns: list  # in the order of the page
    methods: list  # the rows
    # "compared" of results.json: for single runs, whose decisions are not stored
    stored_differences: Sequence[dict] = ()

    @property
    def filled(self):
        """Columns that have cells."""
        return [result for result in self.columns if not result.reason]

    @property
    def left_out(self):
        return {each.column.name: each.reason for each in self.columns if each.reason}

    @property
    def cells(self):
        shown = {method.name for method in self.methods}
        return [c for result in self.filled for c in result.cells if c.task.method in shown]

    @cached_property
    def _summaries(self):
        return {
            (result.column.name, method.name): Summary.of(result.of(method.name))
            for result in self.filled
            for method in self.methods
        }

    def summary(self, result, method):
        return self._summaries[result.column.name, method.name]

    def published(self, result, method):
        return self.experiment.published(method, result.column.name)

    def is_far(self, result, method):
        """Return whether an error is far from the paper's; never in the small version."""
        return self.differs(result, self.summary(result, method), self.published(result, method))

    def differs(self, result, summary, paper):
        return not self.experiment.quick and is_far(summary, paper, result.sizes["test"])

    @cached_property
    def differences(self):
        """Difference by (column, method, base)."""
        found = {}
        for result, base, method in product(self.filled, BASES, self.methods):
            n_test, key = result.sizes["test"], (result.column.name, method.name, base)
            difference = compare(result.of(method.name), result.of(base), n_test)
            if difference and method.name != base:
                found[key] = self._paired(key, difference)
        return found

    def _paired(self, key, difference):
        """Return the stored Difference in place of one of single runs with the same errors."""
        known = self._stored.get(key)
        is_same = known and isclose(known.mean, difference.mean, rel_tol=1e-9, abs_tol=1e-9)
        return known if difference.over == "samples" and is_same else difference

    @cached_property
    def _stored(self):
        names = ("mean", "low", "high", "n", "over")
        return {
            (each["set"], each["method"], each["with"]): Difference(*(each[n] for n in names))
            for each in self.stored_differences
        }

    @cached_property
    def best(self):
        """(column, method) of the fewest errors of a column, and of those as good as it.

        These are within one standard deviation, and the difference may be chance. Only methods that
        finished all runs count.
        """
        found = set()
        for result in self.filled:
            whole = {
                method.name: summary
                for method in self.methods
                if (summary := self.summary(result, method)).is_whole
            }
            first = min(whole, key=lambda name: whole[name].error, default=None)
            for name, summary in whole.items():
                reach = whole[first].error + whole[first].spread(result.sizes["test"])
                if summary.error <= reach and not self._errs_more(result, name, first):
                    found.add((result.column.name, name))
        return found

    def _errs_more(self, result, method, other):
        """Return whether a method errs more often than another one beyond chance."""
        column, n_test = result.column.name, result.sizes["test"]
        if difference := self.differences.get((column, other, method)):
            return difference.high < 0
        known = self.differences.get((column, method, other))
        return (known or compare(result.of(method), result.of(other), n_test)).low > 0

    # Files

    def rows(self):
        """Return a dictionary for each data set and method; errors in percent."""
        return [self._row(result, method) for result in self.filled for method in self.methods]

    def _row(self, result, method):
        ours, paper = self.summary(result, method), self.published(result, method)
        theirs = {name: getattr(paper, name, None) for name in ("error", "std", "seconds")}
        is_known = None not in (ours.error, theirs["error"])
        numbers = {name: value for name, value in asdict(ours).items() if name not in NOT_IN_CSV}
        return {
            "set": result.column.name,
            "method": method.name,
            **numbers,
            **{f"paper_{name}": value for name, value in theirs.items()},
            "difference": ours.error - theirs["error"] if is_known else None,
            "is_far": self.is_far(result, method),
        }

    def to_dict(self):
        """Return the entries of results.json, with the cells of methods that are not shown."""
        sets = [
            {
                "name": result.column.name,
                "label": result.column.label,
                "runs": result.column.n_runs,
                "sizes": result.sizes,
                "left_out": result.reason,
            }
            for result in self.columns
        ]
        compared = [
            {"set": column, "method": method, "with": base, **asdict(difference)}
            for (column, method, base), difference in self.differences.items()
        ]
        cells = [c.to_dict(c.unsaved) for result in self.filled for c in result.cells]
        return {"sets": sets, "rows": self.rows(), "compared": compared, "cells": cells}

    # Page

    def blocks(self, folder):
        """Return the placeholders of the page: the common part, and a table for each data set."""
        sets = {f"set_{column.name}": "" for column in self.experiment.columns}
        for result in self.columns:
            left_out = result.reason and escape(f"Left out: {result.reason}")
            sets[f"set_{result.column.name}"] = left_out or self._set_table(result)
        texts = fill(TEMPLATE.read_text("utf-8"), self._common(), folder).strip()
        return sets | {"table": texts, "findings": "" if self.experiment.quick else findings(self)}

    @property
    def has_paper(self):
        """Return whether the paper's numbers are shown: not beside those of the small version."""
        return bool(self.experiment.paper) and not self.experiment.quick

    def shown_paper(self, result, method):
        return self.published(result, method) if self.has_paper else None

    def _common(self):
        names = ("data", "errors", "times", "total", "far", "mark", "beside", "limits")
        texts = dict.fromkeys((*names, "hollow_errors", "hollow_times"), "")
        texts |= {f"compared_{base}": self._compared_table(base) for base in BASES}
        if self.filled:
            texts |= {"data": self._data_table(), "errors": self._errors_table()}
            texts |= {"times": self._times_table(), "total": self._total_time()}
            texts |= {"limits": formatting.limits(self.cells)}
        if self.filled and self.has_paper:
            texts |= {"mark": MARK, "far": self._far_table(), "beside": BESIDE} | HOLLOW
        return texts

    def _table(self, rows, first="method", **more):
        return table([first, *(result.column.label for result in self.filled)], rows, **more)

    def _data_table(self):
        sizes = [result.sizes for result in self.filled]
        rows = [[name, *(f"{each[name]:,}" for each in sizes)] for name in sizes[0]]
        counts = [[c.n_triplets for c in result.cells if c.n_triplets] for result in self.filled]
        rows += [["triplets", *(f"{each[0]:,}" if each else NOTHING for each in counts)]]
        rows += [["runs", *(str(result.column.n_runs) for result in self.filled)]]
        return self._table(rows, "")

    def _with_paper(self, ours, theirs):
        """Return a row for each method; in a cell the paper's number stands behind ours."""

        def cell(result, method):
            paper = self.shown_paper(result, method)
            behind = escape(theirs(paper)) if paper else NOTHING
            texts = [ours(result, method), *([behind] if behind != NOTHING else [])]
            return Markdown(" / ".join(texts))

        rows = [[m.label, *(cell(result, m) for result in self.filled)] for m in self.methods]
        return self._table(rows)

    def _errors_table(self):
        def ours(result, method):
            summary, name = self.summary(result, method), (result.column.name, method.name)
            text = bold(_error(summary)) if name in self.best else escape(_error(summary))
            marks = MARK * self.is_far(result, method)
            marks += FEWER * (summary.error is not None and not summary.is_whole)
            return f"{text} {marks}".strip()

        return self._with_paper(ours, lambda paper: percent(paper.error))

    def _times_table(self):
        return self._with_paper(
            lambda result, method: escape(seconds(self.summary(result, method).seconds)),
            lambda paper: seconds(paper.seconds, paper.is_bound),
        )

    def _total_time(self):
        """Return the time of all fits as text, and the share of ours in it."""
        spent = {
            method.label: sum(self.summary(each, method).total_seconds for each in self.filled)
            for method in self.methods
        }
        whole = sum(spent.values())
        ours = [method.label for method in self.methods if method.name in BASES and whole]
        shares = [f"{name} {seconds(spent[name])} ({spent[name] / whole:.1%})" for name in ours]
        return seconds(whole) + (f"; of these {' and '.join(shares)}" if shares else "")

    def _far_table(self):
        rows = []
        for result in self.filled:
            for method in (each for each in self.methods if self.is_far(result, each)):
                ours, paper = self.summary(result, method), self.published(result, method)
                cause = self.experiment.explain(method.name, result.column.name)
                where = f"{method.label} on {result.column.label}"
                numbers = percent(ours.error, ours.std), percent(paper.error, paper.std)
                rows.append([where, *numbers, cause or "No cause is known."])
        if not rows:
            return "No error is that far from the paper's."
        return table(["where", "ours", "paper's", "explanation"], rows, texts=("explanation",))

    def _compared_table(self, base):
        if base not in (method.name for method in self.methods):
            return ""
        rows = []
        for method in (each for each in self.methods if each.name != base):
            keys = [(result.column.name, method.name, base) for result in self.filled]
            texts = [formatting.difference(self.differences.get(key)) for key in keys]
            rows.append([method.label, *texts])
        is_empty = all(set(row[1:]) == {NOTHING} for row in rows)
        return "" if is_empty else details("Differences and intervals", self._table(rows))

    def _set_table(self, result):
        header = ["method", "runs", "validation error", "test error", "best rule", "recall@10"]
        header += ["ARI", "all fits", "limit of a fit", "parameters", "remark"]
        rows = []
        for method in self.methods:
            summary, cells = self.summary(result, method), result.of(method.name)
            rows.append([method.label, *_set_row(summary, formatting.limits(cells))])
        texts = table(header, rows, texts=("parameters", "remark"))
        return details(f"{result.column.label}: runs, limits, parameters, other measures", texts)

    # Figures

    def draw(self, folder):
        """Draw the errors and the times beside the paper's."""
        if not done(self.cells):
            return
        for file, plot in FIGURES.items():
            _panels(self, plot).savefig(folder / file)


def _error(summary):
    if summary.error is None:
        return formatting.outcome(summary)
    return percent(summary.error, summary.std)


def _set_row(summary, limits):
    chosen = formatting.parameters(summary.parameters)
    often = f" ({summary.parameters_runs} of {summary.runs})" if chosen != NOTHING else ""
    rule = f"{summary.best_rule}: {percent(summary.best_rule_error)}"
    row = [formatting.count(summary.runs, summary.asked), percent(summary.validation_error)]
    row += [_error(summary), rule if summary.best_rule else NOTHING]
    row += [formatting.change(summary.recall_at_10_before, summary.recall_at_10)]
    row += [formatting.change(summary.ari_before, summary.ari)]
    return [
        *row,
        seconds(summary.total_seconds or None),
        limits,
        f"{chosen}{often}",
        summary.remark,
    ]


# Figures

#: Panels side by side, and how far ours is above the line of its method, the paper's below it.
COLUMNS, OFFSET = 4, 0.14
OURS, PAPER = COLOURS[0], COLOURS[5]


def _panels(results, plot):
    """Return a figure with a panel for each data set, in it a line for each method."""
    shown, methods = results.filled, results.methods
    size = 2.6, 0.7 + 0.27 * len(methods)
    drawing, axes = panels(len(shown), COLUMNS, size, margin=(2.2, 0.9), sharey=True)
    for ax, result in zip(axes, shown, strict=True):
        for line, method in enumerate(methods):
            plot(ax, line, results, result, method)
        ax.set_title(result.column.label)
        lighten(ax)
    axes[0].set_yticks(range(len(methods)), [method.label for method in methods])
    axes[0].set_ylim(len(methods) - 0.5, -0.5)
    if results.has_paper:
        axes[0].plot([], [], "o", color=OURS, label="ours")
        axes[0].plot([], [], "o", color=PAPER, fillstyle="none", label="the paper's")
        drawing.legend(loc="outside upper left", ncols=2, frameon=False)
    return drawing


def _plot_error(ax, line, results, result, method):
    ours, paper = results.summary(result, method), results.shown_paper(result, method)
    if ours.error is not None:
        _dot(ax, ours.error, line - OFFSET, ours.spread(result.sizes["test"]), color=OURS)
    if paper and paper.error is not None:
        _dot(ax, paper.error, line + OFFSET, paper.std, color=PAPER, markerfacecolor="white")
    ax.update_datalim([(0, line)])  # the axis begins at zero
    ax.set_xlabel("test error, %")


def _plot_time(ax, line, results, result, method):
    ax.set_xscale("log")
    ours, paper = results.summary(result, method), results.shown_paper(result, method)
    if ours.seconds:
        _dot(ax, ours.seconds, line - OFFSET, color=OURS)
    elif ours.outcome == "limit":
        limit = result.of(method.name)[0].limit
        ax.plot(limit, line - OFFSET, ">", color=OURS, fillstyle="none")
    if paper and paper.seconds:
        style = {"color": PAPER, "markerfacecolor": "white"}
        _dot(ax, paper.seconds, line + OFFSET, marker="<" if paper.is_bound else "o", **style)
    ax.set_xlabel("seconds")


def _dot(ax, x, y, bar=None, **style):
    ax.errorbar(x, y, xerr=bar, **{"marker": "o", "markersize": 5, "elinewidth": 1, **style})


#: File -> what draws a method in a panel; the captions are in table.md.
FIGURES = {"errors.svg": _plot_error, "times.svg": _plot_time}
