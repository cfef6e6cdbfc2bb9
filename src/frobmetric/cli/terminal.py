"""What a command says, where it says it, and how it ends: one place for all commands."""

from __future__ import annotations

import json
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache, wraps

from .._extras import MissingExtraError, require
from .progress import Progress

typer = require("typer", "cli")


class ExitCode(IntEnum):
    CERTIFIED = 0
    USAGE = 2
    BAD_DATA = 3
    NOT_CERTIFIED = 4
    INTERRUPTED = 130


#: Shown below the help of every command; \b keeps the lines as they are.
EXIT_CODES = """\b
Exit codes:
  0    done; what was fitted or checked is certified
  2    wrong usage
  3    bad data
  4    not converged, or not certified
  130  interrupted by Ctrl-C; a fit saves its best metric first
"""


@dataclass(frozen=True)
class Report:
    """The outcome of a command: for people `text`, for programs `data`."""

    code: ExitCode
    text: str
    data: dict = field(default_factory=dict)

    def emit(self, as_json):
        if as_json:
            typer.echo(json.dumps({"exit_code": int(self.code), **self.data}))
        elif self.text:
            typer.echo(self.text)


def reports(command):
    """Let a command return its `Report`; every error that a person can cause becomes one line."""

    @wraps(command)
    def run(**arguments):
        try:
            with _plain_warnings():
                report = command(**arguments)
        except (Exception, KeyboardInterrupt) as error:
            code = _code_of(error)
            if code is None:
                raise
            message = str(error) or type(error).__name__
            message = "interrupted; nothing was saved" if _is_ctrl_c(error) else message
            say(f"error: {message}")
            report = Report(code, "", {"error": message})
        report.emit(arguments["as_json"])
        raise typer.Exit(report.code)

    return run


def say(line):
    """A line for people, on stderr; it does not tear the progress line."""
    _stderr().print(line, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def live_progress(estimator):
    """On a terminal, a line that follows the steps of this estimator's fit."""
    with live_line("looking for neighbours") as show:
        estimator.set_params(callback=show and Progress(show))
        try:
            yield
        finally:
            estimator.set_params(callback=None)


@contextmanager
def live_line(words):
    """On a terminal, a line to follow what happens: the function that changes it, else None."""
    if not _stderr().is_terminal:
        yield None
        return
    with _stderr().status(words) as status:
        yield status.update


def _code_of(error):
    """How an error ends the program; None if it is a fault of the program itself."""
    from .._parameters import InvalidParameterError
    from ..core import CertificateError, NumericalError

    table = {
        KeyboardInterrupt: ExitCode.INTERRUPTED,
        MissingExtraError: ExitCode.USAGE,
        # these two are kinds of ValueError, so they come before it
        InvalidParameterError: ExitCode.USAGE,
        CertificateError: ExitCode.NOT_CERTIFIED,
        BrokenPipeError: None,
        (ValueError, TypeError, OSError, MemoryError, NumericalError): ExitCode.BAD_DATA,
    }
    return next((code for kinds, code in table.items() if isinstance(error, kinds)), None)


def _is_ctrl_c(error):
    return isinstance(error, KeyboardInterrupt)


@contextmanager
def _plain_warnings():
    """Show each warning as one line, without the code that gave it."""

    def show(message, category, *where, **more):
        say(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


@cache
def _stderr():
    return require("rich.console", "cli").Console(stderr=True)
