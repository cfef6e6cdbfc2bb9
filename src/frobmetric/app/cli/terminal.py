"""Output of the commands: reports, exit codes, one-line errors and warnings, live progress."""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
import warnings
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cache, wraps
from math import inf, log
from time import perf_counter

from ...checks.text import brief, shown, shown_lines
from ...runtime.environment import require
from ...runtime.progress import current_stage, listening
from ..signals import as_interrupts, describe, is_received

typer = require("typer", "cli")

#: Seconds between two updates of the progress line, length of its bar, and the share of the work
#: from which on it tells the time left.
PAUSE, BAR, FIRST_SHARE = 0.1, 20, 0.02


class ExitCode(IntEnum):
    """Exit codes of all commands."""

    CERTIFIED = 0
    USAGE = 2
    BAD_DATA = 3
    NOT_CERTIFIED = 4
    INTERRUPTED = 130
    TERMINATED = 143

    @classmethod
    def of(cls, is_certified):
        """Return the code of an answer that is certified or not."""
        return cls.CERTIFIED if is_certified else cls.NOT_CERTIFIED


#: Exit code of each error that a user can cause, by the name of its class; the first match in the
#: order of its base classes counts. Others are bugs.
CODES = {
    "KeyboardInterrupt": ExitCode.INTERRUPTED,
    "MissingExtraError": ExitCode.USAGE,
    "ImportError": ExitCode.USAGE,  # of a package that is damaged, or has too many open files
    "InvalidParameterError": ExitCode.USAGE,
    "CertificateError": ExitCode.NOT_CERTIFIED,
    "BrokenPipeError": None,
    **dict.fromkeys(("ValueError", "TypeError", "OSError", "MemoryError"), ExitCode.BAD_DATA),
    "NumericalError": ExitCode.BAD_DATA,
}


def exit_codes(done, undone, interrupted):
    """Return the list of exit codes for the help of a command."""
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
    data: dict = field(default_factory=dict)


def reports(command, options=None):
    """Print the `Report` that a command returns; an error of the user becomes one line.

    `options` are the options of the command by the names of parameters: messages have them instead.
    """

    @wraps(command)
    def run(**arguments):
        said = set()

        def say_once(message, *_, **__):
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
            report = Report(code, "", {"error": message})
        if report.code == ExitCode.INTERRUPTED:
            report = replace(report, code=ExitCode(describe()[1]))
        if arguments["as_json"]:
            typer.echo(json.dumps({"exit_code": int(report.code), **report.data}))
        elif report.text:
            typer.echo(wrapped(shown_lines(report.text), sys.stdout))
        raise typer.Exit(report.code)

    return run


def with_options(message, options):
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


def say(line):
    """Print a line on stderr, without breaking the progress line; work goes on if that is full."""
    line = wrapped(shown_lines(line), sys.stderr)
    with suppress(OSError):
        if _stderr.cache_info().currsize:
            _stderr().print(line, markup=False, highlight=False, soft_wrap=True)
        else:  # there is no progress line; and rich may be what cannot be imported
            sys.stderr.write(f"{line}\n")


def wrapped(text, stream):
    """Return a text whose lines end between words on a terminal; tables stay as they are."""
    if not stream.isatty():
        return text
    width = shutil.get_terminal_size().columns
    return "\n".join(_wrap(line, width) for line in text.splitlines())


def _wrap(line, width):
    start = re.match(r"\s*", line)[0]
    if len(line) <= width or re.search(r"\S\s{2,}\S", line):
        return line
    return textwrap.fill(
        line, width, subsequent_indent=start, break_long_words=False, break_on_hyphens=False
    )


def wrong_usage(option, message):
    """Return the error for the wrong use of an option."""
    return typer.BadParameter(shown_lines(message), param_hint=option)


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
    with _stderr().status(_one_line(text)) as status:
        yield lambda line: status.update(_one_line(line))


def _one_line(text):
    """Return a text that ends with the line of the terminal."""
    return require("rich.text", "cli").Text(shown(text), no_wrap=True, overflow="ellipsis")


