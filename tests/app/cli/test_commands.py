"""The file that the commands are built from: as it is declared, and without heavy imports."""

import json
import runpy
from pathlib import Path
from typing import Literal, TypedDict

import pytest
import typer

from frobmetric.app import cli
from frobmetric.app.cli.declaration import AtLeast, Command, Natural, Positive, command
from frobmetric.app.cli.options import add_command
from terminals import CliRunner, environment, run, run_process

SCRIPT = runpy.run_path(str(Path(__file__).parents[3] / "docs" / "commands.py"))


def test_the_file_is_what_the_commands_declare():
    assert cli.FILE.read_text(encoding="utf-8") == SCRIPT["text"]()


def test_every_declared_command_is_listed():
    described = json.loads(cli.FILE.read_text(encoding="utf-8"))
    files = {path.stem for path in cli.FILE.parent.glob("*.py")}
    assert {*cli.COMMANDS.values()} <= files
    listed = {key for name in described for key in described[name].get("commands", [name])}
    modules = {f"frobmetric.app.cli.{module}" for module in cli.COMMANDS.values()}
    assert listed == {key for module in modules for key in SCRIPT["declared"](module)}


class Source:
    """A class with all kinds of parameters.

    Parameters
    ----------
    n_things : int, default=3
        Number of things. More is slower.
    share : float, default=None
        Share
        of a thing.
    name : {"a", "b"} or ndarray, default="a"
        Name
        of a thing.
    size : int or "rank", default=None
        Size of a thing.
    is_fast : bool, default=True
        Whether it is fast.
    callback : callable, default=None
        Called with each step.

    Attributes
    ----------
    thing_ : int
        No parameter.
    """

    def __init__(self, n_things=3, share=None, name="a", size=None, is_fast=True, callback=None):
        pass


class Parameters(TypedDict):
    """The parameters of the source that are options."""

    is_fast: bool  # the order is that of the source
    n_things: Natural
    share: Positive | None
    name: Literal["a", "b"]
    size: int | Literal["rank"] | None


@pytest.fixture
def received():
    """What a command was called with."""
    return []


@pytest.fixture
def go(received):
    @command(Source, defaults={"share": 0.25})
    def go(
        data: Path, parameters: Parameters, given: set[str], *, folders: list[Path] | None = None
    ):
        """Go.

        Parameters
        ----------
        folders
            Where to write.
        """
        received.append((data, parameters, given, folders))
        raise typer.Exit(0)

    return go


@pytest.fixture
def described(go):
    return json.loads(json.dumps(SCRIPT["describe"](go)))


def app_with(described, command):
    app = typer.Typer(rich_markup_mode=None)
    app.callback()(lambda: None)
    add_command(app, "go", described, lambda: command)
    return app


@pytest.fixture
def app(described, go):
    return app_with(described, go)


def call(app, *arguments, code=0):
    result = CliRunner().invoke(app, ["go", *arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return " ".join(result.output.split())


@pytest.mark.parametrize(
    ("arguments", "changed"),
    [
        ([], {}),
        (["--n-things", "5"], {"n_things": 5}),
        (["--share", "0.5", "--name", "b"], {"share": 0.5, "name": "b"}),
        (["--size", "8"], {"size": 8}),
        (["--size", "rank"], {"size": "rank"}),
        (["--no-is-fast"], {"is_fast": False}),
    ],
)
def test_values_reach_the_command(app, received, arguments, changed):
    call(app, "x.csv", *arguments)
    expected = {"n_things": 3, "share": 0.25, "name": "a", "size": None, "is_fast": True}
    assert received == [(Path("x.csv"), expected | changed, {*changed}, None)]


def test_an_option_can_be_given_several_times(app, received):
    call(app, "x.csv", "--folders", "a", "--folders", "b")
    assert received[0][-1] == [Path("a"), Path("b")]


def test_help_is_the_first_sentence(app):
    text = call(app, "--help")
    assert "Number of things. [default: 3; x>=0]" in text
    assert "--name a|b Name of a thing. [default: a]" in text
    assert "--size NUMBER|rank Size" in text
    assert text.index("--folders") < text.index("--n-things") < text.index("--is-fast")
    assert "--callback" not in text
    assert "More is slower" not in text


def test_an_interrupt_and_a_bug(described):
    def app_of(error):
        def run(**_):
            raise error

        return app_with(described, Command(run))

    result = CliRunner().invoke(app_of(KeyboardInterrupt()), ["go", "x.csv"])
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == "error: interrupted; nothing was saved\n"
    result = CliRunner().invoke(app_of(KeyboardInterrupt()), ["go", "x.csv", "--json"])
    assert json.loads(result.stdout)["error"].startswith("interrupted")
    result = CliRunner().invoke(app_of(RuntimeError("a bug")), ["go", "x.csv"])
    assert (result.exit_code, str(result.exception)) == (1, "a bug")  # it is not called bad data


@pytest.mark.parametrize(
    ("option", "value"),
    [("--share", "0"), ("--n-things", "-1"), ("--n-things", "many"), ("--thing", "1")],
)
def test_wrong_values(app, received, option, value):
    assert option in call(app, "x.csv", option, value, code=2)
    assert not received


def test_bounds_of_annotations():
    kind = SCRIPT["kind_of"]
    assert kind(Natural | None) == {"type": "int", "least": AtLeast(0).least}
    assert kind(Positive) == {"type": "float", "positive": True}
    assert kind(Literal["a", "b"] | None) == {"type": "str", "words": ["a", "b"]}


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
    text = " ".join(run("--help").stdout.split())
    for name, described in json.loads(cli.FILE.read_text(encoding="utf-8")).items():
        assert f" {name} {' '.join(described['help'].partition(chr(10) * 2)[0].split())}" in text
    assert " reproduce Reproduce the paper's figures" in text
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
