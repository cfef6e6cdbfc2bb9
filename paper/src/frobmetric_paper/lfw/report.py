"""Tables and figures of the experiment with faces, beside the paper's numbers."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_curve

from frobmetric.plotting.style import COLOURS, lighten

from ..data.pairs import load_face_pictures
from ..harness import formatting
from ..harness.formatting import NOTHING, number, percent, seconds, with_error
from ..harness.page import bold, details, escape, panels, read_rows, table
from ..harness.summary import mean_of_known
from ..harness.task import NOT_RUN, Results, done
from .accuracy import compare, rule_mean
from .faces import MAIN, VARIANTS
from .findings import findings
from .methods import COUNTING, FROB

#: The paper's table over dimensions and triplets: percent, the number in brackets, CPU seconds.
PAPER = {
    (int(row["n_triplets"]), int(row["dimensions"])): row
    for row in read_rows(Path(__file__).with_name("paper.csv"))
}
PAPER_ACCURACY = {key: (float(row["accuracy"]), float(row["std"])) for key, row in PAPER.items()}
PAPER_SECONDS = {key: int(row["seconds"]) for key, row in PAPER.items()}
#: Its rows and columns.
N_TRIPLETS, DIMENSIONS = (tuple(sorted({key[i] for key in PAPER})) for i in (0, 1))
#: The paper's table of results by others, with one descriptor and one classifier and with several.
PUBLISHED = read_rows(Path(__file__).with_name("published.csv"))
#: False positive rates at which curves are averaged.
RATES = np.linspace(0, 1, 301)
#: Files of the figures, whose captions are on the page.
FIGURES = ("roc.svg", "triplets.png")
SPACES = {"identity": "principal components", "covariance": "whitened"}
SPACES |= {"within": "whitened within people"}


class Choice:
    """Choice for a method on View 1, from the cells of all tries in their order.

    `best` is the cell whose best rule decides most pairs right, None without an answer; `rules` are
    distance, cosine and the best rule that counts neighbours, of `neighbors` (at most one number).
    """

    def __init__(self, tries):
        self.tries = tries
        self.is_complete = all(cell.remark != NOT_RUN for cell in tries)
        self.best = max(done(tries), key=lambda cell: cell.best_share_right, default=None)
        self.setup = (self.best or tries[0]).task.setup
        self.rule, self.rules, self.neighbors = "", [], []
        if self.best:
            counting = [rule for rule in self.best.rules if rule.startswith(COUNTING)]
            self.rule = max(self.best.rules, key=self.best.share_right)
            self.rules = ["distance", "cosine", max(counting, key=self.best.share_right)]
            self.neighbors = [int(self.rules[-1].removeprefix(COUNTING))]


@dataclass
class FaceResults(Results):
    """Results of the experiment: all that the page shows follows from its cells."""

    plan: object
    # numbers of images, people and pairs of View 1 and a fold of View 2, in each variant
    sizes: list = field(default_factory=list)
    cells: list = field(default_factory=list)  # none twice
    left_out: dict = field(default_factory=dict)
    stored_curves: list | None = None  # `curves` of results.json; computed from cells if None

    def choice(self, method, variant):
        """Return the Choice for a method on View 1."""
        return Choice([cell for cell in self._cells(method, variant) if cell.is_try])

    def folds(self, method, variant, **changes):
        """Return the cells of View 2 with the chosen setup, or with some values changed."""
        choice = self.choice(method, variant)
        wanted = choice.setup.changed(changes).to_texts()
        wanted["neighbors"] = json.dumps(choice.neighbors)
        cells = [cell for cell in self._cells(method, variant) if not cell.is_try]
        return [c for c in cells if wanted == {name: getattr(c.task, name) for name in wanted}]

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

    def _own_rules(self):
        """Yield (variant, choice, rule, cells) of FrobMetric for each rule on View 2."""
        for variant in self.plan.variants:
            choice, cells = self.choice(FROB.name, variant), self.folds(FROB.name, variant)
            yield from ((variant, choice, rule, cells) for rule in choice.rules)

    # Files

    def rows(self):
        """Return a dictionary for each rule of each method, and of each place of the table."""
        rows = []
        for method, variant in self._rows_of_folds:
            where = {"part": "folds", "method": method.name, "variant": variant}
            rows += _csv_rows(self.folds(method.name, variant), where)
        for place in self.plan.places if self.cells else ():
            where = {"part": "table", "method": FROB.name, "variant": MAIN}
            rows += _csv_rows(self.place(*place), where, place)
        return rows

    def to_dict(self):
        return {
            "left_out": self.left_out.get("lfw", ""),
            "sizes": self.sizes,
            "choices": [self._choice_entry(*row) for row in self._rows_of_folds],
            "rows": self.rows(),
            "curves": self.curves(),
        } | super().to_dict()

    def _choice_entry(self, method, variant):
        choice = self.choice(method.name, variant)
        cell = choice.best or choice.tries[0]
        return {
            "method": method.name,
            "variant": variant,
            "is_complete": choice.is_complete,
            "outcome": cell.outcome,
            "remark": cell.remark,
            "recipe": asdict(choice.setup.recipe),
            "parameters": dict(choice.setup.parameters),
            "rule": choice.rule,
            "n_neighbors": next(iter(choice.neighbors), None),
            "accuracy": {rule: cell.share_right(rule) for rule in cell.rules},
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
        names = ("sizes", "choices", "tries", "folds", "accuracies", "times", "largest_gap")
        names += ("n_tries", "methods", "published")
        blocks = dict.fromkeys((*names, "findings", "no_best", "left_out", "no_triplets"), "")
        blocks["n_parts"] = str(self.plan.n_parts)
        if "lfw" in self.left_out:
            return blocks | {"left_out": escape(f"Left out: {self.left_out['lfw']}")}
        if not (folder / "triplets.png").is_file():
            reason = self.left_out.get("pictures", "--pictures was not given")
            blocks["no_triplets"] = escape(f"The figure is left out: {reason}.")
        blocks |= {name: getattr(self, f"_{name}")() for name in names}
        choices = [self.choice(FROB.name, variant) for variant in self.plan.variants]
        if not any(choice.best for choice in choices):
            return blocks | {"no_best": "Nothing is chosen yet."}
        return blocks | {
            "findings": "" if self.plan.quick else findings(self, PAPER_ACCURACY, PAPER_SECONDS)
        }

    def _sizes(self):
        rows = [
            [f"{v:,}" if isinstance(v, int) else _title(v) for v in size.values()]
            for size in self.sizes
        ]
        return table(list(self.sizes[0]), rows, texts=("variant",))

    def _choices(self):
        header = ["method", "variant", "chosen", "rule", "distance", "cosine", "MkNN", "remark"]
        rows = [
            [
                method.label,
                VARIANTS[variant],
                *_choice_row(self.choice(method.name, variant), method),
            ]
            for method, variant in self._rows_of_folds
        ]
        texts = table(header, rows, texts=("variant", "chosen", "rule", "remark"))
        return details("Choices for each method", texts)

    def _tries(self):
        """Return a table for each variant of every setup of FrobMetric that was tried."""
        tables = []
        for variant in self.plan.variants:
            choice = self.choice(FROB.name, variant)
            if choice.best is None:
                continue
            rules, method = list(choice.best.rules), self.plan.methods[-1]
            rows = []
            for cell in done(choice.tries):
                texts = {rule: percent(100 * cell.share_right(rule)) for rule in rules}
                if cell is choice.best:
                    texts[choice.rule] = bold(texts[choice.rule])
                rows.append([*_setup_values(cell.task.setup, method).values(), *texts.values()])
            header = [*_setup_values(choice.setup, method), *map(rule_name, rules)]
            text = f"{VARIANTS[variant]}: {_recipe_text(choice.setup.recipe)}"
            caption = f"FrobMetric on View 1, {text}. Bold: chosen."
            tables.append(details(f"Tries with {VARIANTS[variant]}", table(header, rows, caption)))
        return "\n\n".join(tables)

    def _folds(self):
        rows = []
        for variant, choice, rule, cells in self._own_rules():
            mean = rule_mean(cells, rule)
            row = [VARIANTS[variant], rule_name(rule), _n_folds(cells), _accuracy(cells, rule)]
            row += [percent(mean and mean.std), _area(cells, rule)]
            rows.append([*row, "yes" if rule == choice.rule else ""])
        header = ["known images", "rule", "folds", "accuracy", "standard deviation"]
        header += ["area below ROC", "chosen on View 1"]
        return table(header, rows, texts=("rule", "chosen on View 1"))

    def _accuracies(self):
        """Return a table over triplets and dimensions for the best rule and for MkNN."""
        choice = self.choice(FROB.name, MAIN)
        if choice.best is None or not any(done(self.place(*place)) for place in self.plan.places):
            return "Not run yet."
        return "\n\n".join(
            self._grid(
                lambda cells, rule=rule: _accuracy(cells, rule, with_std=True),
                lambda place: percent(PAPER_ACCURACY[place][0]),
                f"FrobMetric by the rule “{rule_name(rule)}”.",
            )
            for rule in dict.fromkeys([choice.rule, choice.rules[-1]])
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
        gap = _largest_gap([cell for place in self.plan.places for cell in self.place(*place)])
        return "" if gap is None else number(gap, 2)

    def _grid(self, ours, paper, caption):
        """Return rows of triplets, columns of dimensions, the paper's numbers behind ours."""

        def cell(*place):
            is_known = place in PAPER_ACCURACY and not self.plan.quick
            return ours(self.place(*place)) + (f" / {paper(place)}" if is_known else "")

        rows = [
            [f"{n:,}", *(cell(n, d) for d in self.plan.dimensions)] for n in self.plan.n_triplets
        ]
        return table(["triplets", *(f"{d}-D" for d in self.plan.dimensions)], rows, caption)

    def _n_tries(self):
        choices = {method.label: self.choice(method.name, MAIN) for method in self.plan.methods}
        return ", ".join(f"{label} {len(choice.tries)}" for label, choice in choices.items())

    def _methods(self):
        header = ["method", "dimensions", "folds", "distance", "cosine", "MkNN", "chosen rule"]
        header += ["area below ROC", "time", "remark"]
        rows = []
        for method in self.plan.methods:
            choice, cells = self.choice(method.name, MAIN), self.folds(method.name, MAIN)
            is_best = [method.name in best for best in self._best_by_rule]
            rows.append([method.label, *_method_row(choice, cells, is_best)])
        return table(header, rows, texts=("chosen rule", "remark"))

    @cached_property
    def _best_by_rule(self):
        """Names of the best methods, and those that may be chance, by each of the three rules."""
        answered = {}
        for method in self.plan.methods:
            choice, cells = self.choice(method.name, MAIN), done(self.folds(method.name, MAIN))
            if choice.best and cells:
                answered[method.name] = choice.rules, cells
        found = []
        for place in range(3):
            rows = {name: (cells, rules[place]) for name, (rules, cells) in answered.items()}
            first = max(rows, key=lambda name: rule_mean(*rows[name]).mean, default=None)
            near = [n for n in rows if compare(*rows[n], *rows[first]).high >= 0]
            found.append(near)
        return found

    def _published(self):
        rows = [[text or NOTHING for text in line.values()] for line in PUBLISHED]
        for variant, _, rule, cells in self._own_rules():
            if done(cells):
                name = f"FrobMetric, {rule_name(rule)}; {VARIANTS[variant]}"
                rows.append(["here", _accuracy(cells, rule, with_std=True), name, *[NOTHING] * 2])
        return table(list(PUBLISHED[0]), rows, texts=("name", "name of several"))

    # Figures

    def draw(self, folder):
        """Draw the curves, and triplets if they are wanted and there are pictures."""
        lines = self._lines() if self.cells else []
        if lines:
            _draw_curves(lines).savefig(folder / "roc.svg")
        if not self.cells or not self.plan.pictures:
            return
        try:
            cells = done(self.folds(FROB.name, MAIN))
            if not cells:
                raise ValueError("no fold is finished")
            pictures = load_face_pictures("lfw", folder=self.plan.data)
            drawing = _draw_triplets(cells[0].detail["examples"], pictures)
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
        for place, method in enumerate(self.plan.methods):
            choice, cells = self.choice(method.name, MAIN), self.folds(method.name, MAIN)
            if not done(cells):
                continue
            is_ours = method.name == FROB.name
            style = {"color": COLOURS[place % len(COLOURS)], "linewidth": 2.5 if is_ours else 1.3}
            shown = {choice.rule: "-"} | ({choice.rules[-1]: "--"} if is_ours else {})
            for rule, line in (shown | {choice.rule: "-"}).items():
                area = rule_mean(cells, rule, "area").mean
                label = f"{method.label}, {rule_name(rule)} ({area:.1f})"
                lines.append((label, curves[method.name, rule], style | {"linestyle": line}))
        return lines


