"""The command `frobmetric`: its sub-commands, and the commands of other packages."""

from __future__ import annotations

import json
from collections.abc import Iterable, MutableMapping
from difflib import get_close_matches
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ...runtime.environment import require
from .options import add_command
from .terminal import EXIT_CODES, ExitCode, say

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    import typer
    import typer.core

    from .declaration import Command
else:
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
#: Description of the commands, written by `docs/commands.py`.
FILE = Path(__file__).with_name("commands.json")
#: Commands of other packages: what they do, and how to install them.
KNOWN = {
    "reproduce": (
        "Reproduce the paper's figures and tables, beside its own numbers.",
        "the paper's package; from a checkout: pip install ./paper",
    )
}
#: Options that show the help of every command.
HELP = ["-h", "--help"]


class FlagGroup(typer.core.TyperGroup):
    """Group of commands whose own options are flags."""

    def get_params(self, ctx: Any) -> Any:
        options = super().get_params(ctx)
        for option in options:  # to convert None, typer needs an import of 0.1 s
            option.default = option.default or False
        return options


class CommandGroup(FlagGroup):
    """Group of all commands, which builds only the command that is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*COMMANDS, *_plugins()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in COMMANDS:
            return _build(cmd_name)
        return _plugins().get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if self.get_command(ctx, args[0]) is None:
            close = get_close_matches(args[0], self.list_commands(ctx), n=1)
            hint = f"did you mean {close[0]!r}?" if close else "`frobmetric --help` lists them"
            ctx.fail(f"No such command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        rows = [(name, _summary(_described()[name]["help"])) for name in COMMANDS]
        rows += [(name, command.help) for name, command in _plugins().items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _summary(text: str) -> str:
    """Return the first paragraph of a help text."""
    return " ".join(text.partition("\n\n")[0].split())


@cache
def _described() -> dict[str, Any]:
    """Return the descriptions of the commands in commands.json."""
    described: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return described


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


def main() -> None:
    """Run the command that the arguments of the process name."""
    try:
        app(prog_name="frobmetric")
    except OSError as error:  # the text of the command cannot be read: too many open files
        say(f"error: {error}")
        raise SystemExit(ExitCode.BAD_DATA) from error


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        from ... import __version__

        typer.echo(f"frobmetric {__version__}")
        raise typer.Exit


VERSION = typer.Option(
    "--version", callback=_print_version, is_eager=True, help="Print the version."
)


@app.callback()
def frobmetric(version: Annotated[bool, VERSION] = False) -> None:
    """Hold the options that all commands share."""


def add_plugins(group: typer.Typer, entry_points: Iterable[EntryPoint]) -> None:
    """Add the commands of other packages, and the known ones that are not installed."""
    installed = {point.name: point for point in entry_points}
    for name in sorted(installed | KNOWN):
        _add_plugin(group, name, installed.get(name))


def _add_plugin(group: typer.Typer, name: str, entry_point: EntryPoint | None) -> None:
    """Add a command of another package, which is imported only when the command is called."""
    text, needs = KNOWN.get(name, ("", ""))
    package = entry_point and entry_point.dist
    if entry_point is None:
        text += f" Not installed: it needs {needs}."
    elif package and not text:
        text = package.metadata["Summary"]

    def run(context: typer.Context) -> None:
        if entry_point is None:
            say(f"error: `frobmetric {name}` needs {needs}")
            raise typer.Exit(ExitCode.USAGE)
        try:
            command = entry_point.load()
        except Exception as error:  # whatever is wrong with the other package
            origin = package.name if package else entry_point.value
            say(f"error: `frobmetric {name}` of {origin} cannot be loaded: {error}")
            raise typer.Exit(ExitCode.USAGE) from error
        about = {"prog_name": f"frobmetric {name}", "help_option_names": HELP}
        command(args=context.args, **about)

    any_arguments = {"allow_extra_args": True, "ignore_unknown_options": True}
    group.command(name, help=text, add_help_option=False, context_settings=any_arguments)(run)


@cache
def _build(name: str) -> Any:
    """Return a command, or a group of commands, without importing what it runs."""
    described, holder = _described()[name], _new_holder()
    if name in GROUPS:
        texts = {"help": described["help"], "epilog": described["codes"]}
        group = typer.Typer(**texts, no_args_is_help=True, rich_markup_mode=None)
        for command, about in described["commands"].items():
            add_command(group, command, about, partial(_load, name, command))
        holder.add_typer(group, name=name, cls=FlagGroup)
    else:
        add_command(holder, name, described, partial(_load, name, name))
    return typer.main.get_group(holder).commands[name]


def _load(name: str, command: str) -> Command:
    """Import a command of a module; `name` is the name of the command or of its group."""
    found: Command = getattr(import_module(f"{__name__}.{COMMANDS[name]}"), command)
    return found


@cache
def _plugins() -> MutableMapping[str, Any]:
    """Return the commands of other packages by name."""
    from importlib.metadata import entry_points  # takes longer than most commands' help

    holder = _new_holder()
    add_plugins(holder, entry_points(group="frobmetric.commands"))
    return typer.main.get_group(holder).commands


def _new_holder() -> typer.Typer:
    holder = typer.Typer(rich_markup_mode=None)
    holder.callback()(lambda: None)  # so that typer makes a group even of one command
    return holder
