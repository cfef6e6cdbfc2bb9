"""What the commands do, once their arguments are read: each returns what `cli` reports."""

from __future__ import annotations

from dataclasses import asdict, replace
from time import perf_counter

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import get_tags

from .._atomic import target_file
from .._extras import MissingExtraError, require
from ..io.model_checks import disagreements
from ..io.models import load, save
from ..io.readers import READERS
from ..io.tables import read_table
from ..metric import FrobMetric, FrobMetricCV
from .evaluation import compare
from .terminal import ExitCode, Report, live_progress, say

typer = require("typer", "cli")

#: Share of the samples that are held out to judge a metric.
HELD_OUT = 0.3


def make_estimator(parameters, keep_dual):
    """A FrobMetric, or a FrobMetricCV if C is to be chosen."""
    others = {name: value for name, value in parameters.items() if name not in ("C", "cv")}
    others["keep_dual"] = keep_dual
    C, cv = parameters["C"], parameters["cv"]
    if parameters["gamma"] is not None and parameters["kernel"] == "linear":
        raise typer.BadParameter("only --kernel rbf and polynomial have it", param_hint="--gamma")
    if cv is None:
        return FrobMetric(**others, **({} if C is None else {"C": C}))
    if C is not None:
        raise typer.BadParameter("--cv chooses C by itself; give only one", param_hint="--C")
    kernel, _ = others.pop("kernel"), others.pop("gamma")
    if kernel != "linear":
        raise typer.BadParameter(
            "--cv chooses the C of a metric without a kernel; give only one", param_hint="--kernel"
        )
    return FrobMetricCV(cv=cv, **others)


def check_model_path(path):
    """Before a long fit: whether its model can be written where it was asked to be."""
    if path.suffix.lower() in READERS:
        raise typer.BadParameter(
            f"{path} names a table; a model is a .safetensors file", param_hint="--output"
        )
    target_file(path)


def fit_and_save(estimator, table, answers, path):
    """Fit on y or triplets and save; Ctrl-C saves the best metric so far."""
    began, interrupted = perf_counter(), False
    try:
        with live_progress(estimator):
            estimator.fit(table.frame(), **answers)
    except KeyboardInterrupt:
        if not hasattr(estimator, "components_"):
            raise
        interrupted = True
    save(estimator, path)
    return _fit_report(estimator, table, path, perf_counter() - began, interrupted)


def load_model(path):
    """A model whose `transform` gives arrays, whatever was set when it was saved."""
    return load(path).set_output(transform="default")


def read_for(estimator, path, target, header):
    """The columns of a file that a model was learned from."""
    names = getattr(estimator, "feature_names_in_", None)
    table = read_table(path, target, names, header)
    n_features = table.X.shape[1]
    if n_features != estimator.n_features_in_:
        raise ValueError(
            f"{path} has {n_features} columns of features; the model was learned from "
            f"{estimator.n_features_in_}. If one column holds labels, name it with --target"
        )
    return table if names is not None else replace(table, feature_names=None)


def given_parts(model, train, test, target, header):
    """A saved model, the samples to take neighbours from and those to test on."""
    if train.resolve() == test.resolve():
        say(f"warning: {test} is tested on itself; the errors say nothing about new data")
    estimator = load_model(model)
    parts = [read_for(estimator, path, target, header) for path in (train, test)]
    for path, part in zip((train, test), parts, strict=True):
        _check_labelled(path, part)
    return estimator, *parts


def held_out_parts(data, target, header, parameters, seed):
    """A metric learned from one part of the data, that part, and the other one."""
    table = read_table(data, target, header=header)
    _check_labelled(data, table)
    train, test = split(table, seed)
    estimator = make_estimator(parameters, seed, keep_dual=False)
    with live_progress(estimator):
        estimator.fit(train.frame(), train.y)
    return estimator, train, test


def split(table, seed):
    """Two tables, the second with a share `HELD_OUT` of every class."""
    rows = np.arange(len(table.X))
    parts = train_test_split(rows, test_size=HELD_OUT, stratify=table.y, random_state=seed)
    return tuple(table.take(part) for part in parts)