def _title(name):
    """Return the name of a variant or a split for people; folds are counted from 1."""
    fold = re.fullmatch(r"fold(\d+)", name)
    titles = VARIANTS | {"view1": "View 1"}
    return f"fold {int(fold[1]) + 1}" if fold else titles.get(name, name)


def _draw_curves(lines):
    drawing, (ax,) = panels(1, size=(10.5, 6), subplot_kw={"xlim": (0, 0.5), "ylim": (0.5, 1)})
    for label, rates, style in lines:
        ax.plot(RATES, rates, label=label, **style)
    ax.set(xlabel="false positive rate", ylabel="true positive rate")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    lighten(ax)
    return drawing


def _draw_triplets(examples, pictures):
    """Draw some triplets of faces, given as rows of pictures: anchor, near, far."""
    rows = np.ravel(examples)
    drawing, axes = panels(len(rows), 6, (1.1, 1.5))
    for ax, row in zip(axes, rows, strict=True):
        ax.set_axis_off()
        ax.imshow(pictures[row], cmap="gray", vmin=0, vmax=255)
    return drawing


# Numbers


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


def _csv_rows(cells, where, place=None):
    """Return a row for each rule; `place` is that of the paper's table."""
    first = next(iter(done(cells)), None)
    if first is None:
        return []
    size = first.detail.get("n_triplets"), first.task.setup.recipe.n_dimensions
    n_triplets, dimensions = place or size
    accuracy, std = PAPER_ACCURACY.get(place, (None, None))
    means = {rule: rule_mean(cells, rule) for rule in first.rules}
    return [
        {
            **where,
            "dimensions": dimensions,
            "n_triplets": n_triplets,
            "rule": rule,
            "folds": mean.n,
            "accuracy": mean.mean,
            "std": mean.std,
            "standard_error": mean.error,
            "area": rule_mean(cells, rule, "area").mean,
            "seconds": mean_of_known([cell.seconds for cell in done(cells)]),
            "relative_gap": _largest_gap(cells),
            "paper_accuracy": accuracy,
            "paper_std": std,
            "paper_seconds": PAPER_SECONDS.get(place),
        }
        for rule, mean in means.items()
    ]


