"""Tables and figures of maximum variance unfolding, beside the paper's numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from frobmetric.plotting import EmbeddingDisplay, QualityDisplay
from frobmetric.plotting.style import COLOURS, lighten
from frobmetric.runtime.environment import require

from ..baselines.embedding import CSDP_TOL, OUR_TOL, power
from ..harness.formatting import NOTHING, number, parameter
from ..harness.page import Markdown, bold, details, escape, panels, read_rows, table
from ..harness.task import Results, done, grouped
from .findings import findings, gap, seconds
from .spread import EVENNESS, LARGE_IS_GOOD, at_unit_scale, local_spread

#: Numbers of the paper's tables and text, by (part, method): evenness and seconds, as text.
#: "FrobMetric" is the perturbed problem, "MVU" the original one by CSDP.
PAPER = {
    (row["part"], row["method"]): row for row in read_rows(Path(__file__).with_name("paper.csv"))
}


@dataclass(frozen=True)
class UnfoldingResults(Results):
    """Results of the parts that the page shows; `plan` has all parts."""

    results: list
    plan: tuple

    @property
    def cells(self):
        return [cell for result in self.results for cell in result.cells]

    @property
    def own_cells(self):
        return [cell for cell in self.cells if cell.task.method.startswith("ours")]

    @property
    def left_out(self):
        return {each.part.name: each.reason for each in self.results if each.reason}

    def to_dict(self):
        parts = []
        for result in self.results:
            scales = [asdict(scale) for scale in result.scales]
            parts += [{"name": result.part.name, "scales": scales, "left_out": result.reason}]
        return {"parts": parts} | super().to_dict()

    def blocks(self, folder):
        """Return the placeholders of the page: tables of each part."""
        blocks = {"our_tol": parameter(OUR_TOL), "csdp_tol": parameter(CSDP_TOL)}
        blocks["findings"] = findings(self.results, PAPER)
        for part in self.plan:
            blocks |= {part.name: "", f"{part.name}_scale": "", f"{part.name}_n": ""}
        for result in self.results:
            name = result.part.name
            if result.reason:
                blocks[name] = escape(f"Left out: {result.reason}")
                continue
            tables = _time_tables if name == "time" else _embedding_tables
            blocks[name] = "\n\n".join(tables(result))
            blocks[f"{name}_scale"] = _scale_table(result)
            blocks[f"{name}_n"] = f"{result.scales[0].n_samples:,}"
        return blocks

    @property
    def kept_figures(self):
        """Figures that cannot be drawn again: results.json has no points."""
        kept = [
            each.part.name for each in self.results if done(each.cells) and not _has_points(each)
        ]
        return [file_name(name, kind) for name in kept for kind in FIGURES[name]]

    def draw(self, folder):
        """Draw all figures of the parts whose points are known."""
        for result in filter(_has_points, self.results):
            for kind, make in FIGURES[result.part.name].items():
                make(result).savefig(folder / file_name(result.part.name, kind), dpi=110)


def _has_points(result):
    """Return whether a part has an answer, and the points of every one."""
    cells = done(result.cells)
    return bool(result.points and cells) and all(cell.embedding for cell in cells)


# Tables


def _scale_table(result):
    part = result.part
    rows = [
        [
            *(f"{value:,}" for value in (scale.n_samples, scale.n_features, scale.n_edges)),
            *map(number, (scale.diameter, scale.mean_squared_edge, scale.variance)),
        ]
        for scale in result.scales
    ]
    header = ["points", "dimensions", "pairs of neighbours", "diameter"]
    header += ["mean squared distance of neighbours", "total variance Σ|x_i − mean|²"]
    values = f"σ = {power(part.sigma)}; k = {part.n_neighbors} neighbours"
    caption = f"Scale of the data, without which σ means nothing: {values}."
    return details("Scale of the data", table(header, rows, caption))


def _embedding_tables(result):
    best = _best(result.cells, {"seconds": min, "area": max})
    rows = []
    for cell in result.cells:
        paper = _paper(result, cell, "seconds", " s")
        row = [cell.label, _beside(_marked(seconds(cell), cell in best["seconds"]), paper)]
        row += [_marked(number(cell.measures.get("area")), cell in best["area"])]
        row += [number(cell.measures.get("mean_b_nx")), number(cell.objective), gap(cell)]
        size = cell.measures.get("perturbation")
        rows.append([*row, parameter(size), cell.remark])
    header = ["method", "time", "area under R_NX", "mean B_NX", "variance", "relative gap"]
    header += ["‖X‖²/(2σ tr X)", "remark"]
    yield f"{_caption(result)} Bold: the shortest time and the largest area."
    yield table(header, rows, texts=("remark",))
    yield _spread_table(result)


def _caption(result):
    has_paper = any(_paper(result, cell, "seconds") != NOTHING for cell in result.cells)
    more = " Where a cell has two times, the second is the paper's." if has_paper else ""
    return f"Results of each method.{more}"


def _spread_table(result):
    better = {name: max if name in LARGE_IS_GOOD else min for name in EVENNESS}
    best, rows = _best(result.cells, better), []
    for cell in result.cells:
        rows.append([cell.label])
        for name in EVENNESS:
            text = _marked(number(cell.measures.get(name)), cell in best[name])
            rows[-1] += [_beside(text, _paper(result, cell, name))]
    header = ["method", *(measure.upper() for measure in EVENNESS)]
    caption = "Our reconstruction of the measures; behind a stroke the paper's, on its own scale."
    caption += " Bold: the best of ours, the largest ALCD and the smallest of the others."
    return details("Evenness of the embeddings", table(header, rows, caption))


def _time_tables(result):
    methods = [embedder.label for embedder in result.part.embedders]
    by_size = grouped(result.cells, "n")
    rows = []
    for n, cells in by_size.items():
        best = _best(cells, {"seconds": min})["seconds"]
        rows.append([f"{n:,}", *(_marked(seconds(cell), cell in best) for cell in cells)])
    yield table(["n", *methods], rows, "Time of each method. Bold: the shortest of a row.")
    rows = [[f"{n:,}", *map(gap, cells)] for n, cells in by_size.items()]
    yield table(["n", *methods], rows, "Relative gap that the answer is proven to have.")
    remarks = [[f"{c.task.n:,}", c.label, c.remark] for c in result.cells if c.remark]
    if remarks:
        texts = table(["n", "method", "remark"], remarks, texts=("method", "remark"))
        yield details("Remarks", texts)


def _best(cells, better):
    """Return for each number the cells with the best one, and those that show the same digits.

    `better` maps the name of a number, "seconds" or that of a measure, to min or max.
    """
    found = {}
    for name, choose in better.items():
        values = [
            cell.seconds if name == "seconds" else cell.measures[name] for cell in done(cells)
        ]
        best = number(choose(values)) if values else ""
        found[name] = [
            cell for cell, value in zip(done(cells), values, strict=True) if number(value) == best
        ]
    return found


def _marked(text, is_best):
    return bold(text) if is_best else Markdown(escape(text))


def _beside(ours, theirs):
    """Return our number and the paper's in one cell."""
    return Markdown(ours if theirs == NOTHING else f"{ours} / {theirs}")


