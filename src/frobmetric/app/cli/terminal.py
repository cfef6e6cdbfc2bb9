"""Output of the commands: reports, exit codes, errors and warnings as one line."""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from ...checks.text import brief, shown, shown_lines
from ...runtime.environment import require
from ..signals import as_interrupts, describe, is_received

if TYPE_CHECKING:
    import typer
else:
    typer = require("typer", "cli")

#: Function that shows a line in place of the one before.
Show = Callable[[str], None]


class ExitCode(IntEnum):
    """Exit codes of all commands."""

    CERTIFIED = 0
    USAGE = 2
    BAD_DATA = 3
    NOT_CERTIFIED = 4
    INTERRUPTED = 130
    TERMINATED = 143

    @classmethod
    def of(cls, is_certified: bool | None) -> ExitCode:
        """Return the code of an answer that is certified or not."""
        return cls.CERTIFIED if is_certified else cls.NOT_CERTIFIED


#: Exit code of each error that a user can cause, by the name of its class; the first match in the
#: order of its base classes counts. Others are bugs.
CODES: dict[str, ExitCode | None] = {
    "KeyboardInterrupt": ExitCode.INTERRUPTED,
    "MissingExtraError": ExitCode.USAGE,
    "ImportError": ExitCode.USAGE,  # of a package that is damaged, or has too many open files
    "InvalidParameterError": ExitCode.USAGE,
    "CertificateError": ExitCode.NOT_CERTIFIED,
    "BrokenPipeError": None,
    **dict.fromkeys(("ValueError", "TypeError", "OSError", "MemoryError"), ExitCode.BAD_DATA),
    "NumericalError": ExitCode.BAD_DATA,
}


def exit_codes(done: str, undone: str, interrupted: str) -> str:
    """Return the list of exit codes for the help text of a command."""
    return f"""\b
Exit codes:
  0    {done}
  2    wrong usage
  3    bad data
  4    {undone}
  130  interrupted by Ctrl-C, or 143 by SIGTERM; {interrupted}
"""  # \b keeps the lines as they are


EXIT_CODES = exit_codes(
    "done; what was fitted or checked is certified",
    "not converged, or not certified",
    "a fit saves its best metric first",
)


@dataclass(frozen=True)
class Report:
    """Result of a command: `text` for people, `data` for programs."""

    code: ExitCode
    text: str
    data: dict[str, Any] = field(default_factory=dict)


def reports(
    command: Callable[..., Report], options: Mapping[str, str] | None = None
) -> Callable[..., NoReturn]:
    """Print the `Report` that a command returns; an error of the user becomes one line.

    `options` are the options of the command by the names of parameters: messages have them instead.
    """

    @wraps(command)
    def run(**arguments: Any) -> NoReturn:
        said = set()

        def say_once(message: Warning | str, *_: object, **__: object) -> None:
            if str(message) not in said:  # each fold of an evaluation may raise it
                said.add(str(message))
                # one line, without the code that raised it
                say(f"warning: {with_options(str(message), options or {})}")

        try:
            with as_interrupts(), warnings.catch_warnings():
                warnings.simplefilter("always", UserWarning)
                warnings.showwarning = say_once
                report = command(**arguments)
        except (Exception, KeyboardInterrupt) as error:
            kinds = [kind.__name__ for kind in type(error).__mro__]
            code = next((CODES[kind] for kind in kinds if kind in CODES), None)
            if code is None and not is_received():
                raise
            message = with_options(str(error), options or {}) or type(error).__name__
            if code == ExitCode.INTERRUPTED:
                message = f"{describe()[0]}; nothing was saved"
            elif is_received():  # other code took the interrupt for an error
                code, message = ExitCode.INTERRUPTED, f"{describe()[0]}; {brief(message)}"
            say(f"error: {message}")
            report = Report(code or ExitCode.BAD_DATA, "", {"error": message})
        if report.code == ExitCode.INTERRUPTED:
            report = replace(report, code=ExitCode(describe()[1]))
        if arguments["as_json"]:
            typer.echo(json.dumps({"exit_code": int(report.code), **report.data}))
        elif report.text:
            typer.echo(wrapped(shown_lines(report.text), sys.stdout))
        raise typer.Exit(report.code)

    return run


