"""Output of the commands: reports, exit codes, one-line errors and warnings, live progress."""

from __future__ import annotations

import json
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache, wraps
from time import perf_counter

from .._environment import MissingExtraError, require
from .._parameters import InvalidParameterError
from ..core import CertificateError, NumericalError

typer = require("typer", "cli")

#: Seconds between two updates of the progress line.
PAUSE = 0.1


class ExitCode(IntEnum):
    """Exit codes of all commands."""

    CERTIFIED = 0
    USAGE = 2
    BAD_DATA = 3
    NOT_CERTIFIED = 4
    INTERRUPTED = 130

    @classmethod
    def of(cls, is_certified):
        """Return the code of an answer that is certified or not."""
        return cls.CERTIFIED if is_certified else cls.NOT_CERTIFIED


#: Exit code of each error that a user can cause; the first match counts. Others are bugs.
CODES = {
    KeyboardInterrupt: ExitCode.INTERRUPTED,
    MissingExtraError: ExitCode.USAGE,
    # these two are subclasses of ValueError, so they come before it
    InvalidParameterError: ExitCode.USAGE,
    CertificateError: ExitCode.NOT_CERTIFIED,
    BrokenPipeError: None,
    (ValueError, TypeError, OSError, MemoryError, NumericalError): ExitCode.BAD_DATA,
}


def exit_codes(done, undone, interrupted):
    """Return the list of exit codes for the help of a command."""
    return f"""\b
Exit codes:
  0    {done}
  2    wrong usage
  3    bad data
  4    {undone}
  130  interrupted by Ctrl-C; {interrupted}
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
    data: dict = field(default_factory=dict)


def reports(command):
    """Print the `Report` that a command returns; an error of the user becomes one line."""

    @wraps(command)
    def run(**arguments):
        said = set()

        def say_once(message, *_, **__):
            if str(message) not in said:  # each fold of an evaluation may raise it
                said.add(str(message))
                say(f"warning: {message}")  # one line, without the code that raised it

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", UserWarning)
                warnings.showwarning = say_once
                report = command(**arguments)
        except (Exception, KeyboardInterrupt) as error:
            code = next((CODES[kinds] for kinds in CODES if isinstance(error, kinds)), None)
            if code is None:
                raise
            message = str(error) or type(error).__name__
            if code == ExitCode.INTERRUPTED:
                message = "interrupted; nothing was saved"
            say(f"error: {message}")
            report = Report(code, "", {"error": message})
        if arguments["as_json"]:
            typer.echo(json.dumps({"exit_code": int(report.code), **report.data}))
        elif report.text:
            typer.echo(report.text)
        raise typer.Exit(report.code)

    return run


def say(line):
    """Print a line on stderr, without breaking the progress line."""
    _stderr().print(line, markup=False, highlight=False, soft_wrap=True)


def wrong_usage(option, message):
    """Return the error for the wrong use of an option."""
    return typer.BadParameter(message, param_hint=option)


@contextmanager
def errors_about(path):
    """Put the name of a file before the message of an error in its data."""
    try:
        yield
    except ValueError as error:
        if type(error) is not ValueError or str(path) in str(error):
            raise
        raise ValueError(f"{path}: {error}") from error


@contextmanager
def live_line(text):
    """Show a line on a terminal; yield the function that changes it, or None without terminal."""
    if not _stderr().is_terminal:
        yield None
        return
    with _stderr().status(text) as status:
        yield status.update


@contextmanager
def live_progress(text, describe):
    """Yield a callback that shows `describe(step)` on a terminal, or None without terminal."""
    count, began, shown = 0, perf_counter(), -PAUSE

    def show_step(step):
        nonlocal count, shown
        count, seconds = count + 1, perf_counter() - began
        if seconds - shown >= PAUSE:
            shown = seconds
            show(f"step {count}   {describe(step)}   {seconds:.1f} s")

    with live_line(text) as show:
        yield show and show_step


def fit_visibly(estimator, describe, X, *, first="searching for neighbours", **answers):
    """Fit with a progress line; return whether Ctrl-C stopped the fit at its best answer so far.

    `first` is the line before the first step.
    """
    try:
        with live_progress(first, describe) as callback:
            estimator.set_params(callback=callback).fit(X, **answers)
    except KeyboardInterrupt:
        if not hasattr(estimator, "certificate_"):
            raise
        return True
    finally:
        estimator.set_params(callback=None)
    return False


def checkpoint_arguments(path, resume):
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
def _stderr():
    return require("rich.console", "cli").Console(stderr=True)
