"""Experiment with faces: choices on View 1, ten folds of View 2, a table, other methods."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from ..data.pairs import load_faces
from ..harness import formatting, task
from ..harness.run import coordinate_search, n_tries
from ..harness.task import NOT_RUN, as_json, checksum
from .faces import MAIN, VARIANTS, Images, Recipe, view1, view2
from .methods import FROB, METHODS, NEIGHBORS, Method, Setup, decide, score
from .report import DIMENSIONS, FIGURES, N_TRIPLETS, FaceResults, rule_name

#: Parts of the experiment in the order of work; the choices that a part needs are made with it.
PARTS = ("choice", "folds", "table", "methods")
#: Significant digits of a score that are kept.
DIGITS = 6


# Tasks and cells


@dataclass(frozen=True, kw_only=True)
class Task(task.Task):
    """A method learned from one split of the pairs."""

    split: str
    variant: str
    recipe: str  # recipe of the setup, as JSON
    parameters: str  # parameters of the setup, as JSON
    neighbors: str  # numbers of neighbours of marginalised k-NN, as JSON
    n_parts: int  # number of parts of the training pairs, for thresholds

    @property
    def place(self):
        return f"{self.split}-{self.variant}"

    @property
    def where(self):
        recipe = self.setup.recipe
        size = f"{recipe.n_dimensions}-D, {recipe.n_triplets:,} triplets"
        return f"{self.split}, {self.variant}: {size}"

    @property
    def setup(self):
        return Setup.from_texts(self.recipe, self.parameters)


@dataclass(frozen=True, kw_only=True)
class Cell(task.Cell):
    """Result of one method in one split."""

    task_type: ClassVar = Task
    unsaved: ClassVar = ("machine", "same", "scores")

    rules: dict = field(default_factory=dict)  # name of a rule -> result of `decide`
    n_held_out: int = 0  # number of pairs that thresholds are from
    n_test: int = 0  # number of test pairs
    same: str = ""  # a digit for each test pair, 1 if it shows one person
    scores: dict = field(default_factory=dict)  # name of a rule -> scores of the test pairs

    @property
    def is_try(self):
        """Return whether the cell is of View 1, where setups are chosen."""
        return self.task.split == "view1"

    @property
    def summary(self):
        rule = max(self.rules, key=lambda rule: self.rules[rule]["held_out"])
        accuracy = formatting.percent(100 * self.rules[rule]["accuracy"])
        return f"{accuracy} % by {rule_name(rule)}   {formatting.seconds(self.seconds)}"

    def share_right(self, rule):
        """Return the share that a rule decides right of held-out and test pairs together.

        Choices on View 1 are made by it: its test pairs alone are too few.
        """
        result = self.rules[rule]
        right = self.n_held_out * result["held_out"] + self.n_test * result["accuracy"]
        return right / (self.n_held_out + self.n_test)

    @property
    def best_share_right(self):
        """The largest `share_right` of all rules, by which a setup is chosen."""
        return max(map(self.share_right, self.rules))


def measure(method, setup, task, images, split, limit):
    """Return the fields of the cell of a task.

    The method learns from all training pairs, by which test pairs are scored; and once more for
    each part of them, from the others, by which that part is scored: thresholds are from there.
    """
    neighbors, n_parts = json.loads(task.neighbors), task.n_parts
    W, fitted = method.map(images, split, setup, limit, task.threads)
    scores = score(W, split, split.test, neighbors)
    n_triplets = max(1, round((1 - 1 / n_parts) * setup.recipe.n_triplets))
    fewer, held_out, same = setup.changed({"n_triplets": n_triplets}), [], []
    for part in split.parts(n_parts):
        W, _ = method.map(images, part, fewer, limit, task.threads)
        held_out.append(score(W, part, part.test, neighbors))
        same.append(part.test.same)
    same = np.concatenate(same)
    together = {rule: np.concatenate([each[rule] for each in held_out]) for rule in scores}
    rules = {rule: decide(scores[rule], split.test.same, together[rule], same) for rule in scores}
    return {
        "remark": fitted.detail.get("remark", ""),
        "rules": rules,
        "n_held_out": len(same),
        "n_test": len(split.test.same),
        "same": "".join("01"[int(each)] for each in split.test.same),
        "scores": {rule: [float(f"{v:.{DIGITS}g}") for v in scores[rule]] for rule in scores},
        "seconds": float(fitted.seconds),
        "detail": as_json(fitted.detail),
    }


# The experiment


@dataclass(frozen=True)
class FaceExperiment:
    """Plan of the experiment."""

    name: ClassVar = "lfw"
    template: ClassVar = Path(__file__).with_name("page.md")
    cell_type: ClassVar = Cell
    merges: ClassVar = False
    figures: ClassVar = FIGURES

    recipe: Recipe = field(default_factory=Recipe)  # the recipe with which every choice begins
    methods: tuple[Method, ...] = tuple(METHODS.values())  # FrobMetric is the last one
    folds: tuple[int, ...] = tuple(range(10))  # folds of View 2
    variants: tuple[str, ...] = tuple(VARIANTS)
    dimensions: tuple[int, ...] = DIMENSIONS  # columns of the table
    n_triplets: tuple[int, ...] = N_TRIPLETS  # rows of the table
    neighbors: tuple[int, ...] = NEIGHBORS  # of marginalised k-NN, to choose from
    n_parts: int = 5  # number of parts of the training pairs, for thresholds
    quick: bool = False
    pictures: bool = False  # whether to draw some triplets
    data: Path | None = None  # folder of the data files; by default ``FROBMETRIC_DATA``

    def methods_of(self, variant):
        """Return the methods that are run in a variant: only FrobMetric in the second one."""
        return [each for each in self.methods if variant == MAIN or each.name == FROB.name]

    @property
    def places(self):
        """(number of triplets, dimensions) of each place of the table."""
        return [(count, d) for d in self.dimensions for count in self.n_triplets]

    def n_cells(self, parts):
        """Return the number of cells of some parts, if every method gives an answer."""
        others = [name for name in self.variants if name != MAIN]
        tries = {method.name: n_tries(method.search) for method in self.methods}
        first = sum(tries.values()) if needs_all_choices(parts) else tries[FROB.name]
        count = first + len(others) * tries[FROB.name]
        # those of the table may be the chosen ones
        own = set(self.places) if "table" in parts else set()
        if "folds" in parts or "methods" in parts:
            own.add((self.recipe.n_triplets, self.recipe.n_dimensions))
        n_rows = len(own) + len(others) * ("folds" in parts)
        return count + len(self.folds) * (n_rows + (len(tries) - 1) * ("methods" in parts))

    def conduct(self, runner, *, only=()):
        """Run some parts, all if `only` is empty; of others what is stored is found.

        A method that gives no answer within the limit on View 1 or in a fold is not tried in
        further ones.
        """
        parts = only or PARTS
        runner.n_cells = self.n_cells(parts)
        faces, reason = runner.read("view1", partial(load_faces, "lfw", folder=self.data))
        if reason:
            return FaceResults(self, left_out={"lfw": reason})
        return _Work(self, runner, faces).run(parts)

    def load(self, data):
        """Return the results that results.json holds."""
        cells = [Cell.from_dict(values) for values in data["cells"]]
        left_out = {"lfw": data["left_out"]} if data["left_out"] else {}
        return FaceResults(self, data["sizes"], cells, left_out, data["curves"])


def needs_all_choices(parts):
    """Return whether these parts need the choices for the other methods."""
    return "choice" in parts or "methods" in parts


#: Methods of the small version, which take seconds; it chooses nothing.
QUICK_METHODS = ("euclid", "whitened", "within", "frob")


def experiment(*, quick=False, pictures=False, data=None):
    """Return the experiment, of the paper's size or small; see `FaceExperiment`."""
    if not quick:
        return FaceExperiment(pictures=pictures, data=data)
    methods = tuple(replace(METHODS[name], search={}) for name in QUICK_METHODS)
    known = {"dimensions": (100,), "n_triplets": (3_000,), "pictures": pictures, "data": data}
    few = {"folds": (0, 1), "variants": (MAIN,), "n_parts": 3, "quick": True}
    return FaceExperiment(Recipe(n_dimensions=100, n_triplets=3_000), methods, **known, **few)


