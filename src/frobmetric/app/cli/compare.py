"""The command compare: learners beside each other, within a budget, on held-out samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...evaluation.compare import compare as compare_models
from ...evaluation.table import Comparison, InterruptedComparison
from ...evaluation.trial import ComparisonProgress
from ...io.preparation import Preparing, TablePreparation
from ...plotting import ComparisonDisplay
from ...runtime.environment import replacing, require
from ..tables.reading import LabelledTable, Table, check_output
from .declaration import Count, Natural, Positive, command
from .models import read_visibly, require_labels
from .terminal import ExitCode, Report, errors_about, exit_codes, live_line, say

CODES = exit_codes("done", "no learner has an answer", "the finished rows are printed first")
FIGURES = (".png", ".pdf", ".svg")


@command(codes=CODES)
def compare(
    data: Path,
    *,
    target: str | None = None,
    learner: list[str] | None = None,
    test: Path | None = None,
    preparation: Preparing,
    test_size: float = 0.3,
    budget: Positive = 60.0,
    n_votes: Count = 3,
    seed: Natural = 0,
    figure: Path | None = None,
    markdown: Path | None = None,
    header: bool = True,
) -> Report:
    """Compare learners: held-out errors, times and proofs, beside Euclid and LDA.

    Each learner chooses its options on the training samples, within its budget, and is tested on
    samples that it has not seen. For a target of numbers, neighbours predict by their mean. What
    --impute and --categories do is learned from all rows of the data; labels have no part in it.

    Parameters
    ----------
    learner
        Name of a learner, such as LMNN; may be given several times. Without it, all learners that
        take such labels.
    test
        Held-out samples, a file with the same columns; without it a part of the data is held out.
    test_size
        Share of the samples that is held out.
    budget
        Seconds that each learner may take to choose its options and to fit.
    seed
        Seed of the division and of the learners.
    figure
        Draw errors against seconds in this png, pdf or svg file.
    markdown
        Write the whole table to this md file.
    """
    outputs = {figure: FIGURES, markdown: (".md",)}
    for path in [path for path in outputs if path is not None]:
        check_output(path, outputs[path])  # before long fits
    if figure is not None:
        require("matplotlib", "plot")
    tables = [_read(data, target, header, preparation)]
    options: dict[str, Any] = {"n_neighbors": n_votes, "random_state": seed}
    if test is not None:
        learned = tables[0].preparation  # medians and categories come from the data
        tables.append(_read(test, target, header, learned or preparation))
        _check_columns(data, test, *tables)
        options |= {"X_test": tables[1].X, "y_test": tables[1].y}
    else:
        options["test_size"] = test_size
    with errors_about(data):
        result, is_interrupted = _run(tables[0], learner, budget=budget, **options)
    written = _write(result, figure, markdown)
    code = ExitCode.of(any(not row.is_euclidean for row in result.measured))
    if is_interrupted:
        say("interrupted; the rows that were finished follow")
        code = ExitCode.INTERRUPTED
    text = "\n\n".join(filter(None, (result.to_text(), written)))
    learned = tables[0].preparation
    prepared = {} if learned is None else {"columns": learned.to_fields()}
    return Report(code, text, result.to_dict() | prepared)


def _read(
    path: Path, target: str | None, header: bool, preparation: Preparing | TablePreparation
) -> LabelledTable:
    table = read_visibly(path, target, header=header, preparation=preparation)
    return require_labels(table, path)


def _check_columns(data: Path, test: Path, table: Table, held_out: Table) -> None:
    if table.X.shape[1] != held_out.X.shape[1] or table.feature_names != held_out.feature_names:
        raise ValueError(
            f"{test} has other columns of features than {data}; expected the same ones in the same "
            "order"
        )


def _run(
    table: LabelledTable, learners: list[str] | None, **options: Any
) -> tuple[Comparison, bool]:
    """Return the comparison, and whether Ctrl-C ended it."""
    try:
        with _progress() as callback:
            options["callback"] = callback
            return compare_models(learners or None, table.X, table.y, **options), False
    except InterruptedComparison as error:
        return error.comparison, True


@contextmanager
def _progress() -> Iterator[Callable[[ComparisonProgress], None] | None]:
    """Yield a callback that shows the progress on a terminal, or None without terminal."""
    with live_line("starting a process for the fits") as show:
        yield show and (lambda progress: show(_describe(progress)))


def _describe(progress: ComparisonProgress) -> str:
    setting = ""
    if progress.n_settings > 1:
        setting = f"   setting {progress.setting} of {progress.n_settings}"
    return (
        f"{progress.share:.0%}   {progress.label} ({progress.number} of {progress.n_learners})"
        f"{setting}   {progress.seconds:.1f} s, at most {progress.seconds_left:.0f} s left"
    )


def _write(result: Comparison, figure: Path | None, markdown: Path | None) -> str:
    """Write the figure and the table if they have paths; return a line that names them."""
    if markdown is not None:
        with replacing(markdown) as file:
            file.write(result.to_markdown().encode())
    if figure is not None:
        _draw(result, figure)
    written = " and ".join(str(path) for path in (figure, markdown) if path is not None)
    return f"written: {written}" if written else ""


def _draw(result: Comparison, path: Path) -> None:
    require("matplotlib", "plot").use("agg")
    page = require("matplotlib.figure", "plot").Figure(figsize=(7.5, 5.0), layout="constrained")
    ComparisonDisplay.from_comparison(result, ax=page.subplots())
    with replacing(path) as file:
        page.savefig(file, dpi=150, format=path.suffix[1:].lower())