def judge(estimator, train, test, k):
    """Whether the metric helps on the test part."""
    comparison = compare(estimator, train, test, k)
    certified = is_certified(estimator)
    doubt = "" if certified else "\nThe metric is NOT certified to its tol; see `frobmetric fit`."
    return Report(
        ExitCode.CERTIFIED if certified else ExitCode.NOT_CERTIFIED,
        f"{len(test.X)} test samples, neighbours from {len(train.X)} others\n{comparison}{doubt}",
        comparison.to_dict() | {"n_train": len(train.X), "certified": certified},
    )


def prove_again(model, data, target, header, tol):
    """Recompute a model's certificate and compare it with the one that its file claims."""
    estimator = load_model(model)
    if not hasattr(estimator, "dual_coef_"):
        message = f"{model} has no dual variables to prove it with; fit it with --keep-dual"
        say(f"error: {message}")
        return Report(ExitCode.NOT_CERTIFIED, "", {"error": message})
    if get_tags(estimator).input_tags.three_d_array:
        raise ValueError(
            f"{model} is a {type(estimator).__name__}, learned from tuples, which a table does not "
            "hold; prove it in Python: frobmetric.load(path).set_params(preprocessor=X)"
            ".certify(tuples, y)"
        )
    table = read_for(estimator, data, target, header)
    claimed, found = estimator.certificate_, estimator.certify(table.frame())
    tol = estimator.tol if tol is None else tol
    differ = disagreements(claimed, found)
    certified = not differ and found.error <= tol
    return Report(
        ExitCode.CERTIFIED if certified else ExitCode.NOT_CERTIFIED,
        f"claimed:    {claimed}\nrecomputed: {found}\n{_proof_verdict(found, tol, differ)}",
        {
            "claimed": asdict(claimed),
            "recomputed": asdict(found),
            "tol": tol,
            "disagreements": differ,
            "certified": certified,
        },
    )


def draw(estimator, table, path):
    """Save the figure of a metric; says what to install if that is not possible."""
    from ..plotting.metric import MetricDisplay

    try:
        require("matplotlib", "plot").use("agg")
        display = MetricDisplay.from_estimator(estimator, table.frame(), table.y)
    except MissingExtraError as error:
        say(f"no figure: {error}")
        return None
    display.figure_.savefig(path, dpi=150)
    return path


def is_certified(estimator):
    return bool(estimator.certificate_.error <= estimator.tol)


def _check_labelled(path, table):
    if table.y is None:
        raise typer.BadParameter(f"the labels of {path} are needed", param_hint="--target")


def _fit_report(estimator, table, path, seconds, interrupted):
    certified = is_certified(estimator)
    code = ExitCode.CERTIFIED if certified else ExitCode.NOT_CERTIFIED
    n_samples, n_features = table.X.shape
    data = {
        "model": str(path),
        "status": estimator.status_,
        "certified": certified,
        "certificate": asdict(estimator.certificate_),
        "tol": estimator.tol,
        "C": estimator.C,
        "rank": estimator.rank_,
        "n_iter": estimator.n_iter_,
        "n_triplets": estimator.n_triplets_,
        "n_samples": n_samples,
        "n_features": n_features,
        "seconds": seconds,
    }
    text = (
        f"{path}: a metric of rank {estimator.rank_} on {n_features} features, learned from "
        f"{estimator.n_triplets_} triplets of {n_samples} samples with C = {estimator.C:g}\n"
        f"certificate: {estimator.certificate_}\n{_fit_verdict(estimator, certified, seconds)}"
    )
    if interrupted:
        say(f"interrupted; the best metric so far was saved in {path}")
        code = ExitCode.INTERRUPTED
    return Report(code, text, data)


def _fit_verdict(estimator, certified, seconds):
    where = f"after {estimator.n_iter_} steps, {seconds:.1f} s"
    gap, tol = estimator.certificate_.error, estimator.tol
    if certified:
        return f"certified: relative gap {gap:.1e} <= tol {tol:g}, {where}"
    why = estimator.status_
    advice = "" if why == "interrupted" else "; raise --max-iter or --tol"
    return f"NOT certified: relative gap {gap:.1e} > tol {tol:g}, {where} ({why}){advice}"


def _proof_verdict(found, tol, differ):
    if differ:
        return (
            f"NOT certified: the file claims another {', '.join(differ)} than its metric and these "
            "data give; it was changed after the fit"
        )
    if found.error > tol:
        return f"NOT certified: relative gap {found.error:.1e} > tol {tol:g}"
    return f"certified: relative gap {found.error:.1e} <= tol {tol:g}, and the claim holds"
