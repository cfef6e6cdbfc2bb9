"""metric-learn's own tests, run on this library's learners of the same names.

    python -m frobmetric_paper.bench.metric_learn_tests CLONE [pytest options]

CLONE is a checkout of https://github.com/scikit-learn-contrib/metric-learn. Its tests are copied to
a temporary folder beside a package `metric_learn` that has our classes and nothing else but the two
files of helpers that the tests use themselves. Texts of messages are not compared, because ours are
our own; everything else is. Counts by file, and the names of the tests that fail, are printed and
written to the folder of results.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from pathlib import Path

import frobmetric
from frobmetric import learners
from frobmetric._environment import replacing

from . import RESULTS

#: Words in an assertion that compares the text of a message.
OF_TEXTS = (".value", "str(w", "message", "expected_err", "raised_err", "raised_warning", "msg")
#: Files of the package that stands for metric-learn.
SHIMS = {
    "__init__.py": f"""
from frobmetric import Constraints, {", ".join(n for n in learners.__all__ if "GMML" not in n)}
__version__ = "0.7.0"
""",
    "constraints.py": "from frobmetric.constraints import Constraints, wrap_pairs\n",
    "exceptions.py": "from frobmetric.exceptions import NonPSDError, PreprocessorError\n",
    "base_metric.py": """
from metric_learn._util import ArrayIndexer
from frobmetric.comparisons.reading import read_tuples
from frobmetric.learners._base import Learner
from frobmetric.metric.predictors import PairPredictor as _PairsClassifierMixin
from frobmetric.metric.predictors import QuadrupletPredictor as _QuadrupletsClassifierMixin
from frobmetric.metric.predictors import TripletPredictor as _TripletsClassifierMixin
from frobmetric.neighbors.thresholds import check_strategy


class MahalanobisMixin(Learner):
    # what the classifiers that the tests define rely on
    def __init__(self, preprocessor=None):
        self.preprocessor = preprocessor

    def _prepare_inputs(self, pairs, y, type_of_inputs):
        read = read_tuples(pairs, 2, self.preprocessor)
        self.n_features_in_ = read.points.shape[1]
        return read.points[read.index], y


def _validate_calibration_params(strategy="accuracy", min_rate=None, beta=1.0):
    check_strategy(strategy, beta, min_rate)


Learner._tuple_size = property(lambda self: self._size)
Learner._check_preprocessor = lambda self: None
_PairsClassifierMixin._validate_calibration_params = staticmethod(_validate_calibration_params)
""",
    "sdml.py": "from frobmetric import SDML\n\n\nclass _BaseSDML:\n    pass\n",
    "lmnn.py": """
def _sum_outer_products(data, a, b, weights=None):
    X = data[a] - data[b]
    return X.T @ (X if weights is None else X * weights[:, None])
""",
}
#: Helpers of the tests, which are not under test.
HELPERS = ("_util.py", "sklearn_shims.py")


class WithoutTexts(ast.NodeTransformer):
    """Leaves out what a test says about the texts of messages."""

    def __init__(self):
        self.n_left_out = 0

    def visit_Assert(self, node):
        """Leave out an assertion on a text."""
        if any(word in ast.unparse(node.test) for word in OF_TEXTS):
            self.n_left_out += 1
            return ast.copy_location(ast.Pass(), node)
        return node

    def visit_Call(self, node):
        """Leave out the text that an expected error or warning is to match."""
        self.generic_visit(node)
        if ast.unparse(node.func) in ("pytest.raises", "pytest.warns"):
            node.keywords = [each for each in node.keywords if each.arg != "match"]
        return node


def prepare(clone, folder):
    """Write the package and the tests to a folder; return the number of texts left out."""
    package, tests, transform = folder / "metric_learn", folder / "test", WithoutTexts()
    package.mkdir()
    tests.mkdir()
    for name, text in SHIMS.items():
        (package / name).write_text(text, encoding="utf-8")
    for name in HELPERS:
        text = (clone / "metric_learn" / name).read_text(encoding="utf-8")
        text = text.replace("force_all_finite", "ensure_all_finite")  # renamed in scikit-learn 1.6
        (package / name).write_text(text, encoding="utf-8")
    for path in sorted((clone / "test").glob("*.py")):
        tree = ast.fix_missing_locations(transform.visit(ast.parse(path.read_text("utf-8"))))
        text = ast.unparse(tree).replace("numpy.core.numeric", "numpy")  # gone from NumPy 2
        (tests / path.name).write_text(text, encoding="utf-8")
    return transform.n_left_out


def run(folder, options=()):
    """Run the tests of a folder; return the outcome of each by its file and name."""
    source = Path(frobmetric.__file__).parents[1]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(source)])}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short"]
    subprocess.run(
        [*command, "--junitxml=report.xml", "test", *options],
        cwd=folder,
        env=environment,
        check=False,
    )
    outcomes = {}
    for case in ET.parse(folder / "report.xml").iter("testcase"):
        tags = {child.tag for child in case}
        kind = next((tag for tag in ("failure", "error", "skipped") if tag in tags), "passed")
        file, _, group = case.get("classname", "").removeprefix("test.").partition(".")
        outcomes["::".join(filter(None, [file, group, case.get("name")]))] = kind
    return outcomes


def as_markdown(outcomes, n_left_out, version):
    """Return the page: counts by file, and what fails."""
    counts = defaultdict(Counter)
    for name, kind in outcomes.items():
        counts[name.split("::")[0]][kind] += 1
    total = sum(counts.values(), Counter())
    lines = [
        f"| {file} | {c['passed']} | {c['failure'] + c['error']} | {c['skipped']} |"
        for file, c in sorted({**counts, "all": total}.items(), key=lambda item: item[0] == "all")
    ]
    failed = [f"* `{name}`" for name, kind in outcomes.items() if kind in ("failure", "error")]
    return "\n".join(
        [
            "# metric-learn's own tests on these learners",
            "",
            f"Tests of metric-learn at {version}, run by `python -m "
            f"frobmetric_paper.bench.metric_learn_tests CLONE`; {n_left_out} assertions on",
            "texts of messages are left out. docs/from_metric_learn.md says why some fail.",
            "",
            "| file | passed | failed | skipped |",
            "| --- | --: | --: | --: |",
            *lines,
            "",
            *(["Failed:", "", *failed, ""] if failed else []),
        ]
    )


def main(arguments):
    """Run the tests of a clone and write the results."""
    clone = Path(arguments[0]).resolve()
    if not (clone / "test").is_dir():
        sys.exit(f"{clone} has no folder test; give the path of a checkout of metric-learn")
    git = ["git", "-C", str(clone), "describe", "--tags", "--always"]
    version = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        n_left_out = prepare(clone, folder)
        outcomes = run(folder, arguments[1:])
    page = as_markdown(outcomes, n_left_out, version)
    content = json.dumps({"version": version, "outcomes": outcomes}, indent=1) + "\n"
    for suffix, text in (("md", page), ("json", content)):
        with replacing(RESULTS / f"metric_learn_tests.{suffix}") as file:
            file.write(text.encode())
    print(page)


if __name__ == "__main__":
    main(sys.argv[1:] or sys.exit(__doc__))
