"""The command demo: learned distances beside Euclid, on data that come with scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA

from ...evaluation.choice import SelectionReport
from ...evaluation.compare import compare
from ...evaluation.table import Comparison
from ...io import save
from ...metric import FrobMetric, FrobMetricCV
from ...plotting import EmbeddingDisplay, NeighborsDisplay
from ...runtime.environment import MissingExtraError, replacing, require
from ...runtime.tables import paragraph, text_table
from ..tables.reading import Table
from ..tables.writing import write_table
from .declaration import Natural, command
from .terminal import ExitCode, Report, Show, live_line, say

#: Number of numbers to learn from; the others are the test.
N_TRAIN = 500
#: Height and width of a number of three digits, in pixels.
SHAPE = (8, 24)
HEADER = ("", "Euclid", "Euclid, scaled", "learned", "change, 95 % interval")
INTRODUCTION = """
What is near depends on the question. A distance that was learned from labels
knows the question, the Euclidean distance does not. Here both of them answer
three questions: the 3 nearest neighbours vote for the class of a new sample.
"""
CHOICE = """
All of this is FrobMetric() without any option. FrobMetricCV() chooses units,
prior, C and rule by held-out samples as well, and reports; on the wines:
"""
#: Verdict of a comparison in words.
VERDICTS = {
    "helped": "the learned distance helps",
    "unclear": "the samples are too few to tell whether the learned distance helps",
    "no difference": "the learned distance makes no difference",
    "hurt": "the learned distance does harm",
    "nothing to gain": "Euclid makes no error, so there is nothing to gain",
}
EUCLIDS = {"raw": "Euclid", "scaled": "Euclid on scaled features"}


@dataclass(frozen=True)
class Task:
    """A question about samples; without test samples it is evaluated by cross-validation."""

    name: str
    question: str
    description: str
    X: np.ndarray
    y: np.ndarray
    feature_names: list[str] | None = None
    X_test: np.ndarray | None = None
    y_test: np.ndarray | None = None


@dataclass(frozen=True)
class Result:
    """Metric of a task, and its errors beside those of Euclid."""

    task: Task
    metric: Any
    comparison: Comparison


@command()
def demo(*, output: Path = Path("frobmetric-demo"), seed: Natural = 0) -> Report:
    """Learn what is near, on three data sets of scikit-learn, and test whether it helps.

    Parameters
    ----------
    output
        Folder for the models, the figures and the table of the wines.
    seed
        Seed of everything that is drawn at random.
    """
    output.mkdir(parents=True, exist_ok=True)
    began = process_time()
    with live_line("loading data") as show:
        results = [_learn(task, seed, show) for task in make_tasks(seed)]
        report = _choose_options(results[1].task, show)
    files = [*_save(results, output), *_draw(results[0], output, seed)]
    seconds = process_time() - began
    is_certified = all(map(_is_certified, results))
    text = "\n\n".join(
        [
            INTRODUCTION.strip(),
            "\n".join(_describe(result.task) for result in results),
            _table(results),
            "\n".join(map(_verdict, results)),
            _certificate(results),
            _choice(report),
            "\n".join([f"In {output}, after {seconds:.1f} s of computing:", *files]),
            _next_steps(output),
        ]
    )
    data = {"certified": is_certified, "seconds": seconds, "folder": str(output)}
    data |= {"report": report.to_dict(), "tasks": {r.task.name: _to_dict(r) for r in results}}
    return Report(ExitCode.of(is_certified), text, data)


def make_tasks(seed: int) -> list[Task]:
    """Return the tasks: numbers to read, wines and tumours to recognise."""
    wine, cancer = load_wine(), load_breast_cancer()
    wine_text = f"{len(wine.data)} wines, 13 raw measurements; 5 folds."
    cancer_text = f"{len(cancer.data)} tumours, 30 raw measurements; 5 folds."
    return [
        make_numbers(seed),
        Task("wine", "Which of 3 growers?", wine_text, wine.data, wine.target, wine.feature_names),
        Task("cancer", "Malignant or benign?", cancer_text, cancer.data, cancer.target),
    ]


def make_numbers(seed: int) -> Task:
    """Return handwritten digits, each with two others at its sides."""
    pictures, labels = load_digits(return_X_y=True)
    random = np.random.default_rng(seed)
    order = random.permutation(len(pictures))
    parts: list[np.ndarray] = []
    for rows in (order[:N_TRAIN], order[N_TRAIN:]):
        sides = (random.permutation(rows), rows, random.permutation(rows))
        digits = [pictures[side].reshape(-1, 8, 8) for side in sides]
        parts += [np.concatenate(digits, axis=2).reshape(len(rows), -1), labels[rows]]
    text = (
        f"Pictures of {SHAPE[0]} x {SHAPE[1]} pixels: three of scikit-learn's handwritten digits "
        f"in a row, the outer two drawn at random (seed {seed}). {N_TRAIN} to learn from, "
        f"{len(pictures) - N_TRAIN} to test; no digit is in both parts."
    )
    X, y, X_test, y_test = parts
    question = "Which digit is in the middle?"
    return Task("numbers", question, text, X, y, X_test=X_test, y_test=y_test)


def _learn(task: Task, seed: int, show: Show | None) -> Result:
    """Learn a metric for a task with default options, and test it."""
    if show:
        show(f"{task.name}: {task.question}")
    metric = FrobMetric(keep_dual=True).fit(task.X, task.y)
    test: dict[str, Any] = {"X_test": task.X_test, "y_test": task.y_test}
    baselines = ("raw", "scaled")
    comparison = compare(metric, task.X, task.y, **test, baselines=baselines, random_state=seed)
    return Result(task, metric, comparison)


def _choose_options(task: Task, show: Show | None) -> SelectionReport:
    """Return the report of an estimator that chooses its options."""
    if show:
        show(f"{task.name}: choosing options")
    return FrobMetricCV().fit(task.X, task.y).report_


def _is_certified(result: Result) -> bool:
    metric = result.metric
    return bool(metric.certificate_.is_within(metric.tol) and result.comparison.is_certified)


def _to_dict(result: Result) -> dict[str, Any]:
    return result.comparison.to_dict() | {"certificate": str(result.metric.certificate_)}


def _describe(task: Task) -> str:
    indent = " " * 9
    return paragraph(f"{task.name:9s}{task.question} {task.description}", indent=indent)


def _table(results: list[Result]) -> str:
    """Return the errors of all tasks as text."""
    rows = []
    for result in results:
        errors = [result.comparison[key].percent() for key in ("raw", "scaled", "model")]
        change = result.comparison.errors.points().replace(" points", "")
        rows.append((result.task.name, *errors, change))
    note = "The change is in points, against the better of the two Euclidean distances."
    return f"Wrong answers\n{text_table(HEADER, rows)}\n{note}"


def _verdict(result: Result) -> str:
    errors: Any = result.comparison.errors  # of classes
    rival = EUCLIDS[result.comparison.euclidean.key]
    counts = f"of the answers by {rival}, {errors.n_fixed} are put right, {errors.n_broken} spoiled"
    text = f"{result.task.name}: {VERDICTS[errors.verdict]}: {counts}."
    return paragraph(text, indent="  ")


def _certificate(results: list[Result]) -> str:
    if not all(map(_is_certified, results)):
        return "NOT certified: a fit ended before it reached its tolerance."
    tol = max(result.metric.tol for result in results)
    return paragraph(
        f"Every distance is proven optimal: within {tol:.1%} of the best value of its learning "
        "problem. That is about the optimisation; that it is useful, only errors on new samples "
        "can show."
    )


def _choice(report: SelectionReport) -> str:
    lines = (paragraph(f"  {sentence}", indent="  ") for sentence in report.sentences())
    return "\n".join([CHOICE.strip(), *lines])


def _save(results: list[Result], output: Path) -> Iterator[str]:
    """Save the models, and the wines as a table; yield lines on the files."""
    for result in results:
        save(result.metric, output / f"{result.task.name}.safetensors")
    wine = results[1].task
    table = Table(wine.X, wine.y, wine.feature_names)
    write_table(output / "wine.csv", table, labels_name="grower")
    yield f"  {', '.join(f'{result.task.name}.safetensors' for result in results)}: the models"
    yield "  wine.csv: the table of the wines"


def _draw(result: Result, output: Path, seed: int) -> Iterator[str]:
    """Draw the figures of the numbers; yield lines on the files."""
    task = result.task
    data: tuple[Any, ...] = (task.X, task.y, task.X_test, task.y_test)
    try:
        require("matplotlib", "plot").use("agg")
        title = "Which numbers have the same digit in the middle?"
        display = NeighborsDisplay.from_estimator(
            result.metric, *data, image_shape=SHAPE, n_queries=8, random_state=seed, title=title
        )
        for name, figure in {"neighbors": display.figure_, "map": _draw_map(result)}.items():
            with replacing(output / f"{name}.png") as file:
                figure.savefig(file, dpi=100, format="png")
    except MissingExtraError as error:
        say(f"no figure: {error}")
        return
    yield "  neighbors.png: the nearest neighbours of some numbers, before and after"
    yield "  map.png: the test numbers in the plane; the pixels that count"


def _draw_map(result: Result) -> Any:
    """Draw the test samples by both distances, and the share of each pixel."""
    plt = require("matplotlib.pyplot", "plot")
    task, metric = result.task, result.metric
    figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    maps = [
        ("raw", "Euclidean distance", np.asarray),
        ("model", "Learned distance", metric.transform),
    ]
    for ax, (key, name, apply) in zip(axes, maps, strict=False):
        points = PCA(2).fit(apply(task.X)).transform(apply(task.X_test))
        title = f"{name}: {result.comparison[key].percent()} wrong"
        EmbeddingDisplay.from_embedding(
            points, ax=ax, color=task.y_test, color_name="middle digit", title=title
        )
        ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
    axes[0].get_legend().remove()
    share = np.diag(metric.get_mahalanobis_matrix()) * task.X.var(axis=0)
    axes[2].imshow(share.reshape(SHAPE), cmap="viridis")
    axes[2].set(title="What each pixel adds to the distance", xticks=[], yticks=[])
    return figure


def _next_steps(output: Path) -> str:
    return (
        "Next, and then with a table of your own:\n"
        f"  cd {output}\n"
        "  frobmetric evaluate wine.csv --target grower\n"
        "  frobmetric certify wine.safetensors wine.csv --target grower"
    )
