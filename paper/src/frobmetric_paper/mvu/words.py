"""Numbers of the page on maximum variance unfolding as words, and what one sees in them."""

from __future__ import annotations

import numpy as np

NOTHING = "–"
#: What a table shows in place of a time.
OUTCOMES = {"missing": "not installed", "failed": "failed", "skipped": NOTHING}


def number(value, digits=4):
    """Some digits of a number, without an exponent where that is short."""
    if value is None:
        return NOTHING
    rounded = f"{value:.{digits - 1}e}"
    exponent = int(rounded.partition("e")[2])
    if not -5 < exponent < 7:
        return rounded
    decimals = max(0, digits - 1 - exponent) if value else 0
    return f"{value:,.{decimals}f}"


def seconds(cell):
    """The time of a cell, or why there is none."""
    if cell.is_done:
        return f"{number(cell.seconds, 3)} s"
    return cell.remark if cell.outcome == "limit" else OUTCOMES[cell.outcome]


def gap(cell):
    """The relative gap of a cell, and by how much it breaks squared distances."""
    if cell.certificate is None:
        return NOTHING
    broken = cell.certificate["violation"]
    error = f" (distances off by {broken:.0e})" if broken else ""
    return f"{cell.certificate['relative_gap']:.0e}{error}"


def perturbation(cell, experiment):
    """How large the Frobenius term is beside the variance: |X|^2 / (2 sigma tr X)."""
    if cell.spectrum is None or experiment.paper_names[cell.task.method] != "FrobMetric":
        return NOTHING
    spectrum = np.array(cell.spectrum)
    return f"{np.square(spectrum).sum() / (2 * experiment.sigma * spectrum.sum()):.1e}"


def what_one_sees(result):
    """Sentences on an experiment with embeddings, from its numbers."""
    done = {cell.task.method: cell for cell in result.cells if cell.is_done}
    if not done:
        return "Nothing of it is finished."
    parts = [_neighbourhoods(list(done.values())), *_variances(done, result), *_times(done, result)]
    return " ".join(parts)


def time_words(result):
    """Sentences on time against n: how many times longer CSDP takes at the largest n."""
    ours, exact, *rivals = (embedder.name for embedder in result.experiment.embedders)
    parts = [_ratio(result.cells, slow, fast) for slow in rivals for fast in (ours, exact)]
    return " ".join(part for part in parts if part) or "No two methods are finished at one n."


def _neighbourhoods(cells):
    ranked = sorted(cells, key=lambda cell: -cell.measures["area"])
    named = ", ".join(f"{cell.label} {cell.measures['area']:.3f}" for cell in ranked)
    torn = [cell.label for cell in cells if cell.measures["mean_b_nx"] < 0]
    crushed = [cell.label for cell in cells if cell.measures["mean_b_nx"] >= 0]
    sides = [
        f"{word} for {', '.join(labels)}"
        for word, labels in (
            ("below zero, neighbours being torn apart,", torn),
            ("not below zero, strangers being brought together,", crushed),
        )
        if labels
    ]
    return (
        f"Neighbourhoods are kept best by {ranked[0].label} (area under R_NX: {named}). B_NX is on "
        f"average {' and '.join(sides)}."
    )


def _variances(done, result):
    """How near the other answers are to the largest variance of the well-posed problem."""
    exact = done.get("ours_exact")
    others = [cell for cell in done.values() if cell.objective is not None and cell is not exact]
    if exact is None or not others:
        return
    shares = (f"{cell.label} {cell.objective / exact.objective:.6f}" for cell in others)
    yield f"The variance, relative to that of {exact.label}: {', '.join(shares)}."


def _times(done, result):
    ours = next(
        name for name, paper in result.experiment.paper_names.items() if paper == "FrobMetric"
    )
    for fast in (ours, "ours_exact"):
        for slow in (name for name in done if name.startswith("csdp")):
            if fast in done:
                yield _ratio(done.values(), slow, fast)


def _ratio(cells, slow, fast):
    """How many times longer one takes, at the largest n that both finished; empty if none."""
    times = {}
    for cell in cells:
        if cell.is_done and cell.task.method in (slow, fast):
            times.setdefault(cell.task.n, {})[cell.task.method] = cell
    both = [n for n, found in times.items() if len(found) == 2]
    if not both:
        return ""
    found = times[max(both)]
    factor = found[slow].seconds / found[fast].seconds
    return (
        f"At n = {max(both):,} {found[slow].label} takes {number(factor, 2)} times as long as "
        f"{found[fast].label}."
    )