def with_options(message: str, options: Mapping[str, str]) -> str:
    """Return a message in the words of the command line: --max-iter instead of max_iter."""
    names = "|".join(sorted(options, key=len, reverse=True))
    if not names:
        return message
    message = re.sub(rf"The '({names})' parameter of \w+", lambda m: options[m[1]], message)
    value = r"(?:'([\w-]+)'|(?=\S))"  # a word loses its quotes
    message = re.sub(
        rf"(?<![\w.'-])({names})={value}", lambda m: f"{options[m[1]]} {m[2] or ''}", message
    )
    plain = "|".join(name for name in options if "_" in name or name == "tol")
    if not plain:
        return message
    return re.sub(rf"(?<![\w.'`-])({plain})(?![\w(.'`])", lambda m: options[m[1]], message)


def say(line: str) -> None:
    """Print a line on stderr above the progress line; errors of stderr are ignored."""
    line = wrapped(shown_lines(line), sys.stderr)
    with suppress(OSError):
        if _stderr.cache_info().currsize:
            _stderr().print(line, markup=False, highlight=False, soft_wrap=True)
        else:  # there is no progress line, and the import of rich may have failed
            sys.stderr.write(f"{line}\n")


def wrapped(text: str, stream: TextIO) -> str:
    """Return a text whose lines end between words on a terminal; tables stay as they are."""
    if not stream.isatty():
        return text
    width = shutil.get_terminal_size().columns
    return "\n".join(_wrap(line, width) for line in text.splitlines())


def _wrap(line: str, width: int) -> str:
    start = line[: len(line) - len(line.lstrip())]
    if len(line) <= width or re.search(r"\S\s{2,}\S", line):
        return line
    return textwrap.fill(
        line, width, subsequent_indent=start, break_long_words=False, break_on_hyphens=False
    )


def wrong_usage(option: str | None, message: str) -> typer.BadParameter:
    """Return the error for the wrong use of an option."""
    return typer.BadParameter(shown_lines(message), param_hint=option)


@contextmanager
def errors_about(path: Path) -> Iterator[None]:
    """Put the name of a file before the message of an error in its data."""
    try:
        yield
    except ValueError as error:
        if type(error) is not ValueError or str(path) in str(error):
            raise
        raise ValueError(f"{path}: {error}") from error


@contextmanager
def live_line(text: str) -> Iterator[Show | None]:
    """Show a line on a terminal; yield the function that changes it, or None without terminal."""
    if not _stderr().is_terminal:
        yield None
        return
    with _stderr().status(_one_line(text)) as status:
        yield lambda line: status.update(_one_line(line))


def _one_line(text: str) -> Any:
    """Return a text that is cut at the end of the line of the terminal."""
    return require("rich.text", "cli").Text(shown(text), no_wrap=True, overflow="ellipsis")


def checkpoint_arguments(path: Path | None, resume: bool) -> dict[str, Path]:
    """Return the arguments of `fit` for --checkpoint and --resume, and say what will happen."""
    if path is None:
        if resume:
            raise wrong_usage("--resume", "it needs the file of --checkpoint")
        return {}
    if path.exists() and not resume:
        reason = f"{path} exists; go on with its fit by --resume, or delete it to start anew"
        raise wrong_usage("--checkpoint", reason)
    if resume:
        say(f"going on from {path}" if path.exists() else f"{path} does not exist: a new fit")
    return {"checkpoint": path}


@cache
def _stderr() -> Any:
    return require("rich.console", "cli").Console(stderr=True)
