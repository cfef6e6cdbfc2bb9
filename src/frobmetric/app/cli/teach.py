"""The command teach: a local page on which a person teaches a metric by clicks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...io.preparation import Preparing
from ...runtime.environment import require
from ..tables.reading import check_output
from ..teaching import TeachingSession
from ..teaching.items import Items, read_items
from ..teaching.server import TeachingServer
from ..teaching.storage import read_answers, save_session
from .declaration import Natural, command
from .terminal import ExitCode, Report, errors_about, exit_codes, say, wrong_usage

CODES = exit_codes(
    "ended by Ctrl-C; all answers are saved", "not used", "no question was asked yet"
)


@command(codes=CODES)
def teach(
    items: Path,
    *,
    output: Path | None = None,
    comparisons: Path | None = None,
    features: Path | None = None,
    target: str | None = None,
    preparation: Preparing,
    resume: bool = False,
    browser: bool = True,
    port: int = 0,
    seed: Natural = 0,
    header: bool = True,
) -> Report:
    """Teach a metric by clicks on a local page.

    The page asks which of two items is more like a third; only this machine can reach it. Each
    answer is learned from and saved at once; Ctrl-C ends the command.

    Parameters
    ----------
    items
        A folder of png and jpg pictures, or a table.
    output
        The model; by default the name of the items with .safetensors.
    comparisons
        The answers, a csv file of row numbers; by default the name of the items with .answers.csv.
    features
        Numbers to learn from in place of pixels, such as embeddings: an npy file with a row for
        each picture, in the order of their names.
    target
        Column of a table that is the name of each row, and no feature.
    resume
        Go on from the answers of an earlier session.
    browser
        Whether to open the page in a browser.
    port
        Port of the page; 0 is any that is free.
    seed
        Seed of the random questions.
    """
    require("jinja2", "teach")
    base = Path(items).with_suffix("")
    output = output or base.with_suffix(".safetensors")
    comparisons = comparisons or base.with_suffix(".answers.csv")
    _check_files(output, comparisons, resume)
    read = read_items(items, features, target=target, header=header, preparation=preparation)
    with errors_about(items):
        answers, names = read_answers(comparisons), read.feature_names
        session = TeachingSession(read.X, answers, units=read.units, feature_names=names, seed=seed)
    paths = comparisons, output
    _serve(session, read, lambda: save_session(session, *paths, read.preparation), port, browser)
    return _described(session, comparisons, output)


def _check_files(output: Path, comparisons: Path, resume: bool) -> None:
    """Raise an error if a file cannot be written, or would replace an earlier session."""
    check_output(output, (".safetensors",))
    check_output(comparisons, (".csv",))
    if resume:
        if not comparisons.exists():
            say(f"{comparisons} does not exist: a new session")
        return
    for path in (output, comparisons):
        if path.exists():
            reason = "go on with it by --resume, delete it, or name other files"
            raise wrong_usage("--resume", f"{path} exists; {reason}")


def _serve(
    session: TeachingSession, items: Items, save: Callable[[], None], port: int, browser: bool
) -> None:
    """Serve the page until Ctrl-C."""
    with TeachingServer(session, items, save, port=port) as server:
        say(f"{len(items.names)} items. Open {server.address}\nCtrl-C ends; answers are saved.")
        if browser:
            import webbrowser

            webbrowser.open(server.address)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            with server.lock:  # an answer that is being saved is finished first
                pass


def _described(session: TeachingSession, comparisons: Path, output: Path) -> Report:
    """Return the report at the end of a session."""
    facts: dict[str, Any] = {"n_answers": len(session.answers)}
    if not session.answers:
        return Report(ExitCode.CERTIFIED, "no answers, nothing was written", facts)
    facts |= {"comparisons": str(comparisons), "output": str(output)}
    text = f"{len(session.answers)} answers in {comparisons}, the model in {output}"
    progress = session.progress()
    if progress.agreement is not None and progress.euclid is not None:
        facts |= {"agreement": progress.agreement.value, "euclid": progress.euclid.value}
        text += f"\nagreement {progress.agreement}, plain distance {progress.euclid}"
    return Report(ExitCode.CERTIFIED, text, facts)
