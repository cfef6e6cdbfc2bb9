"""Experiments on made-up data, whose methods answer at once: for tests of whole commands."""

import csv
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from drawn_faces import write_faces
from frobmetric.app.cli import app
from frobmetric_paper.action import experiment as action
from frobmetric_paper.action.histograms import Merged
from frobmetric_paper.baselines import Embedded, EmbeddingBaseline, MetricBaseline
from frobmetric_paper.classification.report import TableResults
from frobmetric_paper.data import DatasetNotFoundError
from frobmetric_paper.data.labelled import Split
from frobmetric_paper.lfw import experiment as lfw
from frobmetric_paper.lfw.faces import Recipe
from frobmetric_paper.lfw.methods import METHODS
from frobmetric_paper.mvu import experiment as mvu
from frobmetric_paper.mvu.report import UnfoldingResults
from frobmetric_paper.uci import experiment as uci


class Reproduction:
    """A `reproduce` command in a folder of its own, without data by accident.

    `calls` has what is fitted, a tuple that begins with the method; `instead` has the errors that
    methods raise instead of an answer. With `is_real` methods and figures are those of users.
    """

    name = ""
    usual = ()  # arguments of every run
    few = ()  # arguments for some cells, which have all methods named here
    method, label = "", ""  # another method, and its name for people
    ours = ""  # a method of ours
    absent = ()  # arguments of a part whose data are not there
    results_type = None

    def __init__(self, patch, folder, *, is_real=False):
        patch.chdir(folder)
        patch.delenv("FROBMETRIC_DATA", raising=False)
        self.calls, self.instead, self.folder, self.patch = [], {}, folder, patch
        self.is_real = is_real
        if self.results_type and not is_real:
            self.draw = self.results_type.draw
            patch.setattr(self.results_type, "draw", lambda results, folder: None)
        self.prepare()

    def prepare(self):
        """Replace data and methods."""

    def draws(self):
        """Draw the figures as in earnest; return this command."""
        if self.results_type:
            self.patch.setattr(self.results_type, "draw", self.draw)
        return self

    def answer(self, name, *about):
        """Note a call, and raise what the method is to raise."""
        self.calls.append((name, *about))
        if name in self.instead:
            raise self.instead[name]

    def run(self, *arguments, code=0):
        words = ["reproduce", self.name, "--threads", "1", *self.usual, *map(str, arguments)]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == code, (result.output, result.exception)
        assert "Traceback" not in result.output
        return result

    def page(self, name="index.md", folder=None):
        return Path(folder or self.name, name).read_text(encoding="utf-8")

    def pages(self, folder=None):
        return [self.page(name, folder) for name in ("index.md", "index.html")]

    def results(self, folder=None):
        return json.loads(self.page("results.json", folder))

    def table(self, *keys):
        """The rows of table.csv by some of their fields."""
        with open(Path(self.name, "table.csv"), newline="") as file:
            return {tuple(row[key] for key in keys): row for row in csv.DictReader(file)}


@dataclass(frozen=True, eq=False)
class FakeFit:
    """The identity, or always class 0."""

    detail: dict
    predictions: dict
    seconds: float = 0.25

    def transform(self, X):
        return X


class TableReproduction(Reproduction):
    """A table of methods and data sets with made-up data, without those named in `missing`."""

    results_type = TableResults
    module, missing, n_runs = None, "", 3

    def prepare(self):
        self.status, self.experiment = "optimal", self.module.experiment
        if self.is_real:
            return
        self.patch.setattr(MetricBaseline, "fit", lambda method, *a, **k: self.fit(method, **k))
        self.patch.setattr(self.module, "experiment", self.small_experiment)

    def fit(self, method, *, seed=0, queries, **more):
        self.answer(method.name, seed)
        labels = {part: np.zeros(len(X), dtype=int) for part, X in queries.items()}
        return FakeFit({"status": self.status}, labels)

    def small_experiment(self, **more):
        """The table with made-up data; numbers are as if they were all."""
        table = self.experiment(**more)
        columns = tuple(
            replace(
                column,
                n_runs=min(self.n_runs, column.n_runs),
                load=lambda run, name=column.name: self.load(name, run),
            )
            for column in table.columns
        )
        return replace(table, columns=columns)

    def load(self, name, seed):
        if name in self.missing:
            raise DatasetNotFoundError(f"the data file {name}.npz is not there")
        y = np.tile([0, 1, 2], 20)
        X = np.random.default_rng(seed).normal(size=(60, 3)) + 2 * y[:, None]
        return Split(name, X[:30], y[:30], X[30:40], y[30:40], X[40:], y[40:]), None


