"""The command report: one HTML page about a model, which needs no network."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...runtime.environment import require, target_file
from ..pages import report as make_report
from ..pages.model_report import ModelReport
from ..tables.reading import STANDARD, LabelledTable, Table, read_texts
from .declaration import Count, Folds, Natural, command
from .evaluate import VERDICTS
from .models import load_model, read_columns, require_labels
from .progress import live_stages
from .terminal import ExitCode, Report, Show, errors_about, exit_codes, wrong_usage

CODES = exit_codes(
    "the page is written", "the page is written, but a fit is not certified", "nothing is written"
)


@command(codes=CODES)
def report(
    model: Path,
    data: Path,
    *,
    output: Path,
    target: str | None = None,
    test: Path | None = None,
    name: str | None = None,
    image_shape: str | None = None,
    title: str | None = None,
    folds: Folds | None = None,
    choose_again: bool = False,
    n_votes: Count = 3,
    n_refits: int = 20,
    max_points: int = 10_000,
    seed: Natural = 0,
    header: bool = True,
) -> Report:
    """Write one HTML page on a model: whether it helps, what it changes, and what is proven.

    The page shows a map before and after, neighbours of a chosen sample, why two samples are near,
    features that matter, confused classes and labels in doubt. It opens in any browser, without a
    network. Without --test each sample is tested by a copy of the model fitted without it.

    Parameters
    ----------
    output
        The page, an html file.
    test
        Samples that the model has not seen, a file with the same columns; the model is then tested
        as it is.
    name
        Column whose cells are shown in place of row numbers, by its name or number (from 0).
    image_shape
        Height and width of the picture that a row is, such as 8x8, or 32x32x3 with colours.
    title
        Title of the page, by default with the name of the file of the data.
    folds
        Number of folds of the test, by default 5; of more than 5,000 samples one third is tested
        by a single metric.
    choose_again
        Let a model that chose its options choose them again in each fold, which takes longer.
    n_refits
        Number of refits for the intervals of the features.
    max_points
        Largest number of samples on the page.
    seed
        Seed of the folds, the refits and the samples that are shown.
    """
    shape = _read_shape(image_shape)
    _check_output(output)
    if name is not None and STANDARD in (str(data), str(test)):
        raise wrong_usage("--name", "names are read a second time; give a file in place of -")
    require("jinja2", "report")
    require("plotly", "report")
    estimator = load_model(model)
    table = _read(estimator, data, target, header)
    options: dict[str, Any] = {"image_shape": shape, "cv": folds, "choose_again": choose_again}
    options["title"] = title or _title(data)
    options |= {"n_neighbors": n_votes, "n_refits": n_refits, "max_points": max_points}
    if test is not None:
        held_out = _read(estimator, test, target, header)
        options |= {"X_test": _samples(estimator, held_out), "y_test": held_out.y}
    options["names"] = _names(data, test, name, header)
    X, y, names = _samples(estimator, table), table.y, table.feature_names
    with errors_about(data), _progress() as callback, warnings.catch_warnings():
        warnings.filterwarnings("ignore", VERDICTS, UserWarning)  # the page tells
        result = make_report(
            estimator, X, y, feature_names=names, random_state=seed, callback=callback, **options
        )
    result = replace(result, facts=[*result.facts, *_files(model, data, test)])
    result.save(output)
    return _described(result, output)


def _title(data: Path) -> str | None:
    """Return the title of a page on a file; None, for the default title, on the standard input."""
    return None if str(data) == STANDARD else f"Does a learned distance help on {data.name}?"


def _names(data: Path, test: Path | None, column: str | None, header: bool) -> list[str] | None:
    """Return the names of all samples, with test samples last; None without a column."""
    if column is None:
        return None
    files = [data] if test is None else [data, test]
    return [text for path in files for text in read_texts(path, column, header=header)]


def _described(result: ModelReport, output: Path) -> Report:
    """Return the report on a page: the verdict, and the file."""
    megabytes, comparison = output.stat().st_size / 1e6, result.comparison
    text = f"{comparison.sentences()[0]}\n\n{output}: {megabytes:.1f} MB, opens in any browser"
    facts = {"output": str(output), "megabytes": megabytes, **result.to_dict()}
    return Report(ExitCode.of(comparison.is_certified is not False), text, facts)


def _read_shape(text: str | None) -> tuple[int, ...] | None:
    """Return the shape of pictures, such as (8, 8) for 8x8."""
    if text is None:
        return None
    numbers = text.lower().split("x")
    if len(numbers) not in (2, 3) or not all(n.isdecimal() and int(n) for n in numbers):
        raise wrong_usage(
            "--image-shape", f"{text!r} is not a shape; expected such as 8x8 or 32x32x3"
        )
    return tuple(map(int, numbers))


def _check_output(path: Path) -> None:
    if path.suffix.lower() not in (".html", ".htm"):
        raise wrong_usage("--output", f"{path} is not an html file; give a name that ends in .html")
    target_file(path)  # before long fits


def _read(estimator: Any, path: Path, target: str | None, header: bool) -> LabelledTable:
    """Read labelled samples with the columns of a model."""
    return require_labels(read_columns(estimator, path, target, header), path)


def _samples(estimator: Any, table: Table) -> Any:
    """Return samples with names if the model was learned with names."""
    return table.X if estimator.map_.features.names is None else table.dataframe()


@contextmanager
def _progress() -> Iterator[Show | None]:
    """Yield a callback that shows the stage and its share, or None without terminal."""
    with live_stages("reading") as show:
        yield show


def _files(model: Path, data: Path, test: Path | None) -> Iterator[tuple[str, str]]:
    """Yield the names of the files; the name of the model has a checksum."""
    seal = hashlib.sha256(model.read_bytes()).hexdigest()[:16]
    yield "Model file", f"{model} (SHA-256 {seal}…)"
    yield "Data file", str(data)
    if test is not None:
        yield "Test file", str(test)
