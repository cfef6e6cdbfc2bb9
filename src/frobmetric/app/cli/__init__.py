"""The command `frobmetric`: its sub-commands, one module a group, and those of other packages."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from typing import Annotated

from ...runtime.environment import require
from .declared import read_commands, summary_of
from .terminal import EXIT_CODES, ExitCode, say

typer = require("typer", "cli")

#: Commands in the order of the help, and their modules; the module of a group has its name.
COMMANDS = {
    "fit": "fit",
    "transform": "use",
    "search": "use",
    "evaluate": "evaluate",
    "certify": "certify",
    "explain": "explain",
    "compare": "compare",
    "report": "report",
    "teach": "teach",
    "export": "export",
    "demo": "demo",
    "unfold": "unfold",
    "sdp": "sdp",
    "correlation": "nearest",
    "covariance": "nearest",
}
GROUPS = ("sdp",)
#: Commands of other packages: what they do, and how to install them.
KNOWN = {
    "reproduce": (
        "Reproduce the paper's figures and tables, beside its own numbers.",
        "the paper's package; from a checkout: pip install ./paper",
    )
}
#: Options that show the help of every command.
HELP = ["-h", "--help"]


class FlagGroup(typer.core.TyperGroup):  # type: ignore[name-defined]
    """A group whose own options are flags."""

    def get_params(self, ctx):
        options = super().get_params(ctx)
        for option in options:  # to convert None, typer imports what takes 0.1 s
            option.default = option.default or False
        return options


class CommandGroup(FlagGroup):
    """All commands, of which only the one that is called is built."""

    def list_commands(self, ctx):
        return [*COMMANDS, *_plugins()]

    def get_command(self, ctx, cmd_name):
        if cmd_name in COMMANDS:
            return _build(cmd_name)
        return _plugins().get(cmd_name)

    def resolve_command(self, ctx, args):
        if self.get_command(ctx, args[0]) is None:
            close = get_close_matches(args[0], self.list_commands(ctx), n=1)
            hint = f"did you mean {close[0]!r}?" if close else "`frobmetric --help` lists them"
            ctx.fail(f"No such command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx, formatter):
        plugins = _plugins()
        rows = [(name, summary_of(_module(name), name)) for name in COMMANDS]
        rows += [(name, command.help) for name, command in plugins.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


app = typer.Typer(
    cls=CommandGroup,
    help="Learn a distance, unfold a manifold or solve a semidefinite program, with a proof of "
    "how good the answer is.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    context_settings={"help_option_names": HELP},  # of all commands
    rich_markup_mode=None,  # plain help is shorter, and wraps less
    pretty_exceptions_enable=False,
)


def main():
    """Run the command that the arguments of the process name."""
    try:
        app(prog_name="frobmetric")
    except OSError as error:  # the text of the command cannot be read: too many open files
        say(f"error: {error}")
        raise SystemExit(ExitCode.BAD_DATA) from error


def _print_version(is_wanted: bool):
    if is_wanted:
        from ... import __version__

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
    text, needs = KNOWN.get(name, ("", ""))
    if entry_point is None:
        text += f" Not installed: it needs {needs}."
    elif not text:
        text = entry_point.dist.metadata["Summary"]

    def run(context: typer.Context):  # type: ignore[name-defined]
        if entry_point is None:
            say(f"error: `frobmetric {name}` needs {needs}")
            raise typer.Exit(ExitCode.USAGE)
        try:
            command = entry_point.load()
        except Exception as error:  # whatever is wrong with the other package
            say(f"error: `frobmetric {name}` of {entry_point.dist.name} cannot be loaded: {error}")
            raise typer.Exit(ExitCode.USAGE) from error
        about = {"prog_name": f"frobmetric {name}", "help_option_names": HELP}
        command(args=context.args, **about)

    any_arguments = {"allow_extra_args": True, "ignore_unknown_options": True}
    group.command(name, help=text, add_help_option=False, context_settings=any_arguments)(run)


def entry_points(group):
    """Return the entry points of a group; the import takes longer than most commands' help."""
    from importlib import metadata

    return metadata.entry_points(group=group)


def _module(name):
    return f"{__name__}.{COMMANDS[name]}"


@cache
def _build(name):
    """Return a command, or a group of commands, without importing what it runs."""
    is_group = name in GROUPS
    holder = _new_holder()
    if is_group:
        holder.add_typer(read_commands(_module(name)), name=name, cls=FlagGroup)
    else:
        holder.add_typer(read_commands(_module(name), name))
    return typer.main.get_group(holder).commands[name]


@cache
def _plugins():
    """Return the commands of other packages by name."""
    holder = _new_holder()
    add_plugins(holder)
    return typer.main.get_group(holder).commands


def _new_holder():
    holder = typer.Typer(rich_markup_mode=None)
    holder.callback()(lambda: None)  # so that typer makes a group even of one command
    return holder
