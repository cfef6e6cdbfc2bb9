"""The command fit: a metric learned from a table, saved with its certificate."""

from __future__ import annotations

import inspect
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from ...backends import RowFile
from ...core.solution import NOTHING, Certificate, Step
from ...io import save
from ...io.preparation import Preparing
from ...io.text import format_of
from ...metric import FrobMetric, FrobMetricCV
from ...runtime.environment import target_file
from ..tables.reading import READERS, Table, check_input, read_triplets
from .declaration import FitParameters, MetricParameters, Natural, command
from .models import read_visibly, require_labels
from .progress import fit_visibly
from .terminal import ExitCode, Report, checkpoint_arguments, errors_about, say, wrong_usage

#: Number of folds by which options are chosen.
CHOICE_FOLDS = 3
#: Suffixes of formats that a model does not have, and what they are.
OTHER_FORMATS = dict.fromkeys((".pkl", ".pickle", ".joblib", ".skops"), "an object of Python")
OTHER_FORMATS |= dict.fromkeys((".pt", ".pth", ".bin", ".ckpt"), "a state of torch")
OTHER_FORMATS |= {".onnx": "a graph of onnx", ".faiss": "an index of faiss", ".sql": "statements"}
OTHER_FORMATS |= dict.fromkeys((".h5", ".hdf5", ".keras"), "an HDF5 file")
OTHER_FORMATS |= dict.fromkeys((".json", ".html", ".txt", ".zip", ".xlsx"), "another kind of file")


@command(FrobMetric)
def fit(
    data: Path,
    parameters: FitParameters,
    given: set[str],
    *,
    output: Path = Path("model.safetensors"),
    target: str | None = None,
    triplets: Path | None = None,
    with_labels: bool = False,
    preparation: Preparing,
    cv: Natural | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
    memory: float | None = None,
    header: bool = True,
) -> Report:
    """Learn a metric from a table, and save it with its certificate.

    Options of the fit that are not given are chosen by errors on held-out samples, and the report
    tells whether the metric helps. Without a choice, by --cv 0, they have the defaults below; so
    they do with --C, --kernel, --n-directions and --triplets.

    What --columns, --drop, --impute and --categories do to the table is kept in the model, and done
    again by every command that uses it. The certificate is about the table that they make.

    Parameters
    ----------
    output
        File of the model.
    triplets
        File of rows anchor, near, far (numbers of rows of the data, from 0) to learn from instead
        of labels; --target then only names a column that is no feature.
    with_labels
        Learn from the labels as well as from --triplets.
    cv
        Number of folds by which options are chosen, by default 3; 0 chooses nothing.
    checkpoint
        File in which the fit keeps its state while it runs, so that --resume can go on with it;
        it is removed when the fit is complete. A choice of options is made again.
    resume
        Go on with the fit whose state is in the file of --checkpoint; without such a file, start
        anew. The data and the options have to be the same.
    memory
        GB that the fit may take, for a parquet file that is larger than memory: its rows are read
        in parts whenever they are needed. Such a model keeps no proof.
    """
    if triplets is not None:
        if cv:
            raise wrong_usage("--cv", "it needs labels, not --triplets")
        cv = 0
    _check_model_name(output)
    target_file(output)
    estimator = make_estimator(parameters, given, cv)
    saving = checkpoint_arguments(checkpoint, resume)
    if memory is not None:
        if triplets is not None:
            raise wrong_usage("--memory", "it needs labels, not --triplets")
        if estimator.keep_dual:
            raise wrong_usage("--keep-proof", "a fit with --memory cannot keep it; give only one")
        if preparation != Preparing():
            reason = "columns cannot be chosen or changed; write another parquet file first"
            raise wrong_usage("--memory", reason)
        table: Table | _FileTable = _open_table(data, target, memory)
    else:
        table = read_visibly(data, target, header=header, preparation=preparation)
        if triplets is None:
            require_labels(table, data, ", or --triplets")
    if with_labels and (triplets is None or table.y is None):
        raise wrong_usage("--with-labels", "it needs --triplets and labels")
    answers: dict[str, Any] = {"y": table.y} if triplets is None or with_labels else {}
    if triplets is not None:
        answers["triplets"] = read_triplets(triplets)
    question = _question(data, target, preparation) if "y" in answers else ""
    with errors_about(data):
        return _fit_and_save(estimator, table, answers | saving, output, question)


def _check_model_name(path: Path) -> None:
    """Raise an error if the name of a model has the suffix of another format."""
    suffix = format_of(path)
    if suffix in READERS or suffix in OTHER_FORMATS:
        kind = "a table" if suffix in READERS else OTHER_FORMATS[suffix]
        raise wrong_usage(
            "--output",
            f"{path} names {kind}; a model is a safetensors file, which executes nothing; name it "
            f"{path.with_suffix('.safetensors').name}; `frobmetric export` writes other formats",
        )


