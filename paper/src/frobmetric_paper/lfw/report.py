"""Tables and figures of the experiment with faces, beside the paper's numbers."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from functools import cached_property

import numpy as np
from sklearn.metrics import roc_curve

from frobmetric._environment import require
from frobmetric.plotting.style import COLOURS, lighten

from ..data.pairs import load_face_pictures
from ..harness import formatting
from ..harness.formatting import NOTHING, percent, seconds, with_error
from ..harness.page import escape, figure, table
from ..harness.summary import Mean, mean_of_known
from ..harness.task import NOT_RUN, Results, done
from .faces import MAIN, VARIANTS
from .methods import COUNTING, FROB

# The paper's numbers, in percent and seconds

#: Columns and rows of the paper's table over dimensions and triplets.
DIMENSIONS = (100, 200, 300, 400)
N_TRIPLETS = (3_000, 6_000, 9_000, 12_000, 15_000, 18_000)


def _by_place(*rows):
    """Return the numbers of a table as (number of triplets, dimensions) -> number."""
    places = [(count, dimensions) for count in N_TRIPLETS for dimensions in DIMENSIONS]
    return dict(zip(places, [number for row in rows for number in row], strict=True))


#: Accuracy in percent, and the number in brackets after it.
PAPER_ACCURACY = _by_place(
    ((82.10, 1.21), (83.29, 1.59), (83.81, 1.04), (84.08, 1.18)),
    ((82.26, 1.27), (83.55, 1.28), (84.06, 1.06), (83.91, 1.48)),
    ((82.40, 1.30), (83.62, 1.18), (84.08, 0.92), (84.34, 1.23)),
    ((82.50, 1.22), (83.86, 1.18), (84.13, 0.84), (84.19, 1.31)),
    ((82.55, 1.30), (83.70, 1.22), (84.29, 0.77), (84.27, 0.90)),
    ((82.72, 1.24), (83.69, 1.23), (84.20, 0.84), (84.32, 1.45)),
)
#: Seconds of processor time.
PAPER_SECONDS = _by_place(
    (51, 215, 373, 937),
    (100, 222, 661, 1_312),
    (142, 534, 1_349, 3_499),
    (186, 647, 1_295, 6_418),
    (235, 704, 1_706, 3_616),
    (237, 830, 2_342, 7_621),
)
#: The paper's table of results by others: authors, accuracy with one descriptor and one classifier,
#: its name, accuracy with several, its name.
PUBLISHED = (
    ("Turk et al.", "60.02 (0.79)", "Eigenfaces", "", ""),
    ("Nowak et al.", "73.93 (0.49)", "Nowak-funneled", "", ""),
    ("Huang et al.", "70.52 (0.60)", "Merl", "76.18 (0.58)", "Merl+Nowak"),
    ("Wolf et al., 2008", "", "", "78.47 (0.51)", "Hybrid descriptor-based"),
    ("Wolf et al., 2009", "72.02", "", "86.83 (0.34)", "Combined b/g samples based methods"),
    ("Pinto et al.", "79.35 (0.55)", "V1-like/MKL", "", ""),
    ("Taigman et al.", "83.20 (0.77)", "", "89.50 (0.40)", "Multishot combined"),
    ("Kumar et al.", "", "", "85.29 (1.23)", "attribute + simile classifiers"),
    ("Cao et al.", "81.22 (0.53)", "single LE + holistic", "84.45 (0.46)", "multiple LE + comp"),
    ("Guillaumin et al.", "83.2 (0.4)", "LDML", "87.5 (0.4)", "LMNN + LDML"),
    ("the paper", "84.34 (1.23)", "FrobMetric on SIFT", "", ""),
)

# Results

#: False positive rates at which curves are averaged.
RATES = np.linspace(0, 1, 301)


@dataclass(frozen=True)
class Choice:
    """Choice for a method on View 1."""

    tries: list  # in their order

    @cached_property
    def best(self):
        """The cell whose best rule decides most pairs right; None without an answer."""
        return max(done(self.tries), key=lambda cell: cell.best_share_right, default=None)

    @property
    def is_complete(self):
        """Return whether all values were tried."""
        return all(cell.remark != NOT_RUN for cell in self.tries)

    @property
    def setup(self):
        return (self.best or self.tries[0]).task.setup

    @property
    def rule(self):
        """The best rule."""
        return max(self.best.rules, key=self.best.share_right)

    @property
    def counting_rule(self):
        """The best rule that counts neighbours."""
        counting = [rule for rule in self.best.rules if rule.startswith(COUNTING)]
        return max(counting, key=self.best.share_right)

    @property
    def neighbors(self):
        """Numbers of neighbours that are counted on View 2: the chosen one."""
        return [int(self.counting_rule.removeprefix(COUNTING))] if self.best else []

    @property
    def rules(self):
        """Distance, cosine, and the best rule that counts neighbours."""
        return ["distance", "cosine", self.counting_rule]


@dataclass
class FaceResults(Results):
    """Results of the experiment: all that the page shows follows from its cells."""

    plan: object
    # numbers of images, people and pairs of View 1 and a fold of View 2, in each variant
    sizes: list = field(default_factory=list)
    cells: list = field(default_factory=list)  # none twice
    left_out: dict = field(default_factory=dict)  # part -> reason
    stored_curves: list | None = None  # `curves` of results.json; computed from cells if None

    def choice(self, method, variant):
        """Return the Choice for a method on View 1."""
        return Choice([cell for cell in self._cells(method, variant) if _is_try(cell)])

    def folds(self, method, variant, **changes):
        """Return the cells of View 2 with the chosen setup, or with some values changed."""
        choice = self.choice(method, variant)
        wanted = choice.setup.changed(changes).to_texts() | {
            "neighbors": json.dumps(choice.neighbors)
        }
        return [
            cell
            for cell in self._cells(method, variant)
            if not _is_try(cell)
            and all(getattr(cell.task, name) == text for name, text in wanted.items())
        ]

    def place(self, count, dimensions):
        """Return the cells of a place of the table."""
        return self.folds(FROB.name, MAIN, n_triplets=count, n_dimensions=dimensions)

    def _cells(self, method, variant):
        return [c for c in self.cells if (c.task.method, c.task.variant) == (method, variant)]

    @property
    def _rows_of_folds(self):
        """(method, variant) of each row of View 2; none if nothing could be read."""
        variants = self.plan.variants if self.cells else ()
        return [(method, each) for each in variants for method in self.plan.methods_of(each)]

    # Files

    def rows(self):
        """Return a dictionary for each rule of each method, and of each place of the table."""
        rows = []
        for method, variant in self._rows_of_folds:
            cells = self.folds(method.name, variant)
            rows += _csv_rows(cells, {"part": "folds", "method": method.name, "variant": variant})
        for place in self.plan.places if self.cells else ():
            where = {"part": "table", "method": FROB.name, "variant": MAIN}
            where |= dict(zip(("n_triplets", "dimensions"), place, strict=True))
            rows += _csv_rows(self.place(*place), where, place)
        return rows

    def to_dict(self):
        """Return the entries of results.json."""
        return {
            "left_out": self.left_out.get("lfw", ""),
            "sizes": self.sizes,
            "choices": [self._choice_entry(*row) for row in self._rows_of_folds],
            "rows": self.rows(),
            "curves": self.curves(),
            "cells": [cell.to_dict(cell.unsaved) for cell in self.cells],
        }

    def _choice_entry(self, method, variant):
        choice = self.choice(method.name, variant)
        entry = {"method": method.name, "variant": variant, "is_complete": choice.is_complete}
        if choice.best is None:
            first = choice.tries[0]
            return entry | {"outcome": first.outcome, "remark": first.remark}
        return entry | {
            "recipe": asdict(choice.setup.recipe),
            "parameters": dict(choice.setup.parameters),
            "rule": choice.rule,
            "n_neighbors": choice.neighbors[0],
            "accuracy": {rule: choice.best.share_right(rule) for rule in choice.best.rules},
        }

    def curves(self):
        """Return the mean ROC of each rule of each method."""
        if self.stored_curves is not None:
            return self.stored_curves
        rows = [
            (method.name, variant, done(self.folds(method.name, variant)))
            for method, variant in self._rows_of_folds
        ]
        return [
            {
                "method": method,
                "variant": variant,
                "rule": rule,
                "false_positive_rate": RATES.round(5).tolist(),
                "true_positive_rate": mean_curve(cells, rule).round(5).tolist(),
            }
            for method, variant, cells in rows
            for rule in (cells[0].rules if cells else ())
        ]

    # Page

    def blocks(self, folder):
        """Return the placeholders of the page."""
        names = ("sizes", "choices", "tries", "folds", "best", "accuracies", "times", "largest_gap")
        names += ("n_tries", "methods", "published")
        blocks = dict.fromkeys((*names, "roc", "triplets"), "")
        blocks |= {"n_parts": str(self.plan.n_parts), "left_out": ""}
        if "lfw" in self.left_out:
            return blocks | {"left_out": escape(f"Left out: {self.left_out['lfw']}")}
        blocks |= {name: getattr(self, f"_{name}")() for name in names}
        for file, caption in FIGURES.items():
            blocks[file.removesuffix(".png")] = figure(folder, file, caption)
        reason = self.left_out.get("pictures", "--pictures was not given")
        blocks["triplets"] = blocks["triplets"] or escape(f"The figure is left out: {reason}.")
        return blocks

    def _sizes(self):
        names = list(self.sizes[0])
        rows = [
            [
                f"{value:,}" if isinstance(value, int) else VARIANTS.get(value, value)
                for value in size.values()
            ]
            for size in self.sizes
        ]
        return table(names, rows, texts=("variant",))

    def _choices(self):
        header = ["method", "variant", "chosen", "rule", "distance", "cosine", "MkNN", "remark"]
        rows = [
            [method.label, variant, *_choice_row(self.choice(method.name, variant), method)]
            for method, variant in self._rows_of_folds
        ]
        return table(header, rows, texts=("variant", "chosen", "rule", "remark"))

    def _tries(self):
        """Return a table for each variant of every setup of FrobMetric that was tried."""
        method = next(each for each in self.plan.methods if each.name == FROB.name)
        tables = []
        for variant in self.plan.variants:
            choice = self.choice(FROB.name, variant)
            if choice.best is None:
                continue
            rules = list(choice.best.rules)
            rows = [
                [
                    _setup_text(cell.task.setup, method),
                    *(percent(100 * cell.share_right(rule)) for rule in rules),
                    "chosen" if cell is choice.best else "",
                ]
                for cell in done(choice.tries)
            ]
            header = [f"{variant}: setup", *map(rule_name, rules), " "]
            text = f"{VARIANTS[variant]}: {_recipe_text(choice.setup.recipe)}"
            tables.append(table(header, rows, f"FrobMetric on View 1, {text}.", texts=(" ",)))
        return "\n\n".join(tables)

    def _folds(self):
        rows = []
        for variant in self.plan.variants:
            choice, cells = self.choice(FROB.name, variant), self.folds(FROB.name, variant)
            for rule in choice.rules if choice.best else ():
                result = RuleMean.of(cells, rule)
                rows.append(
                    [
                        VARIANTS[variant],
                        rule_name(rule),
                        formatting.count(len(done(cells)), len(cells)),
                        _accuracy(cells, rule),
                        percent(result and result.accuracy.std),
                        percent(result and result.area),
                        "yes" if rule == choice.rule else "",
                    ]
                )
        header = ["known images", "rule", "folds", "accuracy", "standard deviation"]
        header += ["area below ROC", "chosen on View 1"]
        return table(header, rows, texts=("rule", "chosen on View 1"))

    def _best(self):
        """Return the accuracy of the variant and rule that View 1 prefers, in a sentence."""
        choices = {variant: self.choice(FROB.name, variant) for variant in self.plan.variants}
        choices = {variant: choice for variant, choice in choices.items() if choice.best}
        if not choices:
            return "Nothing is chosen yet."
        variant = max(choices, key=lambda each: choices[each].best.best_share_right)
        rule = choices[variant].rule
        result = RuleMean.of(self.folds(FROB.name, variant), rule)
        if result is None:
            return "No fold is finished."
        best, _ = max(PAPER_ACCURACY.values())
        return (
            f"View 1 prefers {VARIANTS[variant]} and the rule “{rule_name(rule)}”: "
            f"{with_error(result.accuracy.mean, result.accuracy.error)} % on View 2. The paper's "
            f"best is {best} %, by MkNN."
        )

    def _accuracies(self):
        """Return a table over triplets and dimensions for the best rule and for MkNN."""
        choice = self.choice(FROB.name, MAIN)
        if choice.best is None or not any(done(self.place(*place)) for place in self.plan.places):
            return "Not run yet."
        return "\n\n".join(
            self._grid(
                lambda cells, rule=rule: _accuracy(cells, rule, with_std=True),
                lambda place: percent(*PAPER_ACCURACY[place]),
                f"FrobMetric by the rule “{rule_name(rule)}”.",
            )
            for rule in dict.fromkeys([choice.rule, choice.counting_rule])
        )

    def _times(self):
        if self._largest_gap() == "":
            return ""
        return self._grid(
            lambda cells: seconds(mean_of_known([cell.seconds for cell in cells])),
            lambda place: seconds(PAPER_SECONDS[place]),
            "Time of one fit, the mean over folds, by the clock and without the search for "
            "triplets; the paper's is CPU time.",
        )

    def _largest_gap(self):
        gaps = [_largest_gap(self.place(*place)) for place in self.plan.places]
        known = [gap for gap in gaps if gap is not None]
        return f"{max(known):.1e}" if known else ""

    def _grid(self, ours, paper, caption=""):
        """Return rows of triplets, columns of dimensions, the paper's numbers below ours."""
        rows = []
        for count in self.plan.n_triplets:
            places = [(count, dimensions) for dimensions in self.plan.dimensions]
            rows.append([f"{count:,}", *(ours(self.place(*place)) for place in places)])
            theirs = [paper(place) if place in PAPER_ACCURACY else NOTHING for place in places]
            rows.append(["… the paper's", *theirs])
        return table(["triplets", *(f"{d}-D" for d in self.plan.dimensions)], rows, caption)

    def _n_tries(self):
        return ", ".join(
            f"{method.label} {len(self.choice(method.name, MAIN).tries)}"
            for method in self.plan.methods
        )

    def _methods(self):
        header = ["method", "dimensions", "folds", "distance", "cosine", "MkNN", "chosen rule"]
        header += ["area below ROC", "time", "remark"]
        rows = [
            [
                method.label,
                *_method_row(self.choice(method.name, MAIN), self.folds(method.name, MAIN)),
            ]
            for method in self.plan.methods
        ]
        return table(header, rows, texts=("chosen rule", "remark"))

    def _published(self):
        header = ["authors", "one descriptor", "name", "several", "name of several"]
        rows = [[text or NOTHING for text in line] for line in PUBLISHED]
        for variant in self.plan.variants:
            choice, cells = self.choice(FROB.name, variant), self.folds(FROB.name, variant)
            for rule in choice.rules if done(cells) else ():
                name = f"FrobMetric, {rule_name(rule)}; {VARIANTS[variant]}"
                rows.append(["here", _accuracy(cells, rule, with_std=True), name, *[NOTHING] * 2])
        return table(header, rows, texts=("name", "name of several"))

    # Figures

    def draw(self, folder):
        """Draw the curves, and triplets if they are wanted and there are pictures."""
        if not self.cells:
            return
        if self._lines():
            self._draw_curves().savefig(folder / "roc.png", dpi=110)
        cells = done(self.folds(FROB.name, MAIN))
        if not self.plan.pictures:
            return
        try:
            if not cells:
                raise ValueError("no fold is finished")
            pictures = load_face_pictures("lfw", folder=self.plan.data)
            drawing = draw_triplets(cells[0].detail["examples"], pictures)
            drawing.savefig(folder / "triplets.png", dpi=110)
        except (OSError, ValueError) as error:
            self.left_out = self.left_out | {"pictures": str(error)}

    def _lines(self):
        """Return label, rates and style of the curve of each method."""
        curves = {
            (each["method"], each["rule"]): each["true_positive_rate"]
            for each in self.curves()
            if each["variant"] == MAIN
        }
        lines = []
        for number, method in enumerate(self.plan.methods):
            choice, cells = self.choice(method.name, MAIN), self.folds(method.name, MAIN)
            if not done(cells):
                continue
            is_ours = method.name == FROB.name
            style = {"color": COLOURS[number % len(COLOURS)], "linewidth": 2.5 if is_ours else 1.3}
            shown = {choice.rule: "-"} | ({choice.counting_rule: "--"} if is_ours else {})
            for rule, line in (shown | {choice.rule: "-"}).items():
                area = RuleMean.of(cells, rule).area
                label = f"{method.label}, {rule_name(rule)} ({area:.1f})"
                lines.append((label, curves[method.name, rule], style | {"linestyle": line}))
        return lines

    def _draw_curves(self):
        kind = require("matplotlib.figure", "plot").Figure
        drawing = kind(figsize=(10.5, 6), layout="constrained")
        ax = drawing.add_subplot()
        for label, rates, style in self._lines():
            ax.plot(RATES, rates, label=label, **style)
        ax.set_xlim(0, 0.5)
        ax.set_ylim(0.5, 1)
        ax.set_xlabel("false positive rate")
        ax.set_ylabel("true positive rate")
        ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
        lighten(ax)
        return drawing


