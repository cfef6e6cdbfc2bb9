"""The page of `frobmetric reproduce mvu`: our numbers beside the paper's."""

from __future__ import annotations

from ..baselines.embedding import CSDP_TOL, OUR_TOL, power
from ..harness.page import Figure, Heading, Paragraph, Table, colophon
from . import paper as mvu_paper
from .cells import SPREADS
from .words import gap, number, perturbation, seconds, time_words, what_one_sees

TITLE = "Maximum variance unfolding"
INTRODUCTION = (
    "The variance of points is maximised while neighbours come no farther apart: max tr(X) over "
    "centred Gram matrices X with |y_i − y_j|² ≤ b_ij. “Ours (exact)” solves this problem, “ours "
    "(σ = ...)” the paper's perturbed one, max tr(X) − ‖X‖²/(2σ). CSDP solves it as it was "
    "published first, with equalities and a row that centres X (“original”: the paper's MVU), and "
    "with inequalities and the mean taken off in the objective (“well-posed”). Equalities allow "
    "less variance than inequalities."
)
MEASURED = (
    "Times are those of the method alone. Ours, Isomap and LLE include the search for neighbours; "
    "CSDP's leave out reading and writing of its files, and the search. The variance is Σ|y_i − "
    "mean|² in all dimensions. The relative gap is proven, from bounds on the optimum on both "
    "sides that are computed anew from the answer, after it is scaled to break no inequality; "
    "where equalities are broken, it is the distance from the upper bound only. Ours is asked for "
    f"a gap of {OUR_TOL:g}; CSDP runs at its default tolerance, {CSDP_TOL:g}. R_NX is 1 where all "
    "neighbours are kept and 0 for a random embedding; its area is a mean over log K."
)
SMALL = (
    "This is the small version of all experiments, for a look at whether they work: no number of "
    "it is to be compared with the paper's."
)
RECONSTRUCTION = (
    "ALSTD, ALED, ALCD and GSCD are our reconstruction: the formulas that the paper used could not "
    "be obtained, so ours can be compared with each other, and with the paper's only in their "
    "order. They are lengths but for ALCD; each embedding is first scaled to a mean squared "
    "distance of 1 from its mean, as LLE has a unit of its own."
)


def page_blocks(results, figures, settings, command, *, quick=False):
    """All that the page holds below its title.

    Parameters
    ----------
    results : list of Result
    figures : dict
        Name of an experiment -> list of (file name, caption).
    settings : dict of str
        What to say of the run: limit, threads.
    command : str
        What makes this page again.
    quick : bool
        Whether these are the small versions.

    Returns
    -------
    list of blocks of `reproduce_page`
    """
    texts = [*([SMALL] if quick else []), INTRODUCTION, MEASURED, RECONSTRUCTION]
    blocks = [Paragraph(text) for text in texts]
    for result in results:
        drawn = [Figure(*each) for each in figures.get(result.experiment.name, [])]
        blocks += _section(result, drawn)
    return [*blocks, *colophon(results, settings, command)]


def _section(result, drawn):
    experiment = result.experiment
    title = Heading(experiment.title)
    if result.reason:
        return [title, Paragraph(f"Left out: {result.reason}")]
    tables = _time_tables if experiment.name == "time" else _embedding_tables
    words = time_words if experiment.name == "time" else what_one_sees
    return [
        title,
        Paragraph(experiment.note),
        *_scale_blocks(result),
        Paragraph(words(result)),
        Paragraph(f"The paper: {mvu_paper.WORDS[experiment.name]}"),
        *tables(result),
        *drawn,
    ]


def _scale_blocks(result):
    experiment = result.experiment
    rows = [
        [
            f"{scale.n_samples:,}",
            f"{scale.n_features:,}",
            f"{scale.n_edges:,}",
            number(scale.diameter),
            number(scale.mean_squared_edge),
            number(scale.variance),
        ]
        for scale in result.scales
    ]
    header = [
        "points",
        "dimensions",
        "pairs of neighbours",
        "diameter",
        "mean squared distance of neighbours",
        "total variance Σ|x_i − mean|²",
    ]
    caption = (
        f"Scale of the data, without which σ means nothing: σ = {power(experiment.sigma)}; k = "
        f"{experiment.n_neighbors} neighbours."
    )
    yield Table(header, rows, caption)


def _embedding_tables(result):
    name, names = result.experiment.name, result.experiment.paper_names
    times = mvu_paper.SECONDS.get(name, {})
    rows = [
        [
            cell.label,
            seconds(cell),
            _paper(times.get(names[cell.task.method]), " s"),
            number(cell.objective),
            gap(cell),
            perturbation(cell, result.experiment),
            number(cell.measures.get("area")),
            number(cell.measures.get("mean_b_nx")),
            cell.remark,
        ]
        for cell in result.cells
    ]
    header = [
        "method",
        "time",
        "paper's time",
        "variance",
        "relative gap",
        "‖X‖²/(2σ tr X)",
        "area under R_NX",
        "mean B_NX",
        "remark",
    ]
    yield Table(header, rows, "What each method found.", texts=("remark",))
    yield _spread_table(result, mvu_paper.SPREAD.get(name, {}), names)


def _spread_table(result, published, names):
    rows = [
        [cell.label]
        + [
            text
            for measure in SPREADS
            for text in (
                number(cell.measures.get(measure)),
                _paper(published.get(measure, {}).get(names[cell.task.method])),
            )
        ]
        for cell in result.cells
    ]
    header = ["method"]
    for measure in SPREADS:
        header += [measure.upper(), "paper"]
    caption = "Evenness of the embedding: our reconstruction of the measures, and the paper's."
    return Table(header, rows, caption)


def _time_tables(result):
    methods = [embedder.label for embedder in result.experiment.embedders]
    by_size = {}
    for cell in result.cells:
        by_size.setdefault(cell.task.n, []).append(cell)
    times = [[f"{n:,}", *map(seconds, cells)] for n, cells in by_size.items()]
    yield Table(["n", *methods], times, "Time of each method.")
    gaps = [[f"{n:,}", *map(gap, cells)] for n, cells in by_size.items()]
    yield Table(["n", *methods], gaps, "Relative gap that the answer is proven to have.")
    remarks = [
        [f"{cell.task.n:,}", cell.label, cell.remark] for cell in result.cells if cell.remark
    ]
    if remarks:
        yield Table(["n", "method", "remark"], remarks, "Remarks.", texts=("method", "remark"))


def _paper(value, unit=""):
    return "–" if value is None else f"{value:,g}{unit}"