class Uci(TableReproduction):
    name, module, missing = "uci", uci, ("mnist",)
    few = ("--only", "iris", "--methods", "euclid,svm", "--methods", "frob")
    method, label, ours = "svm", "SVM", "frob"
    absent = ("--only", "mnist")

    def small_experiment(self, **more):
        return replace(super().small_experiment(**more), quick=False)


class Action(TableReproduction):
    name, module, missing, n_runs = "action", action, ("msr_action3d",), 2
    few = ("--only", "utd_mhad", "--methods", "euclid,frob")
    method, label, ours = "euclid", "Euclidean", "frob"
    absent = ("--only", "msr_action3d")

    def prepare(self):
        super().prepare()
        self.merges = []
        if not self.is_real:
            self.patch.setattr(action, "merged_words", self.merge)

    def merge(self, n_bins, *, n_documents=None, folder=None):
        self.merges.append((n_bins, n_documents, folder))
        if "words" in self.instead:
            raise self.instead["words"]
        return [Merged("all words", 6224, 1.0, 4.25), Merged("merged somehow", 500, 0.5, 12.5)]


class Unfolding(Reproduction):
    name, usual, results_type = "mvu", ("--quick",), UnfoldingResults
    few = ("--only", "swiss_roll")
    method, label, ours = "csdp_original", "CSDP (original)", "ours_exact"
    absent = ("--only", "faces")

    def prepare(self):
        rolls, smaller = mvu.rolls, {80: 40, 30: 20, 60: 30}
        self.patch.setattr(mvu, "rolls", lambda *sizes: rolls(*(smaller[n] for n in sizes)))
        if not self.is_real:
            self.patch.setattr(EmbeddingBaseline, "embed", lambda *given: self.embed(*given))

    def embed(self, method, X, *more):
        """Project; proofs are as if CSDP broke its constraints a little."""
        name = method.name
        self.answer(name, len(X))
        if name in ("isomap", "lle"):
            return Embedded(X[:, :2], 0.25)
        spectrum = np.square(X - X.mean(axis=0)).sum(axis=0)[:3]
        broken = 2e-5 if name == "csdp_original" else 0.0
        proof = {"primal": 1.0, "dual": 1.0, "relative_gap": 3e-7, "violation": broken}
        slowness = 8.0 if name.startswith("csdp") else 2.0
        return Embedded(X[:, :2], slowness, float(spectrum.sum()), proof, spectrum.tolist())


SMALL_FACES = lfw.FaceExperiment(
    Recipe(n_dimensions=12, n_neighbors=3, n_triplets=400, C=10.0, prior=None),
    tuple(
        replace(METHODS[name], search={"C": (10.0, 1.0)} if name == "frob" else {})
        for name in ("euclid", "whitened", "frob")
    ),
    folds=(0, 1),
    dimensions=(6, 12),
    n_triplets=(400,),
    neighbors=(5, 10),
    n_parts=2,
    quick=True,
)


class Faces(Reproduction):
    """Drawn faces, and methods that learn from them; errors may be given for (method, split)."""

    name, usual = "lfw", ("--quick",)
    few = ("--only", "folds")
    method, label, ours = "frob", "FrobMetric", "frob"

    def prepare(self):
        self.data = write_faces(self.folder / "data", self.patch)
        (self.folder / "empty").mkdir()
        self.absent = ("--data", "empty")
        self.measure = lfw.measure
        self.patch.setattr(lfw, "experiment", lambda quick, **more: replace(SMALL_FACES, **more))
        self.patch.setattr(lfw, "measure", self.watched)

    def watched(self, method, setup, task, *more):
        self.calls.append((task.method, task.split, task))
        error = self.instead.get((task.method, task.split), self.instead.get(task.method))
        if error:
            raise error
        return self.measure(method, setup, task, *more)

    @property
    def tasks(self):
        """Tasks that were computed."""
        return [task for *_, task in self.calls]

    def run(self, *arguments, code=0):
        data = () if "--data" in arguments else ("--data", "data")
        return super().run(*arguments, *data, code=code)


REPRODUCTIONS = {each.name: each for each in (Uci, Action, Faces, Unfolding)}