def _paper(result, cell, name, unit=""):
    method = result.part.paper_names[cell.task.method]
    value = PAPER.get((result.part.name, method), {}).get(name)
    return f"{float(value):,g}{unit}" if value else NOTHING


# Figures

#: Width and height of a panel, three of them side by side: texts are legible on phones too.
PANEL = (3.6, 3.3)


def _data_figure(result):
    """Draw points of three dimensions as they are."""
    (points,) = result.points
    drawing, (ax,) = panels(1, subplot_kw={"projection": "3d"})
    shown = ax.scatter(*points.X.T, c=points.color, s=8)
    drawing.colorbar(shown, ax=ax, label=points.color_name, shrink=0.7)
    ax.view_init(elev=8, azim=-75)
    ax.set_box_aspect(np.ptp(points.X, axis=0))
    ax.locator_params(axis="y", nbins=2)  # its labels are close to each other
    return drawing


def _embeddings_figure(result):
    """Draw a panel for each method, with one colour bar."""
    (points,), cells = result.points, done(result.cells)
    images = points.picture_shape and points.X.reshape(-1, *points.picture_shape)
    drawing, axes = panels(len(cells), 3, PANEL)
    style = {"color": points.color, "color_name": points.color_name, "path": points.is_path}
    for ax, cell in zip(axes, cells, strict=True):
        how = {"images": images, "ax": ax, "title": cell.label} | style
        EmbeddingDisplay.from_embedding(cell.points, **how)
    coloured = [each for ax in axes for each in ax.collections if each.colorbar]
    for each in coloured:
        each.colorbar.remove()
    if coloured:
        drawing.colorbar(coloured[0], ax=axes.tolist(), label=points.color_name, shrink=0.6)
    return drawing