@contextmanager
def live_share(text):
    """Yield a function of a share and a detail that shows a bar and the time left on a terminal."""
    clock = _Clock()
    with live_line(text) as show:
        yield (
            lambda share, detail="": (
                show and clock.is_due() and show(f"{text}  {clock.bar(share)}  {detail}")
            )
        )


class _Clock:
    """Seconds since the beginning of some work, and what they say of its end."""

    def __init__(self):
        self.began, self.shown = perf_counter(), -PAUSE

    def seconds(self):
        return perf_counter() - self.began

    def is_due(self):
        """Return whether the last line is old enough for another one, and remember that it is."""
        if self.seconds() - self.shown < PAUSE:
            return False
        self.shown = self.seconds()
        return True

    def bar(self, share):
        """Return a bar with the share that is done, and the seconds that the rest may take."""
        share, seconds = min(max(share, 0.0), 1.0), self.seconds()
        full = round(BAR * share)
        line = f"{'█' * full}{'░' * (BAR - full)} {share:4.0%}  {seconds:.1f} s"
        if FIRST_SHARE < share < 1 and seconds > 1:  # what is known earlier tells nothing
            line += f", about {duration(seconds * (1 - share) / share)} left"
        return line


def duration(seconds):
    """Return a time in words: 8 s, 3 min 20 s or 2 h 5 min."""
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s"
    return f"{minutes // 60} h {minutes % 60} min"


@contextmanager
def live_stages(text):
    """Yield a callback that shows the text of a stage and the share of its work, or None.

    A stage may have several works, such as fits, each with a share of its own.
    """
    stage, clock = {"text": text, "name": "", "clock": _Clock()}, _Clock()

    def begin(line):
        stage.update(text=line, name="", clock=_Clock())
        show(line)

    def show_share(name, share):
        if name != stage["name"]:
            stage.update(name=name, clock=_Clock())
        if clock.is_due():
            show(f"{stage['text']}  {stage['clock'].bar(share)}")

    with live_line(text) as show, listening(show and show_share):
        yield show and begin


@contextmanager
def live_progress(text, describe, tol=None):
    """Yield a callback that shows `describe(step)` on a terminal, or None without terminal.

    Work that tells its share, such as a search for neighbours, has a bar. With `tol`, steps have
    one too: how far the gap has come on its way to the tolerance, on a logarithmic scale.
    """
    count, clock, stage = 0, _Clock(), {"name": "", "clock": None, "bar": "", "gap": None}

    def show_share(name, share):
        if name != stage["name"]:
            stage.update(name=name, clock=_Clock())
        stage["gap"] = None
        stage["bar"] = "" if share >= 1 else f"{name}  {stage['clock'].bar(share)}"
        if stage["bar"] and clock.is_due():
            show(stage["bar"])

    def show_step(step):
        nonlocal count
        count += 1
        if clock.is_due():
            line, bar = f"step {count}   {describe(step)}", _way_to(tol, step, stage)
            if stage["bar"]:
                show(f"{stage['bar']}   {line}")
            elif bar:
                show(f"{current_stage()}{bar}   {line}")
            else:
                show(f"{current_stage()}{line}   {clock.seconds():.1f} s")

    with live_line(text) as show, listening(show and show_share):
        yield show and show_step


def _way_to(tol, step, stage):
    """Return a bar of the way of the gap from the first one to the tolerance; "" if unknown."""
    gap = getattr(step, "relative_gap", None)
    if tol is None or gap is None or not 0 < gap < inf:
        return ""
    if stage["gap"] is None or gap > stage["gap"][0]:
        stage["gap"] = (gap, _Clock())
    first, clock = stage["gap"]
    return "" if first <= tol else clock.bar(log(first / gap) / log(first / tol))


def fit_visibly(estimator, describe, X, *, first="searching for neighbours", tol=None, **answers):
    """Fit with a progress line; return whether Ctrl-C stopped the fit at its best answer so far.

    `first` is the line before the first step, `tol` that of `live_progress`.
    """
    try:
        with live_progress(first, describe, tol) as callback:
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
