"""metric-learn's own tests, run on the learners of frobmetric.

    python -m frobmetric_paper.bench.metric_learn_tests CLONE

CLONE is a clone of metric-learn. Its tests are copied and import a package `metric_learn` that
consists of frobmetric's classes. Two things are not part of the contract and are taken out: asserts
on the texts of messages, and tests that call private functions of metric-learn.
"""

import ast
import os
import subprocess
import sys
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import frobmetric

from ..harness.benchmark import Benchmark
from . import reasons

#: Files of metric-learn's tests.
FILES = (
    "metric_learn_test",
    "test_base_metric",
    "test_components_metric_conversion",
    "test_constraints",
    "test_fit_transform",
    "test_mahalanobis_mixin",
    "test_pairs_classifiers",
    "test_quadruplets_classifiers",
    "test_sklearn_compat",
    "test_triplets_classifiers",
    "test_utils",
)
OUTCOMES = ("passed", "failed", "skipped", "private")
#: Modules whose functions are private; a test that calls one is not run.
PRIVATE_MODULES = ("metric_learn._util", "metric_learn.lmnn")
#: Parts of the asserts that compare the text of a message.
TEXTS = (".value)", "str(w", "message", "expected_err", "raised_err", "raised_warning", "msg")
#: Names that moved in NumPy.
MOVED = ("from numpy.core.numeric import array_equal", "from numpy import array_equal")
LEARNERS = (
    "Covariance",
    "ITML",
    "ITML_Supervised",
    "LFDA",
    "LMNN",
    "LSML",
    "LSML_Supervised",
    "MLKR",
    "MMC",
    "MMC_Supervised",
    "NCA",
    "RCA",
    "RCA_Supervised",
    "SCML",
    "SCML_Supervised",
    "SDML",
    "SDML_Supervised",
)

#: Modules of the package `metric_learn` that the tests import, by name.
SHIMS = {
    "__init__": (
        f"from frobmetric.learners import {', '.join(LEARNERS)}\n"
        "from .constraints import Constraints\n__version__ = '0.7.0'\n"
    ),
    "constraints": (
        "from frobmetric.learning.constraints import DrawnConstraints as Constraints, wrap_pairs\n"
    ),
    "exceptions": "from frobmetric.exceptions import NonPSDError, PreprocessorError\n",
    "sdml": "class _BaseSDML:\n    'Exempt from some tests in metric-learn; nothing is here.'\n",
    "lmnn": "def __getattr__(name):\n    return None\n",
    # names for decorators; tests that call one of them are not run
    "_util": """
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return lambda *given, **options: ""
""",
    # classes that tests derive toy learners from
    "base_metric": """
import numpy as np
from frobmetric.learners.learner import Learner
from frobmetric.metric.predictors import PairPredictor as _PairsClassifierMixin
from frobmetric.metric.predictors import QuadrupletPredictor as _QuadrupletsClassifierMixin
from frobmetric.learners.learner import TripletLearner as _TripletsClassifierMixin

ArrayIndexer = None


class MahalanobisMixin(Learner):
    def __init__(self, preprocessor=None):
        self.preprocessor = preprocessor

    def _prepare_inputs(self, X, y, type_of_inputs):
        self.n_features_in_ = np.shape(X)[-1]
        return np.asarray(X), np.asarray(y)
""",
}


# The copies of the tests


class _Contract(ast.NodeTransformer):
    """Leaves of a test file what is a contract, and counts the asserts that it takes out."""

    def __init__(self, private):
        self.private, self.n_texts = private, 0

    def visit_Assert(self, node):
        if not any(text in ast.unparse(node.test) for text in TEXTS):
            return node
        self.n_texts += 1
        names = [part.id for part in ast.walk(node.test) if isinstance(part, ast.Name)]
        warned = [name for name in names if name.startswith("raised_warning")]
        left = f"assert len({warned[0]}) > 0" if warned else "pass"  # that something was said
        return ast.copy_location(ast.parse(left).body[0], node)

    def visit_Assign(self, node):
        """Take out the making of an expected text by private functions."""
        names = [ast.unparse(target) for target in node.targets]
        is_text = all("msg" in name or name == "context" for name in names)
        if is_text and self.uses_private([node]):
            node.value = ast.copy_location(ast.Constant(""), node.value)
        return node

    def visit_Call(self, node):
        self.generic_visit(node)
        if ast.unparse(node.func) in ("pytest.raises", "pytest.warns"):
            node.keywords = [each for each in node.keywords if each.arg != "match"]
        return node

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        if node.name.startswith("test") and self.uses_private(node.body):
            mark = "pytest.mark.skip(reason='private')"
            node.decorator_list.insert(0, ast.parse(mark, mode="eval").body)
        return node

    def uses_private(self, body):
        """Return whether statements use a private function or method of metric-learn."""
        parts = [part for statement in body for part in ast.walk(statement)]
        attributes = {part.attr for part in parts if isinstance(part, ast.Attribute)}
        names = {part.id for part in parts if isinstance(part, ast.Name)}
        hidden = (each for each in attributes if each.startswith("_") and each[:2] != "__")
        return bool(names & self.private) or any(hidden)


