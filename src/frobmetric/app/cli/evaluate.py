"""The command evaluate: errors of a metric on new data, beside those of Euclid."""

from __future__ import annotations

import warnings
from os.path import realpath
from pathlib import Path
from typing import Any

from ...evaluation.compare import compare
from ...evaluation.division import default_folds
from ...evaluation.table import Comparison
from ...io.preparation import Preparing
from ...metric import FrobMetric, FrobMetricCV
from ..tables.reading import LabelledTable
from .declaration import Count, Folds, MetricParameters, Natural, command
from .fit import describe_step, first_line, make_estimator
from .models import load_model, read_features, read_visibly, require_labels, split_names
from .progress import live_progress
from .terminal import ExitCode, Report, errors_about, say, wrong_usage

#: Warnings of a choice that an evaluation says better, for all folds together.
VERDICTS = "the learned metric (does not help|satisfies)|the chosen metric has|the best C is"


@command(FrobMetric)
def evaluate(
    files: list[Path],
    parameters: MetricParameters,
    given: set[str],
    *,
    target: str | None = None,
    train: Path | None = None,
    cv: Natural | None = None,
    folds: Folds | None = None,
    baselines: str = "raw,scaled",
    preparation: Preparing,
    n_votes: Count = 3,
    header: bool = True,
    seed: Natural = 0,
) -> Report:
    """Say whether a metric helps: k-NN errors on new data, beside those of Euclid.

    Options of the fit that are not given are chosen, as `fit` does.

    Parameters
    ----------
    files
        Labelled data, in which each sample is tested by a metric learned without it; or a model and
        data to test it on, with --train.
    train
        With a model: the data to take neighbours from.
    cv
        Number of folds by which options are chosen, by default 3; 0 chooses nothing.
    folds
        Number of folds of the test, by default 5; of more than 5,000 samples one third is tested
        by a single metric.
    baselines
        Methods to compare with, of raw, scaled (Euclid), lda and nca, with commas.
    seed
        Seed of the folds.
    """
    *model, data = files
    if len(model) == 1 and data.suffix == ".safetensors" and model[0].suffix != ".safetensors":
        raise wrong_usage(None, f"{model[0]} is a table and {data} a model; swap the two")
    if len(model) > 1 or data.suffix == ".safetensors" or bool(model) != (train is not None):
        forms = "`evaluate DATA` or `evaluate MODEL TEST_DATA --train TRAIN_DATA`"
        raise wrong_usage(None, f"expected {forms}")
    is_asked = cv is not None or folds is not None or given or preparation != Preparing()
    if model and is_asked:
        raise wrong_usage(None, "options of a fit have no effect on a given model; leave them out")
    options: dict[str, Any] = {
        "n_neighbors": n_votes,
        "baselines": split_names(baselines),
        "random_state": seed,
    }
    if model and train is not None:
        estimator, tables = _read_model_and_data(model[0], (train, data), target, header)
    else:
        estimator = make_estimator(parameters, given, cv)
        table = read_visibly(data, target, header=header, preparation=preparation)
        tables = [require_labels(table, data)]
    with errors_about(data):
        comparison = _compare(estimator, *tables, folds=folds, **options)
    code = ExitCode.of(comparison.is_certified)
    return Report(code, comparison.to_text(command_line=True), comparison.to_dict())


def _compare(
    estimator: Any,
    table: LabelledTable,
    test: LabelledTable | None = None,
    *,
    folds: int | None = None,
    **options: Any,
) -> Comparison:
    """Compare a fitted model on test data, or an estimator by folds of one table."""
    if test is not None:
        options |= {"X_test": test.dataframe(), "y_test": test.y}
        return compare(estimator, table.dataframe(), table.y, **options)
    options["cv"] = default_folds(folds, table.y, options["random_state"])
    with live_progress(first_line(estimator), describe_step) as callback, warnings.catch_warnings():
        warnings.filterwarnings("ignore", VERDICTS, UserWarning)
        return compare(estimator.set_params(callback=callback), table.X, table.y, **options)


def _read_model_and_data(
    model: Path, paths: tuple[Path, Path], target: str | None, header: bool
) -> tuple[Any, list[LabelledTable]]:
    """Return a model, and the tables to take neighbours from and to test."""
    train, test = paths
    if realpath(train) == realpath(test):
        say(f"warning: {test} is tested on itself; the errors say nothing about new data")
    estimator = load_model(model)
    if isinstance(estimator, FrobMetricCV):  # its own rule needs samples that no file holds
        chosen = FrobMetric(tol=estimator.tol)
        chosen.map_ = estimator.map_
        estimator = chosen
    tables = (read_features(estimator, path, target, header) for path in paths)
    return estimator, list(map(require_labels, tables, paths))
