"""Findings of the unfoldings as sentences: speed, neighbourhoods, agreement with the paper."""

from __future__ import annotations

from ..baselines.embedding import power
from ..harness import formatting
from ..harness.formatting import listed, number
from ..harness.page import bold, escape
from ..harness.task import done, grouped
from .spread import EVENNESS, LARGE_IS_GOOD

#: Names of the parts in sentences.
NAMES = {
    "swiss_roll": "swiss roll",
    "teapots": "teapots",
    "teapots_3": "teapots with three neighbours",
    "faces": "Frey faces",
    "time": "swiss rolls",
}
#: The paper's ratio of times on swiss rolls, MVU by FrobMetric.
PAPER_RATIO = 15
PAPER_NEIGHBOURS = (
    "In the paper FrobMetric keeps those of the swiss roll as well as MVU, and better than Isomap "
    "and LLE"
)


def findings(results, paper):
    """Return the findings as a list in Markdown; `paper` has a row for each (part, method)."""
    shown = {each.part.name: each for each in results if done(each.cells)}
    small = [each for name, each in shown.items() if name != "time"]
    sentences = [_race(shown["time"])] if "time" in shown else []
    sentences += [_times(small), _slower(small), _neighbours(small), _intrusions(small)]
    sentences += [_perturbation(small), _against_paper(shown, paper), *_evenness(small, paper)]
    sentences += [_over(shown.values())]
    return "\n".join(f"- {sentence}" for sentence in sentences if sentence)


def seconds(cell):
    """Return the time of a cell as text, or why it has none."""
    return formatting.seconds(cell.seconds) if cell.is_done else formatting.outcome(cell)


def gap(cell):
    """Return the relative gap of a cell, and by how much it breaks squared distances."""
    if cell.certificate is None:
        return formatting.NOTHING
    broken = cell.certificate["violation"]
    error = f" (distances off by {_short(broken)})" if broken else ""
    return f"{_short(cell.certificate['relative_gap'])}{error}"


def _short(value):
    """Return a small number with one digit: 3e-7."""
    return f"{value:.0e}".replace("e-0", "e-")


def _is_ours(cell):
    return cell.task.method.startswith("ours")


def _is_csdp(cell):
    return cell.task.method.startswith("csdp")


def _race(result):
    """Return the times of all methods on the largest swiss roll that CSDP finished."""
    by_size = grouped(done(result.cells), "n")
    common = [n for n, cells in by_size.items() if any(map(_is_csdp, cells))]
    if not common:
        return ""
    cells, own = by_size[max(common)], [c for c in by_size[max(common)] if _is_ours(c)]
    texts = [f"{c.label} {seconds(c)} to a relative gap of {gap(c)}" for c in own]
    for cell in filter(_is_csdp, cells):
        ratios = [f"{_ratio(cell, mine)} times {mine.label}" for mine in own]
        what = f"{cell.label} {seconds(cell)} to {gap(cell)}"
        failure = ["reported as a failure"] if cell.remark.startswith("Failure") else []
        texts.append(", ".join([what, *failure, *([listed(ratios)] if ratios else [])]))
    text = f"{bold('Time')}, swiss roll of {max(common):,} points: {escape('; '.join(texts))}."
    last = max(cell.task.n for cell in result.cells)
    if last > max(common):
        others = [f"{c.label} {_or_reason(c)}" for c in result.cells if c.task.n == last]
        text += f" {last:,} points: {escape('; '.join(others))}."
    return text


def _or_reason(cell):
    return cell.remark if cell.outcome == "skipped" else seconds(cell)


def _ratio(cell, other):
    return number(cell.seconds / other.seconds, 2)


def _times(results):
    """Return our times on the other sets, beside CSDP's."""
    texts = []
    for result in results:
        cells = [cell for cell in result.cells if _is_ours(cell) or _is_csdp(cell)]
        times = listed([f"{cell.label} {seconds(cell)}" for cell in cells])
        texts.append(f"{_place(result)}: {times}")
    return f"{bold('Other sets')}: {escape('; '.join(texts))}." if texts else ""


def _slower(results):
    """Name the sets on which CSDP is faster than both of ours."""
    places = []
    for result in results:
        finished = done(result.cells)
        own = [c.seconds for c in finished if _is_ours(c)]
        theirs = [c.seconds for c in finished if _is_csdp(c)]
        if own and theirs and min(theirs) < min(own):
            places.append(f"{_place(result)} ({number(min(own) / min(theirs), 2)} times)")
    return f"{bold('CSDP is faster than ours')} on {listed(places)}." if places else ""


