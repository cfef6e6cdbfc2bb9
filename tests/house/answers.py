"""Answers of every estimator on its contract data, as bits: fitted attributes and outputs."""

from __future__ import annotations

import argparse
import contextlib
import json
import platform
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.base import BaseEstimator

from house.cases import Case, Questions, all_cases
from house.library import find, public_estimators
from house.record import Recorder, fitted_attributes
from house.trees import HOUSE, require_library_of

Record = dict[str, Any]


def answers(wanted: str = "", n_values: int = 8) -> dict[str, Any]:
    """Return the records of all cases whose name contains `wanted`."""
    recorder, records = Recorder(n_values), {}
    for case in all_cases():
        if wanted in case.name:
            start = time.perf_counter()
            records[case.name] = record_of(case, recorder)
            print(f"{time.perf_counter() - start:7.2f} s  {case.name}", file=sys.stderr)  # noqa: T201
    return {"made with": surroundings(), "without a case": uncovered(records), "cases": records}


def record_of(case: Case, recorder: Recorder) -> Record:
    """Return the flat record of a case: warnings, attributes, answers to its questions."""
    record: Record = {}
    answer = _tell(record, "fit", case.answer)
    if isinstance(answer, BaseEstimator):
        for name, value in fitted_attributes(answer).items():
            record |= recorder.flat(name, value)
        if case.questions is not None:
            record |= _ask(answer, case.questions, recorder)
    elif answer is not None:
        record |= recorder.flat("result", answer)
    return record


def _ask(model: Any, questions: Questions, recorder: Recorder) -> Record:
    record: Record = {}
    if questions.is_saved:
        record |= _save(model, questions, recorder)
    for name, given in questions.asked.items():
        for method, function in _methods(model, name):
            value = _tell(record, method, partial(_call, function, given))
            if isinstance(value, BaseEstimator):  # a threshold was set
                names = ("threshold_", "promise_")
                value = {each: getattr(model, each, None) for each in names}
            record |= recorder.flat(f"{method}()", value) if value is not None else {}
    return record


def _methods(model: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the method of a model for a question, if it has one."""
    if name.startswith("_predict"):
        yield name[1:], model.predict
    elif name == "_point_distance" and hasattr(model, "get_metric"):
        yield name[1:], lambda a, b: model.get_metric()(a, b)
    elif name == "explain_features" and hasattr(model, "explain"):
        yield name, model.explain
    elif hasattr(model, name):
        yield name, getattr(model, name)


def _save(model: Any, questions: Questions, recorder: Recorder) -> Record:
    """Return what a saved and loaded model has and answers."""
    record: Record = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"

        def saved() -> Any:
            find("save")(model, path)
            return find("load")(path)

        loaded = _tell(record, "save", saved)
    if loaded is None:
        return record
    kept = []
    for name, value in fitted_attributes(loaded).items():
        leaves = dict(recorder.flat(name, value))
        if json.dumps(leaves) == json.dumps(dict(recorder.flat(name, getattr(model, name, None)))):
            kept.append(name)
        else:
            record |= {f"loaded.{key}": leaf for key, leaf in leaves.items()}
    record["loaded: as before"] = kept
    for name in ("transform", "predict"):
        if name in questions.asked and hasattr(loaded, name):
            call = partial(_call, getattr(loaded, name), questions.asked[name])
            record |= recorder.flat(f"loaded.{name}()", _tell(record, f"loaded.{name}", call))
    return record


def _call(function: Any, given: tuple[Any, ...]) -> Any:
    """Call a function; a mapping at the end has arguments by name."""
    if given and isinstance(given[-1], dict):
        return function(*given[:-1], **given[-1])
    return function(*given)


def _tell(record: Record, name: str, function: Any) -> Any:
    """Return what a function gives, None after an error; record the error and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = function()
        except Exception as error:  # an error is an answer too
            record[f"{name}: error"] = f"{type(error).__name__}: {error}"[:300]
            value = None
    texts = [_text(each) for each in caught]
    if texts:
        record[f"{name}: warnings"] = texts
    return value


def _text(warning: warnings.WarningMessage) -> str:
    """Return a warning, and whether it points at the caller, which is this tool."""
    text = f"{warning.category.__name__}: {warning.message}"[:200]
    return text if Path(warning.filename).parent == HOUSE else f"{text} (not at the caller)"


def uncovered(records: dict[str, Any]) -> list[str]:
    """Return the public estimators that no case fits."""
    fitted = {name.partition("/")[0] for name in records}
    return [kind.__name__ for kind in public_estimators() if kind.__name__ not in fitted]


def surroundings() -> dict[str, str]:
    """Return what bits depend on besides the library: versions and the machine."""
    versions = {each.__name__: each.__version__ for each in (np, scipy, sklearn)}
    with contextlib.suppress(ImportError):
        import numba

        versions["numba"] = numba.__version__
    return {"python": platform.python_version(), **versions, "processor": _processor()}


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def main() -> None:
    """Print the answers of the library on the path, as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("tree", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--values", type=int, default=8)
    given = parser.parse_args()
    require_library_of(given.tree)
    json.dump(answers(given.only, given.values), sys.stdout)


if __name__ == "__main__":
    main()
