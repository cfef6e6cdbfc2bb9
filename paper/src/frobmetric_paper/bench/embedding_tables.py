"""Tables and figure of the benchmark of embeddings, from the judgements of each unit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..harness import page
from ..harness.formatting import NOTHING, mark, short
from ..harness.summary import paired_difference
from .embedding_problems import unpack

UNCHANGED, LOGISTIC = "unchanged", "logistic"
OURS, QUERY, STORED = OWN = ("adapter", "adapter_query", "adapter_stored")
#: Methods by the names of their parts.
NAMES = {
    UNCHANGED: "unchanged",
    OURS: "EmbeddingAdapter",
    QUERY: "EmbeddingAdapter, query side",
    STORED: "EmbeddingAdapter, stored moved",
    "ridge_map": "ridge map",
    "adam_matrix": "Adam matrix",
    "nudge": "NUDGE",
}
RIVALS = ("ridge_map", "adam_matrix", "nudge")
WITHOUT = "nDCG@10 without -1"
PROBE = "logistic regression"
#: Rules by which label tasks are judged beside 1-NN, and the measures of transfer.
RULES, TRANSFER = ("1-NN", "3-NN", "nearest mean"), ("nearest mean", PROBE)
#: Gain in points that transfer should bring.
TRANSFER_TARGET = 1.0


@dataclass(frozen=True)
class Cell:
    """A measure of one task and encoder, of all methods that have it."""

    task: str
    encoder: str
    measure: str
    units: dict  # method -> ndarray of shape (n_units,), in points

    def mean(self, method):
        """Return the measure of a method in points; None if it was not measured."""
        return float(self.units[method].mean()) if method in self.units else None

    def gain(self, method, other=UNCHANGED):
        """Return the Difference to another method, over units, with the interval of t."""
        return paired_difference(self.units[method] - self.units[other], test_share=0.0)

    @property
    def name(self):
        """Name of the cell in tables and figures."""
        return f"{self.task}, {self.measure}" if self.task == "sts" else self.task


def is_primary(task, measure):
    """Return whether the summary counts a measure: one for each test part."""
    if task.endswith("transfer"):
        return False
    if task.endswith("labels"):
        return measure == "1-NN"
    return measure != WITHOUT


class Measured:
    """All cells of the stored parts."""

    def __init__(self, parts):
        self.parts = parts
        self._units = {}
        for method, data in parts.items():
            for task, records in data.items():
                for encoder, record in records.items():
                    for measure, text in record.get("units", {}).items():
                        place = self._units.setdefault((task, encoder, measure), {})
                        place[method] = 100 * unpack(text)

    @cached_property
    def cells(self):
        """Cells in the order of the tasks."""
        return [Cell(*key, units) for key, units in self._units.items()]

    @cached_property
    def primary(self):
        """Cells that the summary counts, with the unchanged embedding."""
        known = [cell for cell in self.cells if UNCHANGED in cell.units]
        return [cell for cell in known if is_primary(cell.task, cell.measure)]

    def find(self, task, encoder, measure):
        """Return a cell; an empty one if nothing was measured."""
        return Cell(task, encoder, measure, self._units.get((task, encoder, measure), {}))

    def tasks(self, ending):
        """Return the tasks and encoders of a kind, in order."""
        keys = ((task, encoder) for task, encoder, _ in self._units if task.endswith(ending))
        return list(dict.fromkeys(keys))

    def methods(self, names=tuple(NAMES)):
        """Return the methods that were measured."""
        return [name for name in names if name in self.parts]


# Texts of cells


def gain_text(difference, digits=1):
    """Return a gain with its interval, and a word if zero is outside."""
    d = difference
    text = f"{d.mean:+.{digits}f} [{d.low:+.{digits}f}, {d.high:+.{digits}f}]"
    if not d.is_clear:
        return text
    return f"{text} {'better' if d.mean > 0 else 'worse'}"


def measure_table(measured, cells):
    """Return the measure of the unchanged embedding and the gain of each method."""
    methods = [name for name in measured.methods() if name != UNCHANGED]
    rows = []
    for cell in cells:
        known = [cell.mean(name) for name in methods if name in cell.units]
        best = max(known, default=None)
        texts = [
            mark(gain_text(cell.gain(name)), cell.mean(name) == best) if name in cell.units else ""
            for name in methods
        ]
        title = [cell.task, cell.encoder, cell.measure, f"{cell.mean(UNCHANGED):.1f}"]
        rows.append([*title, *texts])
    header = ["task", "encoder", "measure", "unchanged", *(NAMES[name] for name in methods)]
    return page.table(header, rows, texts=["encoder", "measure"]) if rows and methods else ""


def label_table(measured):
    """Return the accuracies of each rule beside tuned logistic regression."""
    rows = []
    for task, encoder in measured.tasks("labels"):
        row = [task, encoder]
        for method in (UNCHANGED, OURS):
            row += [_number(measured.find(task, encoder, rule).mean(method)) for rule in RULES]
        probe = measured.find(task, encoder, PROBE)
        row += [_number(probe.mean(LOGISTIC)), _number(probe.mean(OURS))]
        gain = {LOGISTIC, OURS} <= set(probe.units)
        row.append(gain_text(probe.gain(OURS, LOGISTIC)) if gain else "")
        rows.append(row)
    rules = [f"{name}, {rule}" for name in ("unchanged", "adapter") for rule in RULES]
    header = ["task", "encoder", *rules, "LR raw", "LR mapped", "LR mapped - raw"]
    is_known = OURS in measured.parts and LOGISTIC in measured.parts
    return page.table(header, rows, texts=["encoder"]) if rows and is_known else ""


def _number(value):
    return "" if value is None else f"{value:.1f}"


def transfer_table(measured):
    """Return the gains on new intents, by rule."""
    methods = [
        name for name in measured.methods() if name not in (UNCHANGED, QUERY, STORED, "nudge")
    ]
    rows = []
    for task, encoder in measured.tasks("transfer"):
        for rule in TRANSFER:
            cell = measured.find(task, encoder, rule)
            if UNCHANGED in cell.units:
                gains = [gain_text(cell.gain(m)) if m in cell.units else "" for m in methods]
                rows.append([task, encoder, rule, f"{cell.mean(UNCHANGED):.1f}", *gains])
    header = ["task", "encoder", "rule", "unchanged", *(NAMES[name] for name in methods)]
    return page.table(header, rows, texts=["encoder", "rule"]) if rows and methods else ""


# Summaries


def summary_rows(measured):
    """Return gains and losses of each method, and how the adapter compares with it."""
    rows = []
    for method in measured.methods():
        cells = [cell for cell in measured.primary if method in cell.units]
        if method == UNCHANGED or not cells:
            continue
        gains = [cell.gain(method) for cell in cells]
        row = {"method": NAMES[method], "n_cells": len(cells)}
        row |= {"gain": float(np.mean([gain.mean for gain in gains]))} | count_clear(gains)
        rows.append(row | against(cells, method))
    return rows


def count_clear(gains):
    """Return how many gains are above and below zero, and how many clearly."""
    means = np.array([gain.mean for gain in gains])
    is_clear = np.array([gain.is_clear for gain in gains], dtype=bool)
    return {
        "better": int((means > 0).sum()),
        "clearly_better": int((is_clear & (means > 0)).sum()),
        "worse": int((means < 0).sum()),
        "clearly_worse": int((is_clear & (means < 0)).sum()),
    }


def against(cells, method):
    """Return on how many cells the adapter is not below a method, as text."""
    both = [cell for cell in cells if {method, OURS} <= set(cell.units)]
    if method in OWN or not both:
        return {"not_below": None, "not_clearly_below": None}
    gains = [cell.gain(OURS, method) for cell in both]
    counts = count_clear(gains)
    n = len(both)
    return {
        "not_below": f"{n - counts['worse']} of {n}",
        "not_clearly_below": f"{n - counts['clearly_worse']} of {n}",
    }


def target_rows(measured):
    """Return the targets, what was reached, and whether it is enough."""
    cells = [cell for cell in measured.primary if OURS in cell.units]
    if not cells:
        return []
    n, counts = len(cells), count_clear([cell.gain(OURS) for cell in cells])
    better, worse = counts["clearly_better"], counts["clearly_worse"]
    rows = [
        _target(
            "clearly worse than the unchanged embedding on none", f"{worse} of {n}", worse == 0
        ),
        _target("clearly better on two thirds", f"{better} of {n}", 3 * better >= 2 * n),
    ]
    for rival in measured.methods(RIVALS):
        both = [cell for cell in cells if rival in cell.units]
        if both:
            below = count_clear([cell.gain(OURS, rival) for cell in both])["worse"]
            reached = f"{len(both) - below} of {len(both)}"
            text = f"not below {NAMES[rival]} on three quarters, by the mean"
            rows.append(_target(text, reached, 4 * (len(both) - below) >= 3 * len(both)))
    return [*rows, *transfer_targets(measured)]


def coverage_text(measured):
    """Return on how many tasks and encoders the adapter was measured, if not on all."""
    n, n_all = sum(OURS in cell.units for cell in measured.primary), len(measured.primary)
    return f"{n} of {n_all}" if 0 < n < n_all else ""


def transfer_targets(measured):
    """Return the row of the target of transfer."""
    found = [measured.find(*key, rule) for key in measured.tasks("transfer") for rule in TRANSFER]
    found = [cell for cell in found if {UNCHANGED, OURS} <= set(cell.units)]
    gains = [cell.gain(OURS) for cell in found]
    n_met = sum(gain.mean >= TRANSFER_TARGET and gain.low > 0 for gain in gains)
    text = f"transfer: a gain of at least {TRANSFER_TARGET:g} point, interval without zero"
    return [_target(text, f"{n_met} of {len(gains)}", n_met == len(gains))] if gains else []


def _target(text, reached, is_met):
    return {"target": text, "reached": reached, "verdict": "yes" if is_met else "no"}


def loss_rows(measured):
    """Return the cells on which another method is clearly better than the adapter."""
    rows = []
    for cell in measured.cells:
        if OURS not in cell.units or not is_shown(cell):
            continue
        for method in measured.methods((UNCHANGED, *RIVALS)):
            if method in cell.units:
                gain = cell.gain(OURS, method)
                if gain.is_clear and gain.mean < 0:
                    where = {"task": cell.task, "encoder": cell.encoder, "measure": cell.measure}
                    rows.append(where | {"method": NAMES[method], "gain": gain_text(gain)})
    return rows


def is_shown(cell):
    """Return whether a cell is one of the summary or of transfer."""
    return is_primary(cell.task, cell.measure) or cell.task.endswith("transfer")


def report_rows(measured):
    """Return what the adapter says about itself: how often it changed the embedding."""
    rows = []
    for method in OWN:
        for task, records in measured.parts.get(method, {}).items():
            for encoder, record in records.items():
                said = record.get("said")
                if said:
                    strengths = [each["strength"] for each in said]
                    row = {"task": task, "encoder": encoder, "method": NAMES[method]}
                    row |= {"changed": sum(s > 0 for s in strengths), "n_fits": len(said)}
                    row["strengths"] = ", ".join(f"{s:g}" for s in strengths)
                    rows.append(
                        row | {"gap": max(e["gap"] for e in said), "said": said[0]["report"]}
                    )
    return rows


def second_table(measured):
    """Return the seconds of the first problem, with the choice of settings."""
    methods = [*measured.methods((*OWN, *RIVALS)), *measured.methods((LOGISTIC,))]
    rows = []
    for task, encoder in measured.tasks(""):
        records = [measured.parts[name].get(task, {}).get(encoder, {}) for name in methods]
        cells = [short(r["seconds"][0]) if "seconds" in r else NOTHING for r in records]
        rows.append([task, encoder, *cells])
    labels = [*(NAMES.get(name, PROBE) for name in methods)]
    header = ["task", "encoder", *labels]
    return page.table(header, rows, texts=["encoder"]) if methods and rows else ""


def setting_rows(measured):
    """Return what the rivals chose."""
    rows = []
    for method in measured.methods(RIVALS):
        for task, records in measured.parts[method].items():
            for encoder, record in records.items():
                if record.get("chosen"):
                    chosen = {**record["chosen"]}
                    chosen["strength"] = chosen.pop("strengths")[0]
                    text = ", ".join(f"{name} {value}" for name, value in chosen.items())
                    row = {"method": NAMES[method], "task": task, "encoder": encoder}
                    rows.append(row | {"chosen": text})
    return rows


def embeddings_page(parts):
    """Return all tables; those for which a part is absent are empty."""
    measured = Measured(parts)
    without = [cell for cell in measured.cells if cell.measure == WITHOUT]
    without = [cell for cell in without if UNCHANGED in cell.units]
    return {
        "summary": summary_rows(measured),
        "targets": target_rows(measured),
        "coverage": coverage_text(measured),
        "measures": measure_table(measured, measured.primary),
        "search": measure_table(measured, without),
        "labels": label_table(measured),
        "transfer": transfer_table(measured),
        "losses": loss_rows(measured),
        "reports": report_rows(measured),
        "seconds": second_table(measured),
        "settings": setting_rows(measured),
    }


# Figure

STYLES = {OURS: ("C0", "o"), QUERY: ("C0", "D"), STORED: ("C0", "P"), "ridge_map": ("C1", "s")}
STYLES |= {"adam_matrix": ("C3", "v"), "nudge": ("C2", "^")}


def draw(parts, path):
    """Draw the gain over the unchanged embedding with its interval, by task and method."""
    measured = Measured(parts)
    methods = [name for name in measured.methods() if name != UNCHANGED]
    cells = [cell for cell in measured.cells if UNCHANGED in cell.units and is_shown(cell)]
    if not cells or not methods:
        return
    from matplotlib.figure import Figure

    encoders = list(dict.fromkeys(cell.encoder for cell in cells))
    figure = Figure(figsize=(11, 10), layout="constrained")
    all_axes = figure.subplots(1, len(encoders), sharex=True, squeeze=False)[0]
    for axes, encoder in zip(all_axes, encoders, strict=True):
        _draw_encoder(axes, [cell for cell in cells if cell.encoder == encoder], methods)
        axes.set(title=encoder, xlabel="gain over the unchanged embedding, points")
    for axes in all_axes[1:]:
        axes.set_yticklabels([])
    handles = all_axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=len(methods), fontsize=8)
    figure.savefig(path, dpi=110)


def _draw_encoder(axes, cells, methods):
    """Draw the rows of an encoder: one for each task, methods below each other."""
    for k, method in enumerate(methods):
        color, marker = STYLES[method]
        known = [(y, cell.gain(method)) for y, cell in enumerate(cells) if method in cell.units]
        shift = 0.6 * (k / max(1, len(methods) - 1) - 0.5)
        x = [gain.mean for _, gain in known]
        ends = np.abs([[gain.mean - gain.low, gain.high - gain.mean] for _, gain in known]).T
        style = {"color": color, "ms": 4, "lw": 1, "label": NAMES[method]}
        style["mfc"] = "white" if method == QUERY else color
        axes.errorbar(x, [y + shift for y, _ in known], xerr=ends, fmt=marker, **style)
    for y in range(0, len(cells), 2):
        axes.axhspan(y - 0.5, y + 0.5, color="0.95", zorder=0)
    axes.axvline(0, color="grey", lw=0.8)
    names = [
        f"{cell.task}, {cell.measure}" if cell.task.endswith("transfer") else cell.name
        for cell in cells
    ]
    axes.set_yticks(range(len(cells)), names)
    axes.set_ylim(len(cells) - 0.5, -0.5)
    axes.grid(axis="x", alpha=0.3)
