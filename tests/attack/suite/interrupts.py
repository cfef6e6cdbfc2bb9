"""Signals at random moments, full disks and few open files, in processes that write files.

Every try begins with a folder of finished outputs. After it each output is the old one or a new
one that is whole; the process said one line and ended by the right code; and after the next run
no unfinished file is left.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

import frobmetric
import frobmetric.app.cli
from frobmetric.app import signals
from frobmetric.app.tables.matrices import read_matrix
from frobmetric.app.tables.reading import Table, read_table
from frobmetric.app.tables.writing import write_table
from frobmetric.io import load
from frobmetric.runtime.checkpoint import Checkpoint
from frobmetric.sdp import write_sdpa

from . import Attack, Findings, choose
from .isolation import Ending, call

SDPA = "1\n1\n2\n1.0\n0 1 1 2 3.0\n1 1 1 1 1.0\n1 1 2 2 1.0\n"
#: Signals, and the codes that a process may have if they come in time.
CODES = {signal.SIGINT: (130,), signal.SIGTERM: (143,), signal.SIGKILL: (-9,)}
#: Beginning of the lines of a traceback that are about the library, and ends of those about what
#: Python runs before the command can set its handlers of signals.
OURS = f'File "{Path(frobmetric.__file__).parent}{os.sep}'
FIRST = re.compile(r"(__init__|__main__|signals)\.py\", line \d+, in <module>$")
#: Share of the tries in a new process, in which imports can be interrupted too.
NEW = 0.3
#: Seconds after which a process counts as hanging.
LATE = 300.0


@dataclass
class Workshop:
    """A folder of inputs and finished outputs, and the commands that write the outputs."""

    folder: Path
    seconds: dict[str, float] = field(default_factory=dict)
    delays: list[float] = field(default_factory=list)

    def __post_init__(self):
        rng = np.random.default_rng(0)
        y = np.arange(45) % 3
        X = rng.normal(size=(45, 4)) + y[:, None]
        write_table(self.folder / "in.csv", Table(X, y, [f"f{k}" for k in range(4)]))
        np.save(self.folder / "matrix.npy", np.corrcoef(rng.normal(size=(10, 5))))
        (self.folder / "in.dat-s").write_text(SDPA)
        done = call(partial(_run, self.commands()["fit"]), 600)
        if done.code not in (0, 4):
            raise RuntimeError(f"the first fit failed: {done.errors}")
        shutil.copy(self.folder / "model.safetensors", self.folder / "given.safetensors")
        for name, work in self.works().items():
            began = time.monotonic()
            if call(work, 600).code not in (0, 4):
                raise RuntimeError(f"{name} failed without any attack")
            self.seconds[name] = time.monotonic() - began
        self.old = {path: path.read_bytes() for path in self.folder.iterdir()}

    def commands(self):
        """Return the commands, by name; each writes into the folder."""
        at, given = self.folder, self.folder / "given.safetensors"
        table = [at / "in.csv", "--target", "label"]
        fit = ["fit", *table, "--cv", "0", "--tol", "1e-5"]
        return {
            "fit": [*fit, "-o", at / "model.safetensors"],
            "fit with checkpoint": [
                *fit,
                *("-o", at / "second.safetensors", "--checkpoint", at / "state", "--resume"),
            ],
            "transform to csv": ["transform", given, *table, "-o", at / "out.csv"],
            "transform to parquet": ["transform", given, *table, "-o", at / "out.parquet"],
            "unfold": ["unfold", *table, "-o", at / "flat.npz", "--plot"],
            "correlation": ["correlation", at / "matrix.npy", "-o", at / "near.csv"],
            "sdp": ["sdp", "solve", at / "in.dat-s", "-o", at / "answer.sol"],
            "export": ["export", given, "--to", "npy", "-o", at / "map.npy"],
        }

    def works(self):
        """Return functions of the same, and such that write again and again."""
        found = {name: partial(_run, command) for name, command in self.commands().items()}
        loops = {"tables": _write_tables, "checkpoints": _write_states, "problems": _write_problems}
        for name, write in loops.items():
            found[f"{name} in a loop"] = partial(_run_python, write, self.folder)
        return found

    def defect(self):
        """Return which output is neither the old one nor whole, or None."""
        for path, old in self.old.items():
            if not path.exists():
                if path.name != "state":
                    return f"{path.name} is lost"
            elif path.read_bytes() != old and not _is_whole(path):
                return f"{path.name} is torn"
        return None

    def restore(self):
        """Return to the folder as it was; return the names of what else was there."""
        others = [path for path in self.folder.iterdir() if path not in self.old]
        for path in others:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for path, content in self.old.items():
            path.write_bytes(content)
        return [path.name for path in others]


def _run(command):
    """Run a command as the console script does, in a fork."""
    sys.argv = ["frobmetric", *map(str, command)]
    signals.end_at_once()
    frobmetric.app.cli.main()


def _run_python(write, folder):
    """Write as a script does, in which Ctrl-C is an exception."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    write(folder)