class _Work:
    """Run of an experiment: collects cells by task."""

    def __init__(self, plan, runner, faces):
        self.plan, self.runner, self.faces = plan, runner, faces
        self.images, self.splits, self.cells = Images(faces.X), {}, {}
        pairs = (faces.view1_train, faces.view1_test, faces.view2)
        arrays = [array for each in pairs for array in (each.index, each.same)]
        self.data = checksum(faces.X, faces.person, faces.view2_fold, *arrays)

    def run(self, parts):
        plan, own = self.plan, self.plan.methods[-1]
        for variant in plan.variants:
            for method in plan.methods_of(variant):
                self._choose(method, variant, method is own or needs_all_choices(parts))
        for variant in plan.variants:
            self._fill([(own, variant, {})], "folds" in parts)
        places = [{"n_triplets": count, "n_dimensions": d} for count, d in plan.places]
        self._fill([(own, MAIN, place) for place in places], "table" in parts)
        self._fill([(method, MAIN, {}) for method in plan.methods], "methods" in parts)
        return self.results

    @property
    def results(self):
        return FaceResults(self.plan, self._sizes(), list(self.cells.values()))

    def _split(self, number, variant):
        """Return View 1 for None, or a fold of View 2."""
        key = number, variant
        if key not in self.splits:
            make = view1 if number is None else partial(view2, number=number)
            self.splits[key] = make(self.faces, variant=variant)
        return self.splits[key]

    def _sizes(self):
        return [
            {
                "split": split.name,
                "variant": variant,
                "training pairs": len(split.train.same),
                "test pairs": len(split.test.same),
                "known images": len(split.known),
                "known people": len(set(split.identity.tolist())),
            }
            for variant in self.plan.variants
            for split in (self._split(None, variant), self._split(self.plan.folds[0], variant))
        ]

    def _choose(self, method, variant, is_wanted):
        """Search the setup of a method on View 1; a first one without an answer ends it."""
        split, answers = self._split(None, variant), []

        def evaluate(values):
            setup = method.setup(self.plan.recipe, values)
            cell = self._cell(method, setup, split, self.plan.neighbors, is_wanted)
            answers.extend(task.done([cell]))
            return -cell.best_share_right if cell.is_done else None, bool(answers)

        coordinate_search(method.search, evaluate)

    def _fill(self, rows, is_wanted):
        """Fill rows (method, variant, changes of the chosen setup) with cells.

        They are filled fold by fold, since what PCA finds in one is used by all rows.
        """
        results, over = self.results, {}
        choices = [results.choice(method.name, variant) for method, variant, _ in rows]
        for number in self.plan.folds:
            for place, (method, variant, changes) in enumerate(rows):
                choice, split = choices[place], self._split(number, variant)
                known = method, choice.setup.changed(changes), split, choice.neighbors
                if choice.best is None or not choice.is_complete:
                    cell = self._skip(choice, *known)
                else:
                    cell = self._cell(*known, is_wanted, over.get(place, ""))
                if cell.outcome in ("limit", "missing"):
                    over.setdefault(place, f"{cell.remark} in {cell.task.split}")

    def _skip(self, choice, method, *more):
        """Return the cell of a row for which nothing is chosen."""
        job, first = self._task(method, *more), choice.tries[0]
        why = ("skipped", NOT_RUN) if choice.best else (first.outcome, first.remark)
        skipped = self.runner.skipped(job, method.label, why[1], why[0])
        return self.cells.setdefault(job, skipped)

    def _cell(self, method, setup, split, neighbors, is_wanted, reason=""):
        job = self._task(method, setup, split, neighbors)
        if job not in self.cells or self.cells[job].remark == NOT_RUN:
            work = partial(measure, method, setup, job, self.images, split, self.runner.limit)
            wanted = {"is_wanted": is_wanted, "reason": reason}
            self.cells[job] = self.runner.cell(job, method.label, work, **wanted)
        return self.cells[job]

    def _task(self, method, setup, split, neighbors):
        return Task(
            split=split.name,
            variant=split.variant,
            method=method.name,
            **setup.to_texts(),
            neighbors=json.dumps(list(neighbors)),
            n_parts=self.plan.n_parts,
            threads=self.runner.threads,
            data=self.data,
        )
