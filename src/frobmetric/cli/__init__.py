"""The command `frobmetric`: its sub-commands, one module a group, and those of other packages."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Annotated

from .._environment import require
from . import compare, demo, fit, nearest, sdp, unfold
from .terminal import EXIT_CODES, ExitCode, say

typer = require("typer", "cli")

#: Commands of other packages, and how to install them.
KNOWN = {"reproduce": "the paper's package; from a checkout: pip install ./paper"}

app = typer.Typer(
    help="Learn a distance, unfold a manifold or solve a semidefinite program, with a proof of "
    "how good the answer is. Messages use the Python names of parameters: max_iter is --max-iter.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help is shorter, and wraps less
    pretty_exceptions_enable=False,
)


def main():
    """Run the command that the arguments of the process name."""
    app(prog_name="frobmetric")


def _print_version(is_wanted: bool):
    if is_wanted:
        from .. import __version__

        typer.echo(f"frobmetric {__version__}")
        raise typer.Exit


VERSION = typer.Option(
    "--version", callback=_print_version, is_eager=True, help="Print the version."
)


@app.callback()
def frobmetric(version: Annotated[bool, VERSION] = False):
    """Hold the options that all commands share."""


def add_plugins(group):
    """Add the commands of all installed packages, and the known ones that are not installed."""
    installed = {point.name: point for point in entry_points(group="frobmetric.commands")}
    for name in sorted(installed | KNOWN):
        _add_plugin(group, name, installed.get(name))


def _add_plugin(group, name, entry_point):
    """Add a command of another package, which is imported only when the command is called."""
    if entry_point is None:
        text = f"Not installed: it needs {KNOWN[name]}."
    else:
        text = entry_point.dist.metadata["Summary"]

    def run(context: typer.Context):  # type: ignore[name-defined]
        if entry_point is None:
            say(f"error: `frobmetric {name}` needs {KNOWN[name]}")
            raise typer.Exit(ExitCode.USAGE)
        try:
            command = entry_point.load()
        except Exception as error:  # whatever is wrong with the other package
            say(f"error: `frobmetric {name}` of {entry_point.dist.name} cannot be loaded: {error}")
            raise typer.Exit(ExitCode.USAGE) from error
        command(args=context.args, prog_name=f"frobmetric {name}")

    any_arguments = {"allow_extra_args": True, "ignore_unknown_options": True}
    group.command(name, help=text, add_help_option=False, context_settings=any_arguments)(run)


app.add_typer(fit.app)  # without a name: its commands are commands of this one
app.add_typer(compare.app)
app.add_typer(demo.app)
app.add_typer(unfold.app)
app.add_typer(sdp.app, name="sdp")
app.add_typer(nearest.app)
add_plugins(app)
