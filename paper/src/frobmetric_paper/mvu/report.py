"""Tables and figures of maximum variance unfolding, beside the paper's numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from frobmetric._environment import require
from frobmetric.plotting import EmbeddingDisplay, QualityDisplay
from frobmetric.plotting.style import COLOURS, lighten

from ..baselines.embedding import CSDP_TOL, OUR_TOL, power
from ..harness import formatting
from ..harness.formatting import NOTHING, number
from ..harness.page import bold, details, escape, panels, read_rows, table
from ..harness.task import Results, done, grouped
from .spread import EVENNESS, at_unit_scale, local_spread

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
        blocks = {"our_tol": f"{OUR_TOL:g}", "csdp_tol": f"{CSDP_TOL:g}"}
        found = [_finding(result) for result in self.results if done(result.cells)]
        blocks["findings"] = "\n".join(f"- {text}" for text in found)
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

    def draw(self, folder):
        """Draw all figures of the parts that have an answer; results.json has no points."""
        for result in (each for each in self.results if each.points and done(each.cells)):
            for kind, make in FIGURES[result.part.name].items():
                make(result).savefig(folder / f"{result.part.name}_{kind}.png", dpi=110)


# Findings


def _finding(result):
    """Return times on the largest set that most methods finished, and who keeps neighbours best."""
    by_size = grouped(done(result.cells), "n")
    n = max(by_size, key=lambda size: (len(by_size[size]), size))
    times = [f"{cell.label} {_seconds(cell)}" for cell in by_size[n]]
    text = f"{n:,} points: {', '.join(times)}"
    over = [cell for cell in result.cells if cell.outcome == "limit"]
    slow = [f"{cell.label} {formatting.outcome(cell)} at n = {cell.task.n:,}" for cell in over]
    text += f"; over the limit: {', '.join(slow)}" if slow else ""
    areas = {cell.label: cell.measures["area"] for cell in by_size[n] if "area" in cell.measures}
    if areas and result.part.name != "time":
        order = sorted(areas, key=areas.get, reverse=True)
        kept = ", ".join(f"{label} {areas[label]:.3f}" for label in order)
        text += f". Neighbourhoods kept, as the area under R_NX: {kept}"
    return f"{bold(result.part.name.replace('_', ' '))}, {escape(text)}."


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
    rows = []
    for cell in result.cells:
        measures = {name: number(value) for name, value in cell.measures.items()}
        if "perturbation" in measures:
            measures["perturbation"] = f"{cell.measures['perturbation']:.1e}"
        row = [cell.label, _seconds(cell), _paper(result, cell, "seconds", " s")]
        row += [number(cell.objective), _gap(cell)]
        row += [measures.get(name, NOTHING) for name in ("perturbation", "area", "mean_b_nx")]
        rows.append([*row, cell.remark])
    header = ["method", "time", "paper's time", "variance", "relative gap", "‖X‖²/(2σ tr X)"]
    header += ["area under R_NX", "mean B_NX", "remark"]
    yield table(header, rows, "Results of each method.", texts=("remark",))
    yield _spread_table(result)


def _spread_table(result):
    rows = []
    for cell in result.cells:
        rows.append([cell.label])
        for name in EVENNESS:
            rows[-1] += [number(cell.measures.get(name)), _paper(result, cell, name)]
    header = ["method", *(text for measure in EVENNESS for text in (measure.upper(), "paper"))]
    caption = "Evenness of the embedding: our reconstruction of the measures, and the paper's."
    return details("Evenness of the embeddings", table(header, rows, caption))


def _time_tables(result):
    methods = [embedder.label for embedder in result.part.embedders]
    by_size = grouped(result.cells, "n")
    captions = {_seconds: "Time of each method."}
    captions[_gap] = "Relative gap that the answer is proven to have."
    for text, caption in captions.items():
        rows = [[f"{n:,}", *map(text, cells)] for n, cells in by_size.items()]
        yield table(["n", *methods], rows, caption)
    remarks = [[f"{c.task.n:,}", c.label, c.remark] for c in result.cells if c.remark]
    if remarks:
        texts = table(["n", "method", "remark"], remarks, texts=("method", "remark"))
        yield details("Remarks", texts)


def _seconds(cell):
    return formatting.seconds(cell.seconds) if cell.is_done else formatting.outcome(cell)


def _gap(cell):
    """Return the relative gap of a cell, and by how much it breaks squared distances."""
    if cell.certificate is None:
        return NOTHING
    broken = cell.certificate["violation"]
    error = f" (distances off by {broken:.0e})" if broken else ""
    return f"{cell.certificate['relative_gap']:.0e}{error}"


def _paper(result, cell, name, unit=""):
    method = result.part.paper_names[cell.task.method]
    value = PAPER.get((result.part.name, method), {}).get(name)
    return f"{float(value):,g}{unit}" if value else NOTHING


# Figures


def _data_figure(result):
    """Draw points of three dimensions as they are."""
    (points,) = result.points
    drawing, (ax,) = panels(1, subplot_kw={"projection": "3d"})
    shown = ax.scatter(*points.X.T, c=points.color, s=8)
    drawing.colorbar(shown, ax=ax, label=points.color_name, shrink=0.7)
    ax.view_init(elev=8, azim=-75)
    ax.set_box_aspect(np.ptp(points.X, axis=0))
    return drawing


def _embeddings_figure(result):
    """Draw a panel for each method."""
    (points,), cells = result.points, done(result.cells)
    images = points.picture_shape and points.X.reshape(-1, *points.picture_shape)
    drawing, axes = panels(len(cells), 3, (5, 4.4))
    style = {"color": points.color, "color_name": points.color_name, "path": points.is_path}
    for ax, cell in zip(axes, cells, strict=True):
        how = {"images": images, "ax": ax, "title": cell.label} | style
        EmbeddingDisplay.from_embedding(cell.points, **how)
    return drawing


def _spread_figure(result):
    """Draw both principal spread directions at each point, a panel for each method."""
    cells = done(result.cells)
    drawing, axes = panels(len(cells), 3, (5, 4.4))
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
    ax.set_aspect("equal")
    lighten(ax)


def _quality_figure(result):
    """Draw Q_NX and B_NX, a line for each method."""
    (points,) = result.points
    drawing, axes = panels(2, 2, (6, 4.8))
    embeddings = {cell.label: cell.points for cell in done(result.cells)}
    QualityDisplay.from_embeddings(points.X, embeddings, axes=axes)
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
#: Part -> kind -> what draws a PartResult; the file is part_kind.png, its caption is on the page.
FIGURES = {
    "swiss_roll": {"data": _data_figure, **_EMBEDDED, "spread": _spread_figure},
    "teapots": _EMBEDDED,
    "teapots_3": _EMBEDDED,
    "faces": _EMBEDDED,
    "time": {"seconds": _time_figure},
}
