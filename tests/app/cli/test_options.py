"""Options of the commands: names, defaults and help of the estimators, in words of a shell."""

import inspect
import json
import re

import pytest

from frobmetric.app.cli import COMMANDS, FILE
from frobmetric.app.cli import app as whole_app
from frobmetric.app.cli.declaration import FitParameters
from frobmetric.app.cli.fit import make_estimator
from frobmetric.learning.priors import PRIORS
from frobmetric.manifold import MaximumVarianceUnfolding
from frobmetric.metric import FrobMetric, FrobMetricCV
from frobmetric.sdp import solve_sdp
from frobmetric.solvers import FROBENIUS_SOLVERS
from terminals import CliRunner, run

#: Parameters that a command line cannot express, or has in another way.
NOT_OPTIONS = {"callback", "verbose", "preprocessor", "random_state"}


def shown_options(name):
    """The options in the help of a command, with all that is said of each."""
    text = CliRunner().invoke(whole_app, [*name.split(), "--help"], env={"COLUMNS": "200"}).stdout
    parts = re.split(r"^  (?:-\w, )?(--[\w-]+)", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], (" ".join(part.split()) for part in parts[2::2]), strict=True))


@pytest.mark.parametrize(
    ("name", "source"), [("fit", FrobMetric), ("unfold", MaximumVarianceUnfolding)]
)
def test_every_parameter_of_an_estimator_is_an_option_with_help(name, source):
    options, documented = shown_options(name), parameters_of(source)
    for parameter in inspect.signature(source).parameters.values():
        if parameter.name in NOT_OPTIONS:
            continue
        text = options[f"--{parameter.name.replace('_', '-')}"]
        kind, description = documented[parameter.name]
        assert description.split(". ")[0].rstrip(".") in text
        for word in re.findall(r'"(\w+)"', kind):
            assert word in text
        is_shown = parameter.default is not None and not isinstance(parameter.default, bool)
        assert f"default: {parameter.default}" in text or not is_shown


def parameters_of(source):
    """The documented types and texts of the parameters of an estimator or a function."""
    entries = re.findall(
        r"^    (\w+) : (.*(?:\\\n.*)?)\n((?:        .*\n|\n)+)", source.__doc__, re.M
    )
    return {name: (kind, " ".join(text.split())) for name, kind, text in entries}


#: What a help must not have: None, names of parameters in quotes, attributes, dotted names.
PYTHON = re.compile(r"\bNone\b|`\w+_\w*`|`[a-z]+=|\b[a-z_]+_(?![\w.])|`frobmetric\.|\bX in\b")


@pytest.mark.parametrize("name", sorted({*COMMANDS, "sdp solve"} - {"sdp"}))
def test_help_speaks_of_the_command_line(name):
    text = CliRunner().invoke(whole_app, [*name.split(), "--help"], env={"COLUMNS": "200"}).stdout
    assert not PYTHON.findall(text)


@pytest.mark.parametrize(("option", "values"), [("prior", PRIORS), ("solver", FROBENIUS_SOLVERS)])
def test_an_option_lists_its_values(option, values):
    kind = parameters_of(FrobMetric)[option][0]
    listed = re.findall(r'"(\w+)"', kind.partition(", default")[0])
    assert {*listed} == {*values}
    assert "|".join(listed) in shown_options("fit")[f"--{option}"]


def test_many_options_stand_below_headings():
    lines = run("fit", "--help").stdout.splitlines()
    headings = [line for line in lines if re.fullmatch(r"\w+:", line)]
    headings = [each for each in headings if each != "Options:"]  # of --help, in older versions
    assert headings == ["Arguments:", "Data:", "Preparation:", "Model:", "Solver:", "Output:"]
    assert "Preparation:" not in run("compare", "--help").stdout


def test_options_of_a_function():
    options = shown_options("sdp solve")
    documented = parameters_of(solve_sdp)
    for name in ("tol", "max_iter", "time_limit"):
        sentence = documented[name][1].split(". ")[0].rstrip(".")
        assert sentence in options[f"--{name.replace('_', '-')}"]
    assert "--callback" not in options


def test_the_defaults_are_the_estimators():
    options = json.loads(FILE.read_text(encoding="utf-8"))["fit"]["options"]
    defaults = {each["name"]: each["default"] for each in options if "group" in each}
    defaults = {name: defaults[name] for name in FitParameters.__annotations__}
    assert make_estimator(defaults, set(), cv=0).get_params() == FrobMetric().get_params()
    # what is not given is chosen
    assert make_estimator(defaults, set(), cv=None).get_params() == FrobMetricCV().get_params()


def test_what_is_no_number():
    assert "'--n-neighbors'" in run("fit", "t.csv", "--n-neighbors", "many", code=2).stderr
