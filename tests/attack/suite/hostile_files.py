"""Hostile files, offered to commands and to readers: one clear line, quickly, in little memory."""

from __future__ import annotations

import os
import tempfile
import warnings
from functools import partial
from pathlib import Path

import numpy as np

import frobmetric.app.cli
from frobmetric import FrobMetric, RowFile
from frobmetric.app.tables.matrices import read_matrix
from frobmetric.app.tables.reading import read_table, read_triplets
from frobmetric.io import load
from frobmetric.sdp import read_sdpa

from . import Attack, Findings, choose
from .isolation import call, call_command
from .spoilt_files import MARK, NEVER, Offers

#: Bytes of memory and seconds of computation that no file may take.
MEMORY, SECONDS = 1_000_000_000, 10.0
#: Seconds after which a process counts as hanging, on a machine that is busy.
WAIT = 300.0


def commands(path, suffix, offers):
    """Return the commands that read a file of this format."""
    out, model = offers.folder / "out.csv", offers.model
    learned, table = offers.folder / "out.safetensors", offers.folder / "good.csv"
    if suffix.startswith(".dat-s"):
        return [["sdp", "info", path], ["sdp", "solve", path]]
    if suffix == ".safetensors":
        uses = [["transform", path, table, "-o", out], ["certify", path, table]]
        return [*uses, ["export", path, "--to", "npy", "-o", offers.folder / "out.npy"]]
    found = [
        ["fit", path, "--target", "-1", "--cv", "0", "-o", learned],
        ["transform", model, path, "-o", out],
        ["certify", model, path],
        ["unfold", path, "-o", out],
        ["fit", table, "--drop", "y", "--triplets", path, "-o", learned],
    ]
    is_matrix = suffix not in (".parquet", ".npz", ".csv.gz")
    return [*found, ["correlation", path, "-o", out]] if is_matrix else found


def readers(path, suffix):
    """Return the functions that read a file of this format."""
    if suffix.startswith(".dat-s"):
        return [partial(read_sdpa, path)]
    if suffix == ".safetensors":
        return [partial(load, path), partial(_resume, path)]
    found = [partial(read_table, path), partial(read_table, path, target="-1")]
    found.append(partial(read_triplets, path))
    if suffix in (".npy", ".parquet"):
        found.append(lambda: RowFile(path).load())
    is_matrix = suffix not in (".parquet", ".npz", ".csv.gz")
    return [*found, partial(read_matrix, path)] if is_matrix else found


def _resume(path):
    """Go on with a fit whose checkpoint is this file."""
    X = np.random.default_rng(0).normal(size=(20, 2))
    FrobMetric(n_passes=1).fit(X, np.arange(20) % 2, checkpoint=path)


def attack_readers(count, seed):
    """Return what commands and readers say of hostile files."""
    found, seconds, peaks = Findings(), [], []
    with tempfile.TemporaryDirectory() as folder:
        offers = Offers(Path(folder), np.random.default_rng(seed))
        (offers.folder / "good.csv").write_bytes(offers.good[".csv"])
        for number in range(count):
            kind, outcome, is_right, place, ending = try_file(offers, seed, number)
            seconds.append(ending.seconds)
            peaks.append(ending.peak)
            found.notes = measured(seconds, peaks)
            if is_right:
                found.add(kind, outcome)
            else:
                found.add_defect(kind, outcome, place)
    return found


def try_file(offers, seed, number):
    """Try one file; return its kind, the outcome, whether it may be so, what was tried, the end."""
    offers.rng = rng = np.random.default_rng([seed, number])  # each try can be repeated alone
    path, suffix, kind = offers.offer()
    if rng.random() < 0.5:
        given = [str(a) for a in choose(rng, commands(path, suffix, offers))]
        use, ending = f"frobmetric {given[0]}", call_command(given, WAIT)
    else:
        reader = choose(rng, readers(path, suffix))
        use, ending = "Python", call(partial(_report, reader), WAIT)
    outcome, is_right = judge(ending, path, kind in NEVER)
    if MARK.exists():
        outcome, is_right = "code was executed", False
        MARK.unlink()
    offers.clear(path)
    place = f"try_file(offers, {seed}, {number}): {use}, {path.name[-30:]}"
    return kind, outcome, is_right, place, ending


def measured(seconds, peaks):
    """Return the computation and the memory of all tries, in words."""
    middle, most, longest = np.percentile(seconds, [50, 99, 100])
    return (
        f"seconds of computation: median {middle:.2f}, 99 % {most:.2f}, largest {longest:.2f}; "
        f"memory at most {max(peaks) / 1e9:.2f} GB"
    )


def _report(read):
    """Read; an expected error is a line and code 3, as in the command line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            read()
        except (ValueError, FileNotFoundError, OSError) as error:
            os.write(2, f"error: {error}\n".encode("utf-8", "replace"))
            raise SystemExit(3) from None


def judge(ending, path, is_never_data):
    """Return the outcome of a try, and whether it may be so."""
    if ending.is_late:
        return "hangs", False
    if "Traceback" in ending.errors or ending.code not in (0, 2, 3, 4):
        return f"code {ending.code}: {ending.errors[-300:]}", False
    if ending.peak > MEMORY:
        return f"takes {ending.peak / 1e9:.1f} GB", False
    if ending.seconds > SECONDS:
        return f"takes {ending.seconds:.0f} s", False
    if ending.code == 0:
        return ("is read", not is_never_data) if not is_never_data else ("is taken for data", False)
    lines = [line for line in ending.errors.splitlines() if line.startswith(("error:", "Error:"))]
    if len(lines) != 1 and ending.code == 3:
        return f"{len(lines)} lines of errors: {ending.errors[:200]}", False
    if ending.code == 3 and len(lines[0]) > 3000:
        return f"a line of {len(lines[0])} characters", False
    return {2: "wrong usage", 3: "one clear line", 4: "not certified"}[ending.code], True


ATTACKS = [Attack("hostile files", attack_readers, short=100, long=2000)]
assert frobmetric.app.cli  # imported before the forks