def _write_tables(folder):
    table = Table(np.random.default_rng(0).normal(size=(2000, 10)))
    for _ in range(20):
        for suffix in ("csv", "npy", "npz", "parquet"):
            write_table(folder / f"loop.{suffix}", table)


def _write_states(folder):
    state = {"u": np.arange(200_000.0)}
    for _ in range(100):
        Checkpoint(folder / "loop.ckpt", {"kind": "test"}).save(state)


def _write_problems(folder):
    from frobmetric.sdp import read_sdpa

    problem = read_sdpa(folder / "in.dat-s")
    for _ in range(100):
        write_sdpa(problem, folder / "loop.dat-s.gz")


def _is_whole(path):
    """Return whether an output can be read to its end."""
    try:
        match path.suffix:
            case ".safetensors":
                load(path)
            case ".ckpt":
                Checkpoint(path, {"kind": "test"}).load()
            case ".png":
                return path.read_bytes().endswith(b"IEND\xaeB`\x82")
            case ".sol" | ".gz":
                return path.stat().st_size > 0
            case "":
                return path.read_bytes().startswith(b"frobmetric checkpoint")
            case _ if path.stem == "near":
                read_matrix(path)
            case _:
                read_table(path)
    except (ValueError, OSError):
        return False
    return True


def signalled(work, number, seconds):
    """Return how a fork ended that got a signal after some seconds, and how long that took."""
    sent = []

    def send(child):
        time.sleep(seconds)
        sent.append(time.monotonic())
        os.kill(child, number)

    ending = call(work, LATE + seconds, meanwhile=send)
    return ending, time.monotonic() - sent[0]


