"""Findings of a table of methods × data sets, as sentences whose numbers follow from the cells."""

from __future__ import annotations

import json
from itertools import product

from ..harness.formatting import limits, listed, outcome, percent, plural
from ..harness.page import escape
from ..harness.run import n_tries
from ..harness.task import done

#: Ours, by the paper's recipe and with more parameters chosen; and without any argument.
RECIPE, TUNED, DEFAULT = "frob", "frob_tuned", "frob_cv_rule"
EUCLID = "euclid"
#: How the errors of ours differ from others.
KINDS = ("clearly fewer errors", "no clear difference", "clearly more errors")


def findings(results):
    """Return the findings as a list in Markdown; empty without results of ours."""
    shown = {method.name: method for method in results.methods}
    ours = [shown[name] for name in (RECIPE, TUNED) if name in shown]
    sentences = [_against_paper(results, method) for method in ours]
    if ours:
        sentences += [_against_none(results, ours[-1]), _against_others(results, ours[-1])]
    if DEFAULT in shown:
        sentences += [_without_choices(results, shown[DEFAULT])]
    sentences += [_starved(results)]
    return "\n".join(f"- {sentence}" for sentence in sentences if sentence)


def _against_paper(results, method):
    """Compare a row of ours with the paper's row of FrobMetric."""
    recipe = next(each for each in results.methods if each.name == RECIPE)
    groups = {kind: [] for kind in KINDS}
    for result in results.filled:
        ours, paper = results.summary(result, method), results.published(result, recipe)
        if ours.error is None or paper is None:
            continue
        is_clear = results.differs(result, ours, paper)
        groups[_kind(is_clear, ours.error < paper.error)].append(
            _pair(result, ours.error, paper.error)
        )
    return _grouped(
        f"**{method.label}, and the paper's FrobMetric** (ours / the paper's, percent)", groups
    )


def _against_none(results, method):
    """Compare ours with the Euclidean metric by the interval of the difference."""
    groups = {kind: [] for kind in KINDS}
    euclid = next((each for each in results.methods if each.name == EUCLID), None)
    for result in results.filled if euclid else ():
        difference = results.differences.get((result.column.name, EUCLID, method.name))
        if difference is None:
            continue
        kind = _kind(difference.is_clear, difference.mean > 0)
        errors = [results.summary(result, each).error for each in (method, euclid)]
        groups[kind].append(_pair(result, *errors))
    return _grouped(f"**{method.label}, and no learning** (ours / Euclidean, percent)", groups)


def _against_others(results, method):
    """Name the other methods with clearly fewer errors, and count those with more."""
    others = [each for each in results.methods if not each.name.startswith("frob")]
    better, n_worse, n_all = [], 0, 0
    for result in results.filled:
        for other in others:
            difference = results.differences.get((result.column.name, other.name, method.name))
            if difference is None or other.name == EUCLID:
                continue
            n_all += 1
            is_better = difference.is_clear and difference.mean < 0
            n_worse += difference.is_clear and not is_better
            if is_better:
                points = f"by {-difference.mean:.2f} points"
                better.append(f"{other.label} on {result.column.label} ({points})")
    if not n_all:
        return ""
    worse = f"ours has clearly fewer errors in {n_worse} of {plural(n_all, 'comparison')}"
    more = f"clearly more than {listed(better)}" if better else "clearly more in none"
    return f"**{method.label}, and other methods** on the same runs: {worse}, {more}."


def _without_choices(results, method):
    """Return the errors of the estimator without arguments."""
    errors = [(result.column.label, results.summary(result, method)) for result in results.filled]
    known = [f"{label} {percent(each.error)} %" for label, each in errors if each.error is not None]
    what = f"**{method.label}**, `FrobMetricCV()` without arguments"
    return f"{what}: {listed(known)}." if known else ""


def _starved(results):
    """Name what had too little time or failed: the limits, runs and settings that it had."""
    over, failed, fewer, cut, slow = {}, {}, {}, {}, []
    for method, result in product(results.methods, results.filled):
        summary, cells = results.summary(result, method), result.of(method.name)
        label = result.column.label
        if summary.error is None and summary.outcome == "limit":
            over.setdefault(method.label, []).append(f"{label} {outcome(summary)}")
        elif summary.error is None and summary.outcome == "failed":
            failed.setdefault(method.label, []).append(label)
        elif summary.error is not None and not summary.is_whole:
            runs = f"{label} {summary.runs} of {summary.asked}"
            fewer.setdefault(method.label, []).append(runs)
        if texts := _cut_short(cells):
            cut.setdefault(method.label, []).append(f"{label} {texts}")
        if not summary.is_whole or _cut_short(cells):
            slow += [cell for cell in cells if cell.outcome != "skipped"]
    kinds = {"no answer in time": over, "failed, as each data set's table tells": failed}
    kinds["fewer runs than asked for"] = fewer
    kinds["searches that the budget ended, with the values tried until then"] = cut
    texts = []
    for what, found in kinds.items():
        named = [f"{label} ({', '.join(where)})" for label, where in found.items()]
        texts += [f"{what}: {'; '.join(named)}"] if named else []
    if not texts:
        return ""
    ours = [cell for cell in results.cells if cell.task.method.startswith("frob")]
    spans = f"one fit of these had a limit of {limits(slow)}, one of ours {limits(ours)}"
    return f"**Not a fair race for slow methods**: {spans}; {escape('; '.join(texts))}."


def _cut_short(cells):
    """Return how many settings were tried in the runs whose search was ended; else nothing."""
    tried = [
        (len(cell.tries), n_tries(json.loads(cell.task.search)))
        for cell in done(cells)
        if cell.tries
    ]
    few = [(some, whole) for some, whole in tried if some < whole]
    if not few:
        return ""
    runs = "" if len(tried) == 1 else f" in {plural(len(few), 'run')}"
    return f"{min(some for some, _ in few)} of {few[0][1]} settings{runs}"


def _kind(is_clear, is_fewer):
    return KINDS[(0 if is_fewer else 2) if is_clear else 1]


def _pair(result, ours, theirs):
    return f"{result.column.label} {percent(ours)} / {percent(theirs)}"


def _grouped(title, groups):
    texts = [f"{kind} on {listed(pairs)}" for kind, pairs in groups.items() if pairs]
    return f"{title}: {'; '.join(texts)}." if texts else ""