def _spread_figure(result):
    """Draw both principal spread directions at each point, a panel for each method."""
    cells = done(result.cells)
    drawing, axes = panels(len(cells), 3, PANEL)
    for ax, cell in zip(axes, cells, strict=True):
        spread = local_spread(at_unit_scale(cell.points), cell.task.n_neighbors)
        draw_spread(ax, spread)
        numbers = [f"{name.upper()} {getattr(spread, name):#.3g}" for name in EVENNESS]
        title = [cell.label, "   ".join(numbers[:2]), "   ".join(numbers[2:])]
        ax.set_title("\n".join(title), fontsize="small")
    return drawing


def draw_spread(ax, spread):
    """Draw a line along each of the first two directions, as long as the points around spread."""
    lines = require("matplotlib.collections", "plot").LineCollection
    for j, (colour, width) in enumerate(((COLOURS[0], 1.2), (COLOURS[5], 0.8))):
        half = 0.5 * spread.scales[:, j, None] * spread.directions[:, j]
        segments = np.stack([spread.points - half, spread.points + half], 1)
        ax.add_collection(lines(segments, colors=colour, linewidths=width, zorder=2 + j))
    ax.autoscale_view()
    ax.set_aspect("equal", adjustable="datalim")
    lighten(ax)


def _quality_figure(result):
    """Draw Q_NX and B_NX, a line for each method."""
    (points,) = result.points
    drawing, axes = panels(2, 2, (5, 4))
    embeddings = {cell.label: cell.points for cell in done(result.cells)}
    QualityDisplay.from_embeddings(points.X, embeddings, axes=axes)
    lines = axes[0].get_legend_handles_labels()
    axes[0].get_legend().remove()  # above both panels instead
    drawing.legend(*lines, loc="outside upper left", ncols=3, frameon=False)
    return drawing


def _time_figure(result):
    """Draw seconds against n, a line for each method and a triangle at the limit."""
    drawing, (ax,) = panels(1, size=(7, 4.8))
    for embedder, colour in zip(result.part.embedders, COLOURS, strict=False):
        cells = [cell for cell in result.cells if cell.task.method == embedder.name]
        times = [(cell.task.n, cell.seconds) for cell in done(cells)]
        over = [(cell.task.n, cell.limit) for cell in cells if cell.outcome == "limit"]
        if times or over:
            ax.plot(*np.reshape(times, (-1, 2)).T, "o-", color=colour, label=embedder.label)
            ax.plot(*np.reshape(over, (-1, 2)).T, "^", color=colour, fillstyle="none", markersize=9)
    ax.set(yscale="log", xlabel="number of points n", ylabel="seconds")
    ax.legend(frameon=False)
    lighten(ax)
    return drawing


_EMBEDDED = {"embeddings": _embeddings_figure, "quality": _quality_figure}
#: Part -> kind -> what draws a PartResult; the caption is on the page.
FIGURES = {
    "swiss_roll": {"data": _data_figure, **_EMBEDDED, "spread": _spread_figure},
    "teapots": _EMBEDDED,
    "teapots_3": _EMBEDDED,
    "faces": _EMBEDDED,
    "time": {"seconds": _time_figure},
}


def file_name(part, kind):
    """Return the name of the file of a figure."""
    return f"{part}_{kind}.{'svg' if kind == 'seconds' else 'png'}"