def signalled_command(command, number, seconds):
    """Return the same of a new process, in which the signal may come during imports."""
    with subprocess.Popen(
        [sys.executable, "-m", "frobmetric", *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        time.sleep(seconds)
        sent = time.monotonic()
        process.send_signal(number)
        try:
            (output, errors), is_late = process.communicate(timeout=LATE), False
        except subprocess.TimeoutExpired:
            process.kill()
            (output, errors), is_late = process.communicate(), True
    took = time.monotonic() - sent
    said = (text.decode("utf-8", "replace") for text in (output, errors))
    return Ending(process.returncode, *said, took, 0, is_late), took


def judge_signal(ending, number):
    """Return the outcome of a signal, and whether it may be so."""
    if ending.is_late:
        return "hangs", False
    if "Traceback" in ending.errors:
        ours = [line for line in ending.errors.splitlines() if OURS in line]
        if all(FIRST.search(line) for line in ours):
            return "Python itself was starting or ending", True
        return f"traceback: {ending.errors[-400:]}", False
    if ending.code in (0, 4):
        return "finished before", True
    # before a command begins, or after it has shown its results, the signals are Python's
    if ending.code == -number and (ending.output or not ending.errors):
        return (
            "killed" if number == signal.SIGKILL else "Python itself was starting or ending",
            True,
        )
    if ending.code not in CODES[number]:
        return f"code {ending.code}: {ending.errors[-300:]}", False
    lines = ending.errors.strip().splitlines()
    said = [line for line in lines if "interrupted" in line or "terminated" in line]
    is_clear = number == signal.SIGKILL or len(said) == 1
    return f"code {ending.code}", is_clear


def try_signal(shop, rng):
    """Return kind, outcome and whether it is right, of a signal at a random moment."""
    number = choose(rng, sorted(CODES))
    if rng.random() < NEW:
        name = choose(rng, sorted(shop.commands()))
        wait = rng.uniform(0, 2.0 + shop.seconds[name])
        ending, took = signalled_command(shop.commands()[name], number, wait)
    else:
        name = choose(rng, sorted(shop.works()))
        wait = rng.uniform(0, shop.seconds[name])
        ending, took = signalled(shop.works()[name], number, wait)
    if number != signal.SIGKILL and ending.code in CODES[number]:
        shop.delays.append(took)
    if "loop" in name and number != signal.SIGKILL:  # no command: Python's own ways to end
        outcome, is_right = "ended in Python", not ending.is_late
    else:
        outcome, is_right = judge_signal(ending, number)
    return f"{number.name} in {name}", outcome, is_right, shop.works()[name]


def try_limit(shop, rng):
    """Return the same of a file size, a disk, or a number of files that is too small."""
    name = choose(rng, sorted(shop.works()))
    kind, limit = choose(
        rng, [("file size", resource.RLIMIT_FSIZE), ("files", resource.RLIMIT_NOFILE)]
    )
    most = int(rng.integers(3, 20) if kind == "files" else rng.integers(0, 20_000))

    def work():
        resource.setrlimit(limit, (most, most))
        shop.works()[name]()

    ending = call(work, LATE)
    is_python = "loop" in name
    if ending.is_late:
        return f"{kind} in {name}", "hangs", False, shop.works()[name]
    if ending.code in (0, 4):
        outcome, is_right = "finished", True
    elif is_python:
        outcome, is_right = "an exception", "Error" in ending.errors
    else:
        is_right = ending.code in (2, 3) and "Traceback" not in ending.errors
        outcome = "one clear line" if is_right else f"code {ending.code}: {ending.errors[-400:]}"
    return f"{kind} in {name}", outcome, is_right, shop.works()[name]


def attack_processes(count, seed):
    """Return what signals and limits do to processes that write files."""
    found = Findings()
    with tempfile.TemporaryDirectory() as folder:
        shop = Workshop(Path(folder))
        for number in range(count):
            rng = np.random.default_rng([seed, number])  # each try can be repeated alone
            attempt = try_signal if rng.random() < 0.75 else try_limit
            kind, outcome, is_right, work = attempt(shop, rng)
            if broken := shop.defect():
                outcome, is_right = broken, False
            if shop.delays:
                found.notes = measured(shop.delays)
            call(work, LATE)  # the next run removes what this one left
            left = [name for name in shop.restore() if name.endswith(".tmp")]
            if left and is_right:
                outcome, is_right = f"left behind: {left}", False
            if is_right:
                found.add(kind, outcome)
            else:
                found.add_defect(
                    kind, outcome, f"attack_processes(..., seed={seed}), number {number}"
                )
    return found


def measured(delays):
    """Return the seconds from signals to ends of processes, in words."""
    shares = "median {:.2f}, 90 % {:.2f}, 99 % {:.2f}, largest {:.2f}"
    return f"seconds from signal to end: {shares.format(*np.percentile(delays, [50, 90, 99, 100]))}"


ATTACKS = [Attack("interrupts", attack_processes, short=20, long=500)]
