"""Commands read from text: the same as those that are imported, and without heavy imports."""

import inspect
from importlib import import_module

import pytest

from frobmetric.app import cli
from frobmetric.app.cli.declared import _text_of, read_commands, summary_of
from terminals import environment, run, run_process

MODULES = sorted(set(cli.COMMANDS.values()))
SOURCES = [("metric", "FrobMetric"), ("manifold", "MaximumVarianceUnfolding")]
SOURCES += [("sdp", "solve_sdp"), ("sdp", "nearest_correlation"), ("sdp", "nearest_covariance")]


def without_annotations(function):
    signature = inspect.signature(function)
    plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return signature.replace(parameters=plain, return_annotation=signature.empty)


def commands_of(app):
    return sorted(info.callback.__name__ for info in app.registered_commands)


@pytest.mark.parametrize("module", MODULES)
def test_the_text_has_the_commands_of_the_module(module):
    name = f"frobmetric.app.cli.{module}"
    imported, names = import_module(name), commands_of(read_commands(name))
    assert names == commands_of(imported.app)
    if module not in cli.GROUPS:
        assert names == sorted(
            command for command in cli.COMMANDS if cli.COMMANDS[command] == module
        )
    for command in names:
        stand_in, function = _text_of(name)[command], getattr(imported, command)
        assert without_annotations(stand_in) == without_annotations(function)
        assert stand_in.__doc__ == inspect.getdoc(function)


@pytest.mark.parametrize(("room", "name"), SOURCES)
def test_the_text_has_the_parameters_of_estimators(room, name):
    real = getattr(import_module(f"frobmetric.{room}"), name)
    stand_in = _text_of(f"frobmetric.{room}")[name]
    assert without_annotations(stand_in) == without_annotations(real)
    assert stand_in.__doc__ == inspect.getdoc(real)


def test_what_the_text_does_not_tell():
    with pytest.raises(NameError, match="does not tell what 'nothing' is"):
        _text_of("frobmetric.app.cli.options")["nothing"]
    with pytest.raises(NameError, match="what 'FLAGS' is"):  # changed by |= after its definition
        _text_of("frobmetric.app.cli.options")["FLAGS"]


def test_help_and_mistakes_import_nothing_heavy():
    heavy = ("numpy", "scipy", "sklearn", "joblib", "pyarrow", "rich", "pydantic", "matplotlib")
    lines = [[name, "--help"] for name in cli.COMMANDS] + [["sdp", "solve", "-h"], ["--help"]]
    lines += [["--version"], ["fti"], ["fit", "--tagret", "x"]]
    code = f"""
import contextlib, io, sys
from frobmetric.app.cli import app
for line in {lines!r}:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            app(line, prog_name="frobmetric")
        except SystemExit as end:
            assert end.code == (2 if line[0] == "fti" or "--tagret" in line else 0), (line, end)
print([name for name in {heavy!r} if name in sys.modules])
"""
    result = run_process(code=code)
    assert (result.stdout, result.stderr) == ("[]\n", "")


def test_summaries_are_whole():
    assert summary_of("frobmetric.app.cli.sdp", "sdp").endswith("with a proof of the answer.")
    text = " ".join(run("--help").stdout.split())
    for name, module in cli.COMMANDS.items():
        assert f" {name} {summary_of(f'frobmetric.app.cli.{module}', name)}" in text
    assert "..." not in text.partition("Commands:")[2]


def test_a_mistake_names_the_nearest_command():
    assert "No such command 'fti'; did you mean 'fit'?" in run("fti", code=2).stderr
    assert "`frobmetric --help` lists them" in " ".join(run("xyzzy", code=2).stderr.split())


@pytest.mark.parametrize(
    ("line", "expected"), [("frobmetric ev", "evaluate\n"), ("frobmetric fit --tar", "--target")]
)
def test_completion_in_a_shell(line, expected):
    words = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    variables = environment() | words | {"_FROBMETRIC_COMPLETE": "complete_bash"}
    code = (
        f"import os, sys; os.environ |= {variables!r}\nfrom frobmetric.__main__ import main\nmain()"
    )
    result = run_process(code=code)
    assert result.returncode == 0
    assert expected in result.stdout
    assert "\nfit" not in result.stdout


# Ctrl-C before a command begins


@pytest.mark.parametrize("module", ["typer", "numpy"])
def test_ctrl_c_during_imports(module):
    code = f"""
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # tests may run where it is ignored
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
sys.argv = ["frobmetric", "fit", "no.csv"]
from frobmetric.__main__ import main
main()
"""
    result = run_process(code=code)
    assert (result.returncode, result.stdout) == (130, "")
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("error: interrupted")
