"""The page of a table of methods and data sets: our numbers beside the paper's."""

from __future__ import annotations

from ..harness.page import Code, Figure, Heading, Paragraph, Table
from .measures import MAIN, RULES
from .view import BASES
from .words import MARK, NOTHING, change, difference, error, parameters, percent, runs, seconds

SMALL = (
    "This is the small version, for a look at whether all works: few samples, and no parameter is "
    "chosen. No number of it is to be compared with the paper's."
)
MARKED = (
    f"{MARK}: the mean differs from the paper's by more than two standard deviations, the larger "
    "of both; where there is a single run, that of a binomial distribution over the test samples."
)
COMPARED = (
    "Mean difference of the test error, method minus {base}, in points of percent with a 95 % "
    "interval, on the same runs; * where the interval leaves zero out. Over runs it is Student's t "
    "interval of the differences by run, widened for splits that share samples (Nadeau and Bengio, "
    "2003); of a single run it is the normal interval of the paired differences by test sample."
)
MEASURED = (
    "Recall@10 is the share of test samples with one of their class among their 10 nearest in the "
    "training part; ARI the adjusted Rand index of k-means on the test part with as many clusters "
    "as there are classes. Both are given first for the features without a metric, then with it. "
    "Parameters are those chosen most often, in so many runs. Times are those of learning alone."
)
UNEXPLAINED = "No cause is known."


def page_blocks(view, figures, settings, command, more=()):
    """All that the page holds below its title.

    Parameters
    ----------
    view : View
    figures : list of (file name, caption)
    settings : dict of str
        What to say of the run: limit, budget, threads.
    command : str
        What makes this page again.
    more : iterable of blocks
        What the page has beside its table.

    Returns
    -------
    list of blocks of `reproduce_page`
    """
    texts = [*([SMALL] if view.spec.quick else []), *view.spec.introduction]
    blocks = [Paragraph(text) for text in texts]
    if view.done:
        blocks += [
            *_data(view),
            *_errors(view),
            *(Figure(*each) for each in figures),
            *_explanations(view),
            *_comparisons(view),
            *_times(view),
            *_sets(view),
        ]
    return [*blocks, *_left_out(view), *more, *_colophon(view, settings, command)]


def _data(view):
    labels = [result.column.label for result in view.done]
    names = list(view.done[0].sizes)
    rows = [[name, *(f"{result.sizes[name]:,}" for result in view.done)] for name in names]
    rows += [["triplets", *map(_triplets, view.done)]]
    rows += [["runs", *(str(result.column.n_runs) for result in view.done)]]
    yield Table(["", *labels], rows, "The data: numbers of samples, features and classes.")


def _triplets(result):
    found = [cell.n_triplets for cell in result.cells if cell.n_triplets]
    return f"{found[0]:,}" if found else NOTHING


def _errors(view):
    yield Heading(f"Test errors by {MAIN}")
    rows = []
    for method in view.methods:
        rows.append(
            [
                method.label,
                *(
                    error(view.summary(result, method), view.is_far(result, method))
                    for result in view.done
                ),
            ]
        )
        paper = [view.published(result, method) for result in view.done]
        if any(paper):
            rows.append(
                [
                    "… the paper's",
                    *(percent(each.error, each.std) if each else NOTHING for each in paper),
                ]
            )
    header = ["method", *(result.column.label for result in view.done)]
    yield Table(header, rows, "Percent; the standard deviation over runs in brackets.")
    if view.spec.paper:
        yield Paragraph(MARKED)


def _explanations(view):
    if not view.spec.paper:
        return
    yield Heading("Differences from the paper")
    rows = [
        [
            f"{method.label} on {result.column.label}",
            percent(view.summary(result, method).error, view.summary(result, method).std),
            percent(view.published(result, method).error, view.published(result, method).std),
            view.spec.explain(method.name, result.column.name) or UNEXPLAINED,
        ]
        for result in view.done
        for method in view.methods
        if view.is_far(result, method)
    ]
    if not rows:
        yield Paragraph("No error is that far from the paper's.")
        return
    header = ["where", "ours", "paper's", "explanation"]
    yield Table(header, rows, f"Every error with a {MARK}.", texts=("explanation",))


