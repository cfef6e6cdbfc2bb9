"""The command line as a whole: help, commands of other packages, processes and Ctrl-C."""

import os
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import typer
from sklearn.datasets import load_digits, make_swiss_roll

import frobmetric.app.cli as app_module
from frobmetric import __version__, load
from frobmetric.app.tables.reading import read_table
from sdpa_examples import MANUAL
from terminals import CliRunner, press_ctrl_c, run, run_process

needs_terminals = pytest.mark.skipif(
    os.name == "nt", reason="pseudo-terminals and SIGINT are Unix's"
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An own current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", app_module.COMMANDS)
def test_each_spelling_is_of_one_option(name):
    group = typer.main.get_command(app_module.app)
    command = group.get_command(None, name)
    for each in getattr(command, "commands", {name: command}).values():
        spellings = [s for option in each.params for s in (*option.opts, *option.secondary_opts)]
        assert len(set(spellings)) == len(spellings)


@pytest.mark.parametrize("command", ["", "fit", "sdp solve"])
def test_h_is_help(command):
    assert run(*command.split(), "-h").stdout == run(*command.split(), "--help").stdout


def test_completion_can_be_installed():
    assert "--install-completion" in run("--help").stdout


def test_version():
    assert run("--version").stdout == f"frobmetric {__version__}\n"
    assert "--no-version" not in run("--help").stdout


def test_a_command_that_does_not_exist():
    assert "No such command 'fti'" in run("fti", "iris.csv", code=2).stderr


# Commands of other packages


def plugin(name, value):
    """An entry point of an installed package."""
    point = EntryPoint(name, value, "frobmetric.commands")
    return SimpleNamespace(
        name=name,
        load=point.load,
        dist=SimpleNamespace(name="other-package", metadata={"Summary": f"What {name} does."}),
    )


def group_with(points):
    """The commands where these entry points are installed."""
    group = typer.Typer(rich_markup_mode=None)
    group.callback()(lambda: None)
    app_module.add_plugins(group, points)
    return group


def run_with(points, *arguments):
    return CliRunner().invoke(group_with(points), arguments)


def test_without_the_paper_one_line_says_what_to_install():
    for arguments in (["reproduce"], ["reproduce", "mvu", "--quick"], ["reproduce", "--help"]):
        result = run_with([], *arguments)
        assert result.exit_code == 2
        assert result.stderr == (
            "error: `frobmetric reproduce` needs the paper's package; from a checkout: "
            "pip install ./paper\n"
        )
    text = typer.main.get_group(group_with([])).commands["reproduce"].help
    assert text.startswith(
        "Reproduce the paper's figures and tables, beside its own numbers. Not in"
    )


def test_a_command_of_another_package_is_imported_when_it_is_called(monkeypatch):
    (Path() / "other_command.py").write_text(
        "import typer\n"
        "app = typer.Typer(rich_markup_mode=None)\n"
        "@app.command()\n"
        "def one(n: int = 1):\n"
        "    '''Do one thing.'''\n"
        "    typer.echo(f'n = {n}')\n"
        "@app.command()\n"
        "def two(): pass\n"
    )
    monkeypatch.syspath_prepend(str(Path().resolve()))
    points = [plugin("other", "other_command:app")]
    assert "What other does." in run_with(points, "--help").stdout
    assert "other_command" not in sys.modules
    assert run_with(points, "other", "one", "--n", "3").stdout == "n = 3\n"
    for option in ("--help", "-h"):
        shown = run_with(points, "other", "one", option).stdout
        assert "Usage: frobmetric other one" in shown
        assert "Do one thing." in shown
        assert "Usage: frobmetric other [OPTIONS]" in run_with(points, "other", option).stdout
    assert run_with(points, "other", "one", "--m", "3").exit_code == 2


def test_a_broken_package_breaks_no_other_command():
    points = [plugin("broken", "no_such_module:app"), plugin("reproduce", "frobmetric.app.cli:app")]
    assert run_with(points, "--help").exit_code == 0
    result = run_with(points, "broken", "--all")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: `frobmetric broken` of other-package cannot be loaded")
    assert len(result.stderr.splitlines()) == 1
    assert "Learn a metric" in run_with(points, "reproduce", "--help").stdout


# Processes


def test_without_typer_one_line_says_what_to_install():
    code = "import sys; sys.modules['typer'] = None\nfrom frobmetric.__main__ import main; main()"
    result = run_process(code=code)
    assert result.returncode == 2
    assert result.stderr == (
        "error: this needs typer; install it with: pip install 'frobmetric[cli]'\n"
    )


def test_the_library_imports_neither_commands_nor_figures():
    code = (
        "import sys, frobmetric\n"
        "frobmetric.save, frobmetric.load\n"
        "names = ('frobmetric.app', 'frobmetric.plotting', 'frobmetric.sdp', 'frobmetric.manifold',"
        " 'typer', 'matplotlib', 'safetensors')\n"
        "print([name for name in names if name in sys.modules])"
    )
    assert run_process(code=code).stdout == "[]\n"


@pytest.mark.slow
def test_a_process_of_its_own():
    Path("manual.dat-s").write_text(MANUAL)
    result = run_process("sdp", "solve", "manual.dat-s", "-o", "solution")
    assert (result.returncode, result.stderr) == (0, "")
    assert "status   optimal" in result.stdout
    assert Path("solution").is_file()


@pytest.mark.slow
def test_a_process_that_draws():
    X, angle = make_swiss_roll(60, random_state=0)
    np.savez("roll.npz", X=X, y=angle)
    result = run_process("unfold", "roll.npz", "-o", "flat.csv", "--plot", "--quality")
    assert (result.returncode, result.stderr) == (0, "")
    assert "written  flat.csv and flat.png" in result.stdout
    assert Path("flat.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert read_table("flat.csv", "label").X.shape == (60, 2)


# Ctrl-C: a real process on a real terminal; the progress line says when to press it


def interrupted_fit():
    X, y = (part[:600] for part in load_digits(return_X_y=True))
    np.savez("digits.npz", X=X, y=y)
    limits = ("--C", "1e6", "--tol", "1e-15", "--max-iter", "100000000")
    yield ("fit", "digits.npz", "-o", "m.safetensors", "--keep-proof", *limits)
    yield rb"step ([3-9]|\d\d+) .*relative gap .*rank \d+"
    answer = yield "the best metric so far was saved in m.safetensors"
    loaded = load("m.safetensors")
    assert loaded.status_ == answer["status"] == "interrupted"
    proven = loaded.certify(X).relative_gap
    assert 0 < proven == pytest.approx(loaded.certificate_.relative_gap, rel=1e-6)
    assert loaded.n_iter_ >= 3


def interrupted_sdp():
    n, rng = 120, np.random.default_rng(0)
    entries = (f"0 1 {i + 1} {j + 1} {rng.normal()}" for i in range(n) for j in range(i, n))
    diagonal = (f"{i} 1 {i} {i} 1" for i in range(1, n + 1))
    Path("cut.dat-s").write_text("\n".join([f"{n}\n1\n{n}", "1 " * n, *entries, *diagonal]))
    limits = ("--tol", "1e-17", "--max-iter", "100000000")
    yield ("sdp", "solve", "cut.dat-s", "-o", "solution.npz", *limits)
    yield rb"eta_p \S+ eta_d \S+ eta_g \S+  value \S+   \d+\.\d s"
    answer = yield "the best answer so far is in solution.npz"
    assert (answer["status"], answer["ended"]) == ("not_converged", "interrupted")
    with np.load("solution.npz", allow_pickle=False) as file:
        assert file["x"].shape == (n,)
        assert np.linalg.eigvalsh(file["X1"])[0] >= -1e-6


def interrupted_unfold():
    # so many that what follows the first bound takes longer than to press Ctrl-C
    X, position = make_swiss_roll(1500, random_state=0)
    np.savez("roll.npz", X=X, y=position)
    yield ("unfold", "roll.npz", "-o", "flat.csv", "--tol", "1e-8")
    yield rb"step \d+   value \S+   at most \S+   rank \d+   \d+\.\d s"
    answer = yield "the embedding of that moment is in flat.csv"
    assert answer["status"] == "interrupted"
    table = read_table("flat.csv", "label")
    np.testing.assert_array_equal(table.y, position)
    variance = np.square(table.X - table.X.mean(axis=0)).sum()
    assert 0 < variance <= answer["certificate"]["dual"] * (1 + 1e-9)


@needs_terminals
@pytest.mark.parametrize(
    "scenario",
    [
        interrupted_fit,
        pytest.param(interrupted_sdp, marks=pytest.mark.slow),
        pytest.param(interrupted_unfold, marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_writes_the_best_answer(scenario):
    steps = scenario()
    code, seen, answer = press_ctrl_c(next(steps), next(steps))
    assert code == answer["exit_code"] == 130
    assert f"interrupted; {next(steps)}" in seen
    with pytest.raises(StopIteration):
        steps.send(answer)