def make_estimator(
    parameters: MetricParameters, given: set[str], cv: int | None
) -> FrobMetric | FrobMetricCV:
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
    asked: dict[str, Any] = {name: x for name, x in parameters.items() if name in given}
    return FrobMetricCV(cv=cv or CHOICE_FOLDS, **asked)


def describe_step(step: Step) -> str:
    """Return the progress line of a step of a fit."""
    return f"relative gap {step.relative_gap:.1e}   rank {step.rank}"


def first_line(estimator: FrobMetric | FrobMetricCV) -> str:
    """Return the progress line before the first step of a fit."""
    is_chosen = isinstance(estimator, FrobMetricCV)
    return "choosing options by held-out errors" if is_chosen else "searching for neighbours"


def _fit_and_save(
    estimator: FrobMetric | FrobMetricCV,
    table: Table | _FileTable,
    answers: dict[str, Any],
    path: Path,
    question: str = "",
) -> Report:
    """Fit and save; Ctrl-C saves the best metric so far.

    `question` is the command that tells whether the metric helps.
    """
    began = perf_counter()
    first, X = first_line(estimator), table.dataframe()
    is_interrupted = fit_visibly(
        estimator, describe_step, X, first=first, tol=estimator.tol, **answers
    )
    seconds = perf_counter() - began
    if isinstance(table, Table) and table.preparation is not None:
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

    def dataframe(self) -> RowFile:
        return self.X


def _open_table(path: Path, target: str | None, memory: float) -> _FileTable:
    """Return a parquet file as a table that is read in parts."""
    if path.suffix.lower() != ".parquet":
        raise wrong_usage("--memory", f"it reads parquet files in parts; {path} is another file")
    if target is None:
        raise wrong_usage("--target", f"the labels of {path} are needed with --memory")
    if not memory > 0:
        raise wrong_usage("--memory", f"{memory} is not a number of GB above 0")
    check_input(path, READERS)
    y = RowFile(path, columns=target)
    names = [name for name in RowFile(path).columns if name != target]
    return _FileTable(RowFile(path, columns=names, memory=int(memory * 1e9)), y)


def _question(data: Path, target: str | None, how: Preparing) -> str:
    """Return the command that tells whether a metric helps."""
    options = {"target": target, "columns": how.columns, "drop": how.drop}
    options |= {"impute": how.impute, "categories": how.categories}
    words = [
        f"--{name} {value if isinstance(value, str) else ','.join(value)}"
        for name, value in options.items()
        if value
    ]
    return " ".join(["frobmetric evaluate", str(data), *words])


def gap_verdict(certificate: Certificate, tol: float) -> str:
    """Return a line that says whether a certificate proves a metric to a tolerance."""
    gap, tol = certificate.error, min(tol, NOTHING)
    if certificate.is_within(tol):
        return f"certified: relative gap {gap:.1e} <= tol {tol:g}"
    return f"NOT certified: relative gap {gap:.1e} > tol {tol:g}"


def _usefulness(estimator: FrobMetric | FrobMetricCV, question: str) -> str:
    """Return a text on errors on new data, or on the command that measures them."""
    if hasattr(estimator, "report_"):
        return f"\n\n{estimator.report_}"
    if not question:
        return ""
    return f"\nThis is about the optimisation. To see whether the metric helps:\n  {question}"


def _fit_report(
    estimator: FrobMetric | FrobMetricCV,
    table: Table | _FileTable,
    path: Path,
    seconds: float,
    question: str,
) -> Report:
    certificate, tol = estimator.certificate_, estimator.tol
    n_samples, n_features = table.X.shape
    data = {
        "model": str(path),
        "status": estimator.status_,
        "certified": certificate.is_within(tol),
        "certificate": asdict(certificate),
        "tol": tol,
        "C": estimator.map_.problem[0].C,
        "n_samples": n_samples,
        "n_features": n_features,
        "seconds": seconds,
    }
    names = ("rank", "n_iter", "n_triplets", "units")
    data |= {name: getattr(estimator, f"{name}_") for name in names}
    options = f"C = {estimator.map_.problem[0].C:g}"
    if hasattr(estimator, "report_"):
        data |= {"chosen": estimator.best_params_, "report": estimator.report_.to_dict()}
        options = str(estimator.report_.setting)
    verdict = f"{gap_verdict(certificate, tol)}, after {estimator.n_iter_} steps, {seconds:.1f} s"
    if not data["certified"]:
        advice = "" if estimator.status_ == "interrupted" else "; raise --max-iter or --tol"
        verdict += f" ({estimator.status_}){advice}"
    text = (
        f"{path}: a metric of rank {estimator.rank_} on {n_features} features, from "
        f"{estimator.n_triplets_} triplets of {n_samples} samples: {options}\n"
        f"certificate: {certificate}\n{verdict}{_usefulness(estimator, question)}"
    )
    if estimator.map_.features.preparation is not None:
        data["columns"] = estimator.preparation_.to_fields()
    return Report(ExitCode.of(bool(data["certified"])), text, data)