def _comparisons(view):
    labels = {method.name: method.label for method in view.methods}
    header = ["method", *(result.column.label for result in view.done)]
    for base in (name for name in BASES if name in labels):
        rows = [
            [
                method.label,
                *(difference(view.compared(result, method, base)) for result in view.done),
            ]
            for method in view.methods
            if method.name != base
        ]
        if any(set(row[1:]) != {NOTHING} for row in rows):
            yield Heading(f"Compared with {labels[base]}")
            yield Table(header, rows, COMPARED.format(base=labels[base]))


def _times(view):
    yield Heading("Time")
    rows = []
    for method in view.methods:
        found = [view.summary(result, method).seconds for result in view.done]
        paper = [view.published(result, method) for result in view.done]
        rows.append([method.label, *map(seconds, found)])
        if any(each and each.seconds for each in paper):
            rows.append(
                [
                    "… the paper's",
                    *(seconds(each.seconds, each.is_bound) if each else NOTHING for each in paper),
                ]
            )
    header = ["method", *(result.column.label for result in view.done)]
    yield Table(header, rows, "Mean time of the fit with the chosen parameters.")
    yield Paragraph(_share_of_ours(view))


def _share_of_ours(view):
    """Of the time of all fits, searches included."""
    spent = {
        method.name: sum(view.summary(result, method).total_seconds for result in view.done)
        for method in view.methods
    }
    whole = sum(spent.values())
    ours = [
        f"{method.label} {seconds(spent[method.name])} ({spent[method.name] / whole:.1%})"
        for method in view.methods
        if method.name in BASES and whole
    ]
    told = f"; of these {' and '.join(ours)}" if ours else ""
    return f"All fits of all runs, searches included, took {seconds(whole)}{told}."


def _sets(view):
    yield Heading("Each data set")
    yield Paragraph(MEASURED)
    if len(RULES) > 1:
        yield Paragraph(f"The best rule is chosen on the validation part, of: {', '.join(RULES)}.")
    for result in view.done:
        yield Heading(result.column.label, 3)
        yield Paragraph(result.column.note)
        yield _set_table(view, result)


def _set_table(view, result):
    header = [
        "method",
        "runs",
        "validation error",
        "test error",
        "best rule",
        "recall@10",
        "ARI",
        "parameters",
        "all fits",
        "remark",
    ]
    rows = [_set_row(view.summary(result, method), method) for method in view.methods]
    return Table(header, rows, texts=("best rule", "parameters", "remark"))


def _set_row(found, method):
    chosen = parameters(found.parameters)
    often = f" ({found.parameters_runs} of {found.runs})" if chosen != NOTHING else ""
    return [
        method.label,
        runs(found),
        percent(found.validation),
        error(found),
        _best_rule(found),
        change(found.recall_before, found.recall),
        change(found.ari_before, found.ari),
        f"{chosen}{often}",
        seconds(found.total_seconds or None),
        found.remark,
    ]


def _best_rule(found):
    return f"{found.best_rule}: {percent(found.best_rule_error)}" if found.best_rule else NOTHING


def _left_out(view):
    for result in view.results:
        if result.reason:
            yield Heading(result.column.label, 3)
            yield Paragraph(f"Left out: {result.reason}")


def _colophon(view, settings, command):
    machines = {
        _one_line(cell.machine) for result in view.done for cell in result.cells if cell.machine
    }
    yield Heading("How this was made")
    yield Code(command)
    yield Paragraph(_one_line(settings))
    yield from (Paragraph(machine) for machine in sorted(machines))


def _one_line(values):
    return ", ".join(f"{name}: {value}" for name, value in values.items()) + "."
