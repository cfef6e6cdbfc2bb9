"""Findings of the experiment with faces, as sentences whose numbers follow from the cells."""

from __future__ import annotations

from ..harness.formatting import limits, seconds, with_error
from ..harness.summary import mean_of_known
from ..harness.task import done
from .accuracy import compare, rule_mean
from .faces import MAIN
from .methods import FROB

#: FrobMetric with PCA as the only preparation.
RECIPE = "frob_paper"


def findings(results, accuracies, times):
    """Return the findings as a list in Markdown; empty before the folds of View 2.

    `accuracies` and `times` are the paper's, by (number of triplets, dimensions).
    """
    ours = {
        method.name: (method.label, results.choice(method.name, MAIN), cells)
        for method in results.plan.methods
        if done(cells := results.folds(method.name, MAIN))
    }
    if FROB.name not in ours:
        return ""
    best = max(accuracy for accuracy, _ in accuracies.values())
    sentences = [_accuracy(*ours[FROB.name][1:], best)]
    if RECIPE in ours:
        _, choice, cells = ours[RECIPE]
        text = _mean(cells, choice.rules[-1])
        sentences += [
            f"**The paper's recipe**, PCA alone and MkNN, has {text} % with our features."
        ]
    sentences += [_places(results, accuracies), _times(results, times), _others(ours)]
    slow = [each.label for each in results.plan.methods if each.name not in ours]
    if slow:
        given = limits([cell for cell in results.cells if cell.label in slow])
        sentences += [f"**No answer** within {given} for one fit: {', '.join(slow)}."]
    return "\n".join(f"- {sentence}" for sentence in sentences if sentence)


def _accuracy(choice, cells, paper):
    rule, counting = choice.rule, choice.rules[-1]
    own = f"{_mean(cells, rule)} % of the pairs of View 2 right by the rule “{rule}”"
    also = f", {_mean(cells, counting)} % by the paper's rule, MkNN" if rule != counting else ""
    return f"**FrobMetric**: {own}{also}. The paper's best is {paper:.2f} %, by MkNN."


def _places(results, accuracies):
    """Count the places of the table with less accuracy than the paper's, by the same rule."""
    rule = results.choice(FROB.name, MAIN).rules[-1]
    below, n_all = [], 0
    for place in results.plan.places:
        mean = rule_mean(results.place(*place), rule)
        if mean is None or place not in accuracies:
            continue
        n_all += 1
        if mean.mean < accuracies[place][0]:
            numbers = f"{mean.mean:.2f} / {accuracies[place][0]:.2f}"
            below.append(f"{place[0]:,} triplets in {place[1]} dimensions {numbers}")
    which = f": {'; '.join(below)}" if below else ""
    text = f"ours is below the paper's in {len(below)} of {n_all} places of the table{which}"
    return f"**By MkNN** {text}." if n_all else ""


def _times(results, times):
    """Return the longest fit of the table beside the paper's in the same place."""
    found = {
        place: mean_of_known([cell.seconds for cell in done(results.place(*place))])
        for place in results.plan.places
        if place in times
    }
    known = {place: time for place, time in found.items() if time is not None}
    if not known:
        return ""
    place = max(known, key=known.get)
    where = f"{place[0]:,} triplets in {place[1]} dimensions"
    text = f"takes {seconds(known[place])}; the paper reports {seconds(times[place])} of CPU time"
    return f"**The longest fit** of the table, {where}, {text} on its machine."


def _others(ours):
    """Return the best of the other methods, and whether FrobMetric is clearly better."""
    means = {
        name: rule_mean(cells, choice.rule).mean
        for name, (_, choice, cells) in ours.items()
        if name not in (FROB.name, RECIPE)
    }
    if not means:
        return ""
    label, choice, cells = ours[max(means, key=means.get)]
    _, own, own_cells = ours[FROB.name]
    difference = compare(own_cells, own.rule, cells, choice.rule)
    clear = "clear" if difference.is_clear else "not clear"
    interval = f"{difference.mean:+.2f} points, 95 % interval {difference.low:+.2f} to "
    text = f"the difference, {interval}{difference.high:+.2f}, is {clear}"
    return f"**The best other method** is {label} with {_mean(cells, choice.rule)} %; {text}."


def _mean(cells, rule):
    mean = rule_mean(cells, rule)
    return with_error(mean.mean, mean.error)
