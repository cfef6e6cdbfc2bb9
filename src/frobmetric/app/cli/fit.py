"""The commands for metrics: fit, evaluate, certify and explain."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import asdict, dataclass, replace
from os.path import realpath
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.model_selection import StratifiedKFold

from ...backends import RowFile
from ...core import CertificateError
from ...evaluation.compare import compare
from ...io import save
from ...io.preparation import Preparing
from ...io.text import format_of
from ...learning.claims import uses_labels
from ...metric import FrobMetric, FrobMetricCV
from ...model.agreement import disagreements
from ...runtime.environment import replacing, require, target_file
from ...runtime.tables import text_table
from ..tables.reading import READERS, check_input, read_triplets
from .models import load_model, read_columns, read_features, read_visibly, split_names
from .options import command
from .terminal import (
    ExitCode,
    Report,
    checkpoint_arguments,
    errors_about,
    fit_visibly,
    live_progress,
    say,
    wrong_usage,
)

typer = require("typer", "cli")
app = typer.Typer()

#: Relative gap from which on nothing is proven, whatever the tolerance.
LARGEST_GAP = 0.99
#: Largest number of columns of which values are printed.
N_VALUES = 10
#: Number of folds of an evaluation, and the number of samples from which on one fold is enough.
FOLDS, MANY_SAMPLES = 5, 5000
#: Number of folds by which options are chosen.
CHOICE_FOLDS = 3
#: Suffixes of formats that a model does not have, and what they are.
OTHER_FORMATS = dict.fromkeys((".pkl", ".pickle", ".joblib", ".skops"), "an object of Python")
OTHER_FORMATS |= dict.fromkeys((".pt", ".pth", ".bin", ".ckpt"), "a state of torch")
OTHER_FORMATS |= {".onnx": "a graph of onnx", ".faiss": "an index of faiss", ".sql": "statements"}
OTHER_FORMATS |= dict.fromkeys((".h5", ".hdf5", ".keras"), "an HDF5 file")
OTHER_FORMATS |= dict.fromkeys((".json", ".html", ".txt", ".zip", ".xlsx"), "another kind of file")
#: Warnings of a choice that an evaluation says better, for all folds together.
VERDICTS = "the learned metric (does not help|satisfies)|the chosen metric has|the best C is"


@command(app, FrobMetric)
def fit(
    data,
    parameters,
    given,
    *,
    output=Path("model.safetensors"),
    target=None,
    triplets=None,
    with_labels=False,
    preparation=None,
    cv=None,
    checkpoint=None,
    resume=False,
    memory=None,
    header=True,
):
    """Learn a metric from a table, and save it with its certificate.

    Options of the fit that are not given are chosen by errors on held-out samples, and the report
    tells whether the metric helps. Without a choice, by --cv 0, they have the defaults below; so
    they do with --C, --kernel, --n-directions and --triplets.

    What --columns, --drop, --impute and --categories do to the table is kept in the model, and done
    again by every command that uses it. The certificate is about the table that they make.

    Parameters
    ----------
    output : path
        File of the model.
    triplets : path
        File of rows anchor, near, far (numbers of rows of the data, from 0) to learn from instead
        of labels; --target then only names a column that is no feature.
    with_labels : bool
        Learn from the labels as well as from --triplets.
    cv : int
        Number of folds by which options are chosen, by default 3; 0 chooses nothing.
    checkpoint : path
        File in which the fit keeps its state while it runs, so that --resume can go on with it;
        it is removed when the fit is complete. A choice of options is made again.
    resume : bool
        Go on with the fit whose state is in the file of --checkpoint; without such a file, start
        anew. The data and the options have to be the same.
    memory : float
        GB that the fit may take, for a parquet file that is larger than memory: its rows are read
        in parts whenever they are needed. Such a model keeps no proof.
    """
    if triplets is not None:
        if cv:
            raise wrong_usage("--cv", "it needs labels, not --triplets")
        cv = 0
    _check_model_name(output)
    target_file(output)
    estimator = _make_estimator(parameters, given, cv)
    saving = checkpoint_arguments(checkpoint, resume)
    if memory is not None:
        if triplets is not None:
            raise wrong_usage("--memory", "it needs labels, not --triplets")
        if estimator.keep_dual:
            raise wrong_usage("--keep-proof", "a fit with --memory cannot keep it; give only one")
        if preparation != Preparing():
            reason = "columns cannot be chosen or changed; write another parquet file first"
            raise wrong_usage("--memory", reason)
        table = _open_table(data, target, memory)
    else:
        table = read_visibly(data, target, header=header, preparation=preparation)
    if triplets is None:
        _require_labels(table, data, ", or --triplets")
    if with_labels and (triplets is None or table.y is None):
        raise wrong_usage("--with-labels", "it needs --triplets and labels")
    answers = {"y": table.y} if triplets is None or with_labels else {}
    if triplets is not None:
        answers["triplets"] = read_triplets(triplets)
    question = _question(data, target, preparation) if "y" in answers else ""
    with errors_about(data):
        return _fit_and_save(estimator, table, answers | saving, output, question)


@command(app, FrobMetric, without=("keep_dual",))
def evaluate(
    files,
    parameters,
    given,
    *,
    target=None,
    train=None,
    cv=None,
    folds=None,
    baselines="raw,scaled",
    preparation=None,
    n_votes=3,
    header=True,
    seed=0,
):
    """Say whether a metric helps: k-NN errors on new data, beside those of Euclid.

    Options of the fit that are not given are chosen, as `fit` does.

    Parameters
    ----------
    files : list of path
        Labelled data, in which each sample is tested by a metric learned without it; or a model and
        data to test it on, with --train.
    train : path
        With a model: the data to take neighbours from.
    cv : int
        Number of folds by which options are chosen, by default 3; 0 chooses nothing.
    folds : int
        Number of folds of the test, by default 5; of more than 5,000 samples one third is tested
        by a single metric.
    baselines : str
        Methods to compare with, of raw, scaled (Euclid), lda and nca, with commas.
    seed : int
        Seed of the folds.
    """
    *model, data = files
    if len(model) == 1 and data.suffix == ".safetensors" and model[0].suffix != ".safetensors":
        raise typer.BadParameter(f"{model[0]} is a table and {data} a model; swap the two")
    if len(model) > 1 or data.suffix == ".safetensors" or bool(model) != (train is not None):
        forms = "`evaluate DATA` or `evaluate MODEL TEST_DATA --train TRAIN_DATA`"
        raise typer.BadParameter(f"expected {forms}")
    is_asked = cv is not None or folds is not None or given or preparation != Preparing()
    if model and is_asked:
        raise typer.BadParameter("options of a fit have no effect on a given model; leave them out")
    options = {"n_neighbors": n_votes, "baselines": split_names(baselines), "random_state": seed}
    if model:
        estimator, tables = _read_model_and_data(model[0], (train, data), target, header)
    else:
        estimator = _make_estimator(parameters, given, cv)
        table = read_visibly(data, target, header=header, preparation=preparation)
        tables = [_require_labels(table, data)]
    with errors_about(data):
        comparison = _compare(estimator, *tables, folds=folds, **options)
    code = ExitCode.of(comparison.is_certified)
    return Report(code, comparison.to_text(command_line=True), comparison.to_dict())


@command(app)
def certify(model, data, *, target=None, tol=None, exact=False, proof=None, header=True):
    """Recompute the certificate of a model from its training data.

    Recomputes the certificate from the proof that a fit with --keep-proof left in the model, and
    compares it, and what else the file claims of the data, with these data. With labels (--target),
    the triplets, and a prior and units that depend on labels, are compared too.

    Parameters
    ----------
    tol : float
        Relative gap to demand; that of the model if not given.
    exact : bool
        Verify the certificate in exact arithmetic, which takes longer.
    proof : path
        File, such as proof.npz, for the proof in exact arithmetic, which `python -m
        frobmetric.verify` verifies without the model and without the library.
    """
    if proof is not None:
        target_file(proof)
    estimator = load_model(model)
    if "keep_dual" not in estimator.get_params():
        raise ValueError(
            f"{model} is an {type(estimator).__name__}, whose file keeps the certificate of its "
            "fit and nothing to prove it with again; read it in Python: "
            "frobmetric.load(path).certificate_, or fit again, which proves it anew"
        )
    if not hasattr(estimator, "dual_coef_"):
        raise CertificateError(
            f"{model} keeps no proof: it has the metric and the claim of its fit, but no dual "
            "variables to check it with; fit again with --keep-proof"
        )
    if "preprocessor" in estimator.get_params():
        raise ValueError(
            f"{model} is a {type(estimator).__name__}, learned from tuples, which a table does not "
            "hold; prove it in Python: frobmetric.load(path).set_params(preprocessor=X)"
            ".certify(tuples, y)"
        )
    table = read_features(estimator, data, target, header)
    options = {"exact": True} if exact or proof is not None else {}
    if options and "exact" not in inspect.signature(estimator.certify).parameters:
        kind = type(estimator).__name__
        raise ValueError(
            f"{model} is a {kind}, which has no proof in exact arithmetic; expected a "
            "FrobMetric or FrobMetricCV; leave out --exact and --proof"
        )
    claimed = estimator.certificate_
    recomputed = estimator.certify(table.dataframe(), table.y, **options)
    differing = disagreements(claimed, recomputed, estimator.history_)
    gap, tol = recomputed.error, tol or estimator.tol
    is_certified = not differing and bool(gap <= min(tol, LARGEST_GAP))
    verdict = _verdict(gap, min(tol, LARGEST_GAP)) + ", and the claim holds" * is_certified
    if table.y is None and uses_labels(estimator):
        verdict += "\nlabels were not given (--target): that the triplets are theirs is not checked"
    if differing:
        verdict = (
            f"NOT certified: the file claims another {', '.join(differing)} than its metric and "
            "these data give; it was changed after the fit"
        )
    data = {"tol": tol, "disagreements": differing, "certified": is_certified}
    data |= {"claimed": asdict(claimed), "recomputed": asdict(recomputed)}
    about = "\n(of the table that the model prepares)" * hasattr(estimator, "preparation_")
    arrays = data["recomputed"].pop("proof", None)
    text = f"claimed:    {claimed}\nrecomputed: {recomputed}\n{verdict}{about}"
    if proof is not None:
        with replacing(proof) as file:
            np.savez(file, **arrays)
        text += f"\nproof in {proof}; verify it by: python -m frobmetric.verify {proof}"
    return Report(ExitCode.of(is_certified), text, data)


@command(app)
def explain(model, data, *, rows="0,1", by="features", target=None, header=True):
    """Explain by which features two rows of a table are near or far.

    The squared distance that the model has learned is split exactly: the parts add up to it. Below
    them are the values of both rows, in the columns that matter most.

    Parameters
    ----------
    rows : str
        Numbers of the two rows, from 0, with a comma.
    by : {"features", "components"}
        What to split the distance over; with a kernel, components only.
    """
    numbers = split_names(rows)
    if len(numbers) != 2 or not all(number.isdecimal() for number in numbers):
        raise wrong_usage("--rows", f"{rows!r} is not two numbers of rows; expected such as 3,17")
    estimator = load_model(model)
    if not hasattr(estimator, "explain"):
        raise ValueError(
            f"{model} is an {type(estimator).__name__}, which maps vectors and has no distance to "
            "explain; expected a metric or an EmbeddingAdapter"
        )
    table = read_columns(estimator, data, target, header, named=True)
    X, pair = table.X, [int(number) for number in numbers]
    if max(pair) >= len(X):
        raise wrong_usage("--rows", f"{data} has {len(X)} rows, with the numbers 0 to {len(X) - 1}")
    names = table.feature_names if by == "features" else None
    found = estimator.explain(*X[pair], by=by, feature_names=names)
    parts = dict(zip(found.names, found.parts.tolist(), strict=True))
    names = None if table.y is None else [str(table.y[i]) for i in pair]
    values = _values_of(table, pair, parts if by == "features" else {})
    content = {"rows": pair, "squared_distance": found.total, "parts": parts}
    content |= {"names": names, "values": values}
    return Report(ExitCode.CERTIFIED, f"{found}\n\n{_values_text(pair, names, values)}", content)


def _values_of(table, pair, parts):
    """Return the values of two rows by column, those of the largest parts first."""
    X, preparation = table.X[pair], table.preparation
    if preparation is None:
        names = table.feature_names or [f"x{j}" for j in range(X.shape[1])]
        columns = {name: [f"{x:.6g}" for x in X[:, j]] for j, name in enumerate(names)}
        sizes = {name: abs(parts.get(name, 0.0)) for name in columns}
    else:
        described = [dict(preparation.describe(row)) for row in X]
        columns = {name: [row[name] for row in described] for name in described[0]}
        features = {c.label: c.feature_names for c in preparation.columns}
        sizes = {
            name: max(abs(parts.get(feature, 0.0)) for feature in features[name])
            for name in columns
        }
    return {name: columns[name] for name in sorted(columns, key=lambda name: -sizes[name])}


def _values_text(pair, names, values):
    """Return the values of two rows as a table, of the first columns."""
    labels = ["" if names is None else f" ({name})" for name in names or pair]
    head = ["", *(f"row {i}{label}" for i, label in zip(pair, labels, strict=True))]
    rows = [[name, *cells] for name, cells in [*values.items()][:N_VALUES]]
    left = len(values) - len(rows)
    return text_table(head, rows) + (f"\n... and {left} more columns" if left else "")


def _check_model_name(path):
    """Raise an error if a name promises another format than that of models."""
    suffix = format_of(path)
    if suffix in READERS or suffix in OTHER_FORMATS:
        kind = "a table" if suffix in READERS else OTHER_FORMATS[suffix]
        raise wrong_usage(
            "--output",
            f"{path} names {kind}; a model is a safetensors file, which executes nothing; name it "
            f"{path.with_suffix('.safetensors').name}; `frobmetric export` writes other formats",
        )


def _make_estimator(parameters, given, cv):
    """Return a FrobMetricCV that chooses what is not given, or a FrobMetric if it cannot.

    `given` are the names of the parameters on the command line; `cv` is None if it is not there.
    """
    kernel_parameters = [name for name in ("gamma", "degree", "coef0") if name in given]
    if kernel_parameters and parameters["kernel"] in ("linear", "precomputed"):
        raise wrong_usage(f"--{kernel_parameters[0]}", "only --kernel rbf and polynomial have it")
    known = inspect.signature(FrobMetricCV).parameters
    unknown = sorted(given - set(known))
    if cv == 0 or (cv is None and unknown):
        return FrobMetric(**parameters)
    if cv == 1:
        raise wrong_usage("--cv", "1 fold leaves nothing to learn from; expected 0, 2 or more")
    if unknown:
        reason = "--cv chooses C, of a metric without a kernel, and cannot be combined"
        raise wrong_usage(f"--{unknown[0].replace('_', '-')}", f"{reason} with it; give only one")
    return FrobMetricCV(cv=cv or CHOICE_FOLDS, **{name: parameters[name] for name in given})


def _describe(step):
    return f"relative gap {step.relative_gap:.1e}   rank {step.rank}"


def _compare(estimator, table, test=None, *, folds=None, **options):
    """Compare a fitted model on test data, or an estimator by folds of one table."""
    if test is not None:
        options |= {"X_test": test.dataframe(), "y_test": test.y}
        return compare(estimator, table.dataframe(), table.y, **options)
    options["cv"] = folds or FOLDS
    if folds is None and len(table.X) > MANY_SAMPLES:
        thirds = StratifiedKFold(3, shuffle=True, random_state=options["random_state"])
        options["cv"] = [next(thirds.split(table.X, table.y))]
    with live_progress(_first_line(estimator), _describe) as callback, warnings.catch_warnings():
        warnings.filterwarnings("ignore", VERDICTS, UserWarning)
        return compare(estimator.set_params(callback=callback), table.X, table.y, **options)


def _first_line(estimator):
    """Return the progress line before the first step of a fit."""
    is_chosen = isinstance(estimator, FrobMetricCV)
    return "choosing options by held-out errors" if is_chosen else "searching for neighbours"


def _read_model_and_data(model, paths, target, header):
    """Return a model, and the tables to take neighbours from and to test."""
    train, test = paths
    if realpath(train) == realpath(test):
        say(f"warning: {test} is tested on itself; the errors say nothing about new data")
    estimator = load_model(model)
    if isinstance(estimator, FrobMetricCV):  # its own rule needs samples that no file holds
        estimator = estimator._chosen()
    tables = (read_features(estimator, path, target, header) for path in paths)
    return estimator, list(map(_require_labels, tables, paths))


def _fit_and_save(estimator, table, answers, path, question=""):
    """Fit and save; Ctrl-C saves the best metric so far.

    `question` is the command that tells whether the metric helps.
    """
    began = perf_counter()
    shown = {"first": _first_line(estimator), "tol": estimator.tol}
    is_interrupted = fit_visibly(estimator, _describe, table.dataframe(), **shown, **answers)
    seconds = perf_counter() - began
    if getattr(table, "preparation", None) is not None:
        estimator.preparation_ = table.preparation
    save(estimator, path)
    report = _fit_report(estimator, table, path, seconds, question)
    if is_interrupted:
        hint = "; go on by --resume" if "checkpoint" in answers else ""
        say(f"interrupted; the best metric so far was saved in {path}{hint}")
        return replace(report, code=ExitCode.INTERRUPTED)
    return report


@dataclass(frozen=True)
class _FileTable:
    """Samples and labels in a file that is read in parts."""

    X: RowFile
    y: RowFile

    def dataframe(self):
        return self.X


def _open_table(path, target, memory):
    """Return a parquet file as a table that is read in parts."""
    if path.suffix.lower() != ".parquet":
        raise wrong_usage("--memory", f"it reads parquet files in parts; {path} is none")
    if target is None:
        raise wrong_usage("--target", f"the labels of {path} are needed with --memory")
    if not memory > 0:
        raise wrong_usage("--memory", f"{memory} is no number of GB above 0")
    check_input(path, READERS)
    y = RowFile(path, columns=target)
    names = [name for name in RowFile(path).columns if name != target]
    return _FileTable(RowFile(path, columns=names, memory=int(memory * 1e9)), y)


def _require_labels(table, path, alternative=""):
    if table.y is None:
        raise wrong_usage("--target", f"the labels of {path} are needed{alternative}")
    return table


def _question(data, target, how):
    """Return the command that tells whether a metric helps."""
    options = {"target": target, "columns": how.columns, "drop": how.drop}
    options |= {"impute": how.impute, "categories": how.categories}
    words = [
        f"--{name} {value if isinstance(value, str) else ','.join(value)}"
        for name, value in options.items()
        if value
    ]
    return " ".join(["frobmetric evaluate", str(data), *words])


def _verdict(gap, tol):
    if gap <= tol:
        return f"certified: relative gap {gap:.1e} <= tol {tol:g}"
    return f"NOT certified: relative gap {gap:.1e} > tol {tol:g}"


def _usefulness(estimator, question):
    """Return what is known of use on new data, apart from the proof of the optimisation."""
    if hasattr(estimator, "report_"):
        return f"\n\n{estimator.report_}"
    if not question:
        return ""
    return f"\nThis is about the optimisation. To see whether the metric helps:\n  {question}"


def _fit_report(estimator, table, path, seconds, question):
    gap, tol = estimator.certificate_.error, estimator.tol
    n_samples, n_features = table.X.shape
    data = {
        "model": str(path),
        "status": estimator.status_,
        "certified": bool(gap <= tol),
        "certificate": asdict(estimator.certificate_),
        "tol": tol,
        "C": estimator.C,
        "n_samples": n_samples,
        "n_features": n_features,
        "seconds": seconds,
    }
    names = ("rank", "n_iter", "n_triplets", "units")
    data |= {name: getattr(estimator, f"{name}_") for name in names}
    options = f"C = {estimator.C:g}"
    if hasattr(estimator, "report_"):
        data |= {"chosen": estimator.best_params_, "report": estimator.report_.to_dict()}
        options = str(estimator.report_.setting)
    verdict = f"{_verdict(gap, tol)}, after {estimator.n_iter_} steps, {seconds:.1f} s"
    if not data["certified"]:
        advice = "" if estimator.status_ == "interrupted" else "; raise --max-iter or --tol"
        verdict += f" ({estimator.status_}){advice}"
    text = (
        f"{path}: a metric of rank {estimator.rank_} on {n_features} features, from "
        f"{estimator.n_triplets_} triplets of {n_samples} samples: {options}\n"
        f"certificate: {estimator.certificate_}\n{verdict}{_usefulness(estimator, question)}"
    )
    if hasattr(estimator, "preparation_"):
        data["columns"] = estimator.preparation_.to_fields()
    return Report(ExitCode.of(data["certified"]), text, data)