def _neighbours(results):
    """Order the methods by how well they keep neighbourhoods on each set."""
    texts = []
    for result in results:
        by_area = {}
        for cell in done(result.cells):
            by_area.setdefault(f"{cell.measures['area']:.3f}", []).append(cell.label)
        order = ", ".join(f"{area} {listed(by_area[area])}" for area in sorted(by_area)[::-1])
        texts.append(f"{NAMES[result.part.name]}: {order}")
    what = f"{bold('Neighbourhoods kept')}, as the area under R\\_NX, the best first"
    return f"{what}: {escape('; '.join(texts))}. {PAPER_NEIGHBOURS}." if texts else ""


def _intrusions(results):
    """Say for which methods the mean of B_NX is below zero."""
    texts = []
    for result in results:
        cells = done(result.cells)
        below = [cell.label for cell in cells if cell.measures["mean_b_nx"] < 0]
        who = "all" if len(below) == len(cells) else listed(below) if below else "none"
        texts.append(f"on {NAMES[result.part.name]} for {who}")
    what = "The mean of B_NX is below zero, neighbours being torn apart"
    end = "in the paper B_NX is below zero for all on the swiss roll"
    return f"{bold(what)}, {escape('; '.join(texts))}; {escape(end)}." if texts else ""


def _perturbation(results):
    """Compare the variance of the perturbed answers with that of the exact ones."""
    texts = []
    for result in results:
        known = {c.task.method: c for c in done(result.cells) if _is_ours(c)}
        exact = known.pop("ours_exact", None)
        for cell in known.values() if exact else ():
            lost = 1 - cell.objective / exact.objective
            size = "less than a millionth" if abs(lost) < 1e-6 else f"{100 * lost:.1f} %"
            texts.append(f"{size} on {NAMES[result.part.name]} (σ = {power(result.part.sigma)})")
    what = "The Frobenius term costs variance"
    return f"{bold(what)}, relative to the exact answer: {listed(texts)}." if texts else ""


def _against_paper(shown, paper):
    """Compare how many times as long as ours the paper's MVU takes, here and in the paper."""
    texts = []
    for name, result in shown.items():
        pair = _paper_pair(result)
        if pair is None:
            continue
        here = f"here {_ratio(pair['MVU'], pair['FrobMetric'])} times"
        where = f"{NAMES[name]} of {pair['MVU'].task.n:,} points" if name == "time" else NAMES[name]
        rows = [paper.get((name, method), {}).get("seconds") for method in ("MVU", "FrobMetric")]
        if name == "time":
            texts.append(f"{where} {here}, in the paper about {PAPER_RATIO} times")
        elif all(rows):
            texts.append(
                f"{where} {here}, in the paper {number(float(rows[0]) / float(rows[1]), 2)} times"
            )
    what = "Time of CSDP (original) relative to ours with the paper's σ"
    return f"{bold(what)}: {escape('; '.join(texts))}." if texts else ""


def _paper_pair(result):
    """Return the cells of the paper's FrobMetric and MVU on the largest set with both, or None."""
    names = result.part.paper_names
    for _, cells in sorted(grouped(done(result.cells), "n").items(), reverse=True):
        pair = {names[cell.task.method]: cell for cell in cells}
        if {"MVU", "FrobMetric"} <= set(pair):
            return pair
    return None


def _evenness(results, paper):
    """Say in which measures the paper's methods have the paper's order."""
    for result in results:
        names = result.part.paper_names
        cells = {names[cell.task.method]: cell for cell in done(result.cells)}
        rows = {name: paper.get((result.part.name, name), {}) for name in cells if name}
        rows = {name: row for name, row in rows.items() if row.get(EVENNESS[0])}
        if len(rows) < 2:
            continue
        same, first = [], {}
        for measure in EVENNESS:
            here = _order({name: cells[name].measures[measure] for name in rows}, measure)
            there = _order({name: float(row[measure]) for name, row in rows.items()}, measure)
            if here == there:
                same.append(measure.upper())
            else:
                best = f"{here[0]} is first here, {there[0]} in the paper"
                best = f"{here[0]} is first in both" if here[0] == there[0] else best
                first.setdefault(best, []).append(measure.upper())
        where = listed(same) if same else "no measure"
        texts = [f"the order of {len(rows)} methods is the paper's in {where}"]
        texts += [f"in {listed(measures)} {best}" for best, measures in first.items()]
        yield f"{bold('Evenness')}, {NAMES[result.part.name]}: {'; '.join(texts)}."


def _order(values, measure):
    """Return names from the best value of a measure to the worst."""
    return sorted(values, key=values.get, reverse=measure in LARGE_IS_GOOD)


def _over(results):
    """Name the methods without an answer in time."""
    cells = [(each, c) for each in results for c in each.cells if c.outcome == "limit"]
    texts = [f"{c.label}, {NAMES[each.part.name]}, {c.task.n:,} points" for each, c in cells]
    limits = formatting.limits([c for _, c in cells])
    what = f"No answer within the limit of {limits}"
    return f"{bold(what)}: {escape('; '.join(texts))}." if texts else ""


def _place(result):
    return f"{NAMES[result.part.name]} ({result.scales[0].n_samples:,} points)"