def draw_triplets(examples, pictures):
    """Draw some triplets of faces, given as rows of pictures: anchor, near, far."""
    n_rows = -(-len(examples) // 2)
    kind = require("matplotlib.figure", "plot").Figure
    drawing = kind(figsize=(6.6, 1.5 * n_rows), layout="constrained")
    axes = drawing.subplots(n_rows, 6, squeeze=False).ravel()
    for ax in axes:
        ax.set_axis_off()
    for ax, row in zip(axes, [row for triplet in examples for row in triplet], strict=False):
        ax.imshow(pictures[row], cmap="gray", vmin=0, vmax=255)
    return drawing


#: File -> caption.
FIGURES = {
    "roc.png": "ROC of each method, by the rule that was chosen for it on View 1: means over the "
    "folds of View 2. The mean area below the curves is in brackets, in percent. The dashed line "
    "is FrobMetric by MkNN.",
    "triplets.png": "Triplets from the training pairs of a fold, two in a row: of each three "
    "pictures the first two are of one person, the third is of another.",
}


# Numbers


@dataclass(frozen=True)
class RuleMean:
    """Accuracy and mean area below the ROC of a rule over its finished folds, in percent."""

    accuracy: Mean
    area: float

    @classmethod
    def of(cls, cells, rule):
        """Return the RuleMean of some cells; None if no fold is finished."""
        results = [cell.rules[rule] for cell in done(cells)]
        if not results:
            return None
        accuracy = Mean.of([100 * result["accuracy"] for result in results])
        return cls(accuracy, 100 * float(np.mean([result["area"] for result in results])))


def mean_curve(cells, rule):
    """Return the mean true positive rates of a rule at `RATES`, over finished folds."""
    rates = []
    for cell in done(cells):
        same = np.array(list(cell.same)) == "1"
        false, true, _ = roc_curve(same, cell.scores[rule], drop_intermediate=False)
        rates.append(np.interp(RATES, false, true))
    return np.mean(rates, axis=0)


def _largest_gap(cells):
    gaps = [cell.detail.get("relative_gap") for cell in done(cells)]
    return max((gap for gap in gaps if gap is not None), default=None)


def _is_try(cell):
    return cell.task.split == "view1"


def _csv_rows(cells, where, place=None):
    """Return a row for each rule; `place` is that of the paper's table."""
    first, accuracy = (*done(cells), None)[0], PAPER_ACCURACY.get(place, (None, None))
    rows = []
    for rule in first.rules if first else ():
        result = RuleMean.of(cells, rule)
        rows.append(
            {
                **dict.fromkeys(("part", "method", "variant")),
                "dimensions": first.task.setup.recipe.n_dimensions,
                "n_triplets": first.detail.get("n_triplets"),
                **where,
                "rule": rule,
                "folds": result.accuracy.n,
                "accuracy": result.accuracy.mean,
                "std": result.accuracy.std,
                "standard_error": result.accuracy.error,
                "area": result.area,
                "seconds": mean_of_known([cell.seconds for cell in done(cells)]),
                "relative_gap": _largest_gap(cells),
                "paper_accuracy": accuracy[0],
                "paper_std": accuracy[1],
                "paper_seconds": PAPER_SECONDS.get(place),
            }
        )
    return rows


# Texts


def rule_name(rule):
    """Return the name of a rule for people."""
    if rule.startswith(COUNTING):
        return f"MkNN, k = {rule.removeprefix(COUNTING)}"
    return rule


def _accuracy(cells, rule, with_std=False):
    """Return the accuracy of a rule over folds, or why there is none."""
    result = RuleMean.of(cells, rule)
    if result is None:
        return formatting.outcome(cells[0])
    mean = result.accuracy
    return percent(mean.mean, mean.std) if with_std else with_error(mean.mean, mean.error)


def _choice_row(choice, method):
    if choice.best is None:
        first = choice.tries[0]
        return [*[formatting.outcome(first)] * 5, first.remark]
    return [
        _setup_text(choice.setup, method),
        rule_name(choice.rule),
        *(percent(100 * choice.best.share_right(rule)) for rule in choice.rules),
        choice.best.remark if choice.is_complete else "not all values were tried",
    ]


def _method_row(choice, cells):
    remark = next((cell.remark for cell in cells if cell.remark), "")
    if choice.best is None:
        return [*[NOTHING] * 2, *[formatting.outcome(choice.tries[0])] * 3, *[NOTHING] * 3, remark]
    result = RuleMean.of(cells, choice.rule)
    return [
        str(choice.setup.recipe.n_dimensions),
        formatting.count(len(done(cells)), len(cells)),
        *(_accuracy(cells, rule) for rule in choice.rules),
        rule_name(choice.rule),
        percent(result and result.area),
        seconds(mean_of_known([cell.seconds for cell in cells]) or None),
        remark,
    ]


def _setup_text(setup, method):
    """Return the values of a setup that are chosen for a method."""
    names = [name for names in method.search for name in names.split()]
    values = {name: setup.parameters.get(name, getattr(setup.recipe, name, None)) for name in names}
    return formatting.parameters({n: "none" if v is None else v for n, v in values.items()})


def _recipe_text(recipe):
    """Return in a sentence how images become vectors."""
    spaces = {"identity": "principal components", "covariance": "whitened"}
    space = spaces.get(recipe.space, "whitened within people")
    root = "square roots of the descriptors" if recipe.root else "descriptors"
    unit = ", each vector at unit length" if recipe.unit else ""
    return f"{root}, PCA to {recipe.n_dimensions} dimensions, {space}{unit}"