# Texts


def rule_name(rule):
    """Return the name of a rule for people."""
    return rule.replace(COUNTING, "MkNN, k = ")


def _accuracy(cells, rule, with_std=False):
    """Return the accuracy of a rule over folds, or why there is none."""
    mean = rule_mean(cells, rule)
    if mean is None:
        return formatting.outcome(cells[0])
    return percent(mean.mean, mean.std) if with_std else with_error(mean.mean, mean.error)


def _area(cells, rule):
    mean = rule_mean(cells, rule, "area")
    return percent(mean and mean.mean)


def _n_folds(cells):
    return formatting.count(len(done(cells)), len(cells))


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


def _method_row(choice, cells, is_best):
    remark = next((cell.remark for cell in cells if cell.remark), "")
    if choice.best is None:
        return [*[NOTHING] * 2, *[formatting.outcome(choice.tries[0])] * 3, *[NOTHING] * 3, remark]
    return [
        str(choice.setup.recipe.n_dimensions),
        _n_folds(cells),
        *(
            bold(_accuracy(cells, rule)) if best else _accuracy(cells, rule)
            for rule, best in zip(choice.rules, is_best, strict=True)
        ),
        rule_name(choice.rule),
        _area(cells, choice.rule),
        seconds(mean_of_known([cell.seconds for cell in cells]) or None),
        remark,
    ]


def _setup_text(setup, method):
    """Return the values of a setup that are chosen for a method, in one text."""
    return formatting.parameters(_setup_values(setup, method))


def _setup_values(setup, method):
    """Return the values of a setup that are chosen for a method, as texts by name."""
    names = [name for names in method.search for name in names.split()]
    values = asdict(setup.recipe) | dict(setup.parameters)
    known = {name: values.get(name) for name in names}
    return {n: "none" if v is None else formatting.parameter(v) for n, v in known.items()}


def _recipe_text(recipe):
    """Return in a sentence how images become vectors."""
    root = "square roots of the descriptors" if recipe.root else "descriptors"
    unit = ", each vector at unit length" if recipe.unit else ""
    return f"{root}, PCA to {recipe.n_dimensions} dimensions, {SPACES[recipe.space]}{unit}"