def _private_names(tree):
    """Return the private functions that a test file imports."""
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    some = (node.names for node in imports if node.module in PRIVATE_MODULES)
    return {alias.name for names in some for alias in names}


def contract_of(source):
    """Return the source of a test file without what is no contract, and the asserts taken out."""
    tree = ast.parse(source)
    contract = _Contract(_private_names(tree))
    tree = ast.fix_missing_locations(contract.visit(tree))
    return "import pytest\n" + ast.unparse(tree).replace(*MOVED), contract.n_texts


def find_clone(folder):
    """Return the path of the clone, which is the folder or its `metric-learn`."""
    for path in (Path(folder or "."), Path(folder or ".", "metric-learn")):
        if (path / "metric_learn").is_dir() and (path / "test").is_dir():
            return path
    raise FileNotFoundError(
        f"{folder} is no clone of metric-learn; expected a folder with metric_learn and test: "
        "git clone https://github.com/scikit-learn-contrib/metric-learn, and give its path"
    )


def write_tests(clone, folder):
    """Write the package and the copies of the tests; return the asserts taken out, by file."""
    package, tests = folder / "metric_learn", folder / "test"
    package.mkdir()
    tests.mkdir()
    for name, source in SHIMS.items():
        (package / f"{name}.py").write_text(source, encoding="utf-8")
    shim = (clone / "metric_learn" / "sklearn_shims.py").read_text(encoding="utf-8")
    (package / "sklearn_shims.py").write_text(shim, encoding="utf-8")
    (tests / "__init__.py").touch()
    counts = {}
    for name in FILES:
        source = (clone / "test" / f"{name}.py").read_text(encoding="utf-8")
        source, counts[name] = contract_of(source)
        (tests / f"{name}.py").write_text(source, encoding="utf-8")
    return counts


# Running them


def run_tests(folder, name, limit):
    """Run one file of tests in a process of its own and return its report, an XML tree."""
    sources = [str(folder), str(Path(frobmetric.__file__).parents[1])]
    report = folder / f"{name}.xml"
    command = [sys.executable, "-m", "pytest", "-q", f"test/{name}.py", f"--junitxml={report}"]
    command += ["-p", "no:cacheprovider", "--rootdir", str(folder), "-c", os.devnull]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sources)}
    subprocess.run(
        command, cwd=folder, env=environment, timeout=limit, check=False, capture_output=True
    )
    return ElementTree.parse(report).getroot()


def outcome_of(case):
    """Return the outcome of a test, and the first line of what it raised."""
    for tag, outcome in (("failure", "failed"), ("error", "failed"), ("skipped", "skipped")):
        found = case.find(tag)
        if found is not None:
            text = found.get("message", "").partition("\n")[0]
            return ("private" if text == "private" else outcome), text
    return "passed", ""


def name_of(case):
    """Return the name of a test without its parameters, after that of its class."""
    group, name = case.get("classname").rpartition(".")[2], case.get("name").partition("[")[0]
    return f"{group}.{name}" if group.startswith("Test") else name


def measure_file(name, options):
    """Return the counts of a file of tests, and its failures by the name of the test."""
    clone = find_clone(options.folder)
    with tempfile.TemporaryDirectory() as folder:
        n_texts = write_tests(clone, Path(folder))[name]
        report = run_tests(Path(folder), name, options.limit)
    counts, failures = Counter(), {}
    for case in report.iter("testcase"):
        outcome, text = outcome_of(case)
        counts[outcome] += 1
        if outcome == "failed":
            failures.setdefault(name_of(case), []).append(text[:100])
    rows = [
        {"test": test, "count": len(texts), "first": texts[0]} for test, texts in failures.items()
    ]
    return {key: counts[key] for key in OUTCOMES} | {"texts": n_texts, "failures": rows}


def contract_page(data):
    """Return the rows of the page."""
    files = [{"file": name} | each for name, each in data.items()]
    keys = (*OUTCOMES, "texts")
    files.append({"file": "all"} | {key: sum(each[key] for each in data.values()) for key in keys})
    known = reasons("metric_learn_tests")
    failures = [
        {"file": name, "reason": known.get(row["test"], "not explained yet")} | row
        for name, each in data.items()
        for row in each["failures"]
    ]
    return {"files": files, "failures": failures}


PARTS = {name: partial(measure_file, name) for name in FILES}
BENCHMARK = Benchmark(parts=PARTS, page=contract_page)


if __name__ == "__main__":
    from .__main__ import main

    if len(sys.argv) < 2:
        sys.exit("no clone is given; expected the path of a clone of metric-learn")
    sys.exit(main(["metric_learn_tests", "--folder", *sys.argv[1:]]))
