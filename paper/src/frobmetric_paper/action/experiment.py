"""Plan of the table of action recognition, and of the merged words."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from ..classification.experiment import Column, TableExperiment
from ..classification.report import TableResults
from ..data.labelled import Split, load
from ..data.raw import load_sequences
from ..harness import task
from ..harness.formatting import percent
from ..harness.page import escape, table
from ..harness.task import NOT_RUN, Store
from .bottleneck import InformationBottleneck
from .histograms import Codebook, Merged, merged_words, square_roots, trajectories

#: Number of runs of the paper, and of the small version.
RUNS, QUICK_RUNS = 10, 2
#: People of MSR Action3D in the test part, and in the validation part.
N_TEST_SUBJECTS, N_VALIDATION_SUBJECTS = 4, 2
#: Share of UTD-MHAD's training part that is the validation part.
VALIDATION_SHARE = 0.2
#: Name of the part of the experiment that merges the words of documents.
WORDS = "words"


@dataclass(frozen=True)
class Size:
    """Amount of data that is taken."""

    every: int = 1  # one of this many sequences is taken
    n_words: int = 4000  # number of words of the codebook
    n_bins: int = 500  # number of bins to which words are merged
    document_bins: tuple[int, ...] = (500, 200, 100)  # the same for the words of documents
    n_documents: int | None = None  # number of documents of each part; all by default


QUICK = Size(every=3, n_words=400, n_bins=60, document_bins=(200, 50), n_documents=300)


def experiment(*, quick=False, runs=None, data=None):
    """Return the table, of the paper's size or small; see `uci.experiment`."""
    n_runs, size = runs or (QUICK_RUNS if quick else RUNS), QUICK if quick else Size()
    columns = tuple(
        Column(name, label, n_runs, partial(read, folder=data, size=size), refits=True)
        for name, (label, read) in SETS.items()
    )
    template = Path(__file__).with_name("page.md")
    return ActionExperiment("action", template, columns, WORK, quick=quick, data=data)


# Data


def skeleton_parts(run, folder=None, size=Size()):
    """Return a run of MSR Action3D: people drawn by its number, histograms of merged words."""
    data = load_sequences("msr_action3d", folder=folder)
    chosen = np.arange(0, len(data.y), size.every)
    frames, y = [data.frames[row] for row in chosen], data.y[chosen]
    rows = split_subjects(data.subject[chosen], run)
    # merging uses labels: with the validation part in it, the error there is far too small
    X = word_histograms(frames, y, rows[0], size, run)
    return Split("msr_action3d", *(array[part] for part in rows for array in (X, y))), None


def split_subjects(subject, seed):
    """Return the rows of training, validation and test part, with no person in two of them."""
    people = np.random.default_rng(seed).permutation(np.unique(subject))
    n_train = len(people) - N_TEST_SUBJECTS
    groups = np.split(people, [n_train - N_VALIDATION_SUBJECTS, n_train])
    return [np.flatnonzero(np.isin(subject, group)) for group in groups]


def word_histograms(frames, y, learns, size, seed):
    """Return the square roots of histograms of merged words, of shape (n_sequences, n_bins).

    `learns` are the sequences from which words, and merges of them, are learned.
    """
    sequences = [trajectories(each) for each in frames]
    codebook = Codebook.learn([sequences[row] for row in learns], size.n_words, seed)
    counts = codebook.histograms(sequences)
    bottleneck = InformationBottleneck(n_bins=min(size.n_bins, counts.shape[1]))
    return square_roots(bottleneck.fit(counts[learns], y[learns]).transform(counts))


def feature_parts(run, folder=None, size=Size()):
    """Return a run of UTD-MHAD: 70 to 30 % by its number, features of unit variance."""
    data = load("utd_mhad", seed=run, folder=folder)
    X = np.concatenate([data.X_train, data.X_validation, data.X_test])
    y = np.concatenate([data.y_train, data.y_validation, data.y_test])
    n_train = len(data.y_train)  # 70 %: the other two parts are the test part
    n_learn = n_train - round(VALIDATION_SHARE * n_train)
    spread = X[:n_train].std(axis=0)
    X = X / np.where(spread > 0, spread, 1.0)
    rows = [part[:: size.every] for part in np.split(np.arange(len(y)), [n_learn, n_train])]
    return Split("utd_mhad", *(array[part] for part in rows for array in (X, y))), None


#: Data set -> label, and (run, folder, size) -> Split after PCA and None.
SETS = {"msr_action3d": ("MSR Action3D", skeleton_parts), "utd_mhad": ("UTD-MHAD", feature_parts)}
#: Names of the sets, the cheap one first.
WORK = ("utd_mhad", "msr_action3d")


# Words of documents


@dataclass(frozen=True, kw_only=True)
class WordsTask(task.Task):
    """Merging of the words of documents; see `Size`."""

    document_bins: str
    n_documents: int | None

    @property
    def place(self):
        return WORDS


@dataclass(frozen=True, kw_only=True)
class WordsCell(task.Cell):
    """Result of merging: a dictionary for each `Merged`."""

    task_type: ClassVar = WordsTask

    rows: list = field(default_factory=list)

    @property
    def summary(self):
        return f"{len(self.rows)} ways to make bins of words"


@dataclass(frozen=True)
class ActionResults(TableResults):
    """Results of the table, and of merging words: rows, or a reason without any."""

    words: list = field(default_factory=list)
    reason: str = ""

    @property
    def has_answer(self):
        return bool(self.words) or super().has_answer

    @property
    def left_out(self):
        words = {WORDS: self.reason} if self.reason not in ("", NOT_RUN) else {}
        return super().left_out | words

    def to_dict(self):
        return super().to_dict() | {"words": self.words, "words_left_out": self.reason}

    def blocks(self, folder):
        return super().blocks(folder) | {"merged_words": self._words_table()}

    def _words_table(self):
        if not self.words:
            return escape(f"Left out: {self.reason}")
        shown = [Merged(**each) for each in self.words]
        rows = [[m.way, f"{m.n_bins:,}", f"{m.information:.1%}", percent(m.error)] for m in shown]
        return table(["bins", "number", "information left", "3-NN error, %"], rows)


@dataclass(frozen=True)
class ActionExperiment(TableExperiment):
    """Table of action recognition, and merging of the words of documents from a folder `data`."""

    results_type: ClassVar = ActionResults

    data: Path | None = None

    @property
    def parts(self):
        return [*super().parts, WORDS]

    def conduct(self, runner, *, only=(), **more):
        results = super().conduct(runner, only=only, **more)
        size = QUICK if self.quick else Size()
        bins = ", ".join(map(str, size.document_bins))
        what = {"document_bins": bins, "n_documents": size.n_documents}
        merging = WordsTask(method="bottleneck", threads=1, data="r8", **what)
        work = replace(runner, store=Store(runner.store.folder, WordsCell), n_cells=1, _met=set())

        def measure():
            known = {"n_documents": size.n_documents, "folder": self.data}
            return {"rows": [asdict(each) for each in merged_words(size.document_bins, **known)]}

        try:
            is_wanted = WORDS in (only or self.parts)
            cell = work.cell(merging, "information bottleneck", measure, is_wanted=is_wanted)
        except (OSError, ValueError) as error:
            return replace(results, reason=str(error))
        runner.interrupted = work.interrupted
        if not cell.is_done and not is_wanted and runner.previous:
            known = runner.previous
            return replace(results, words=known.words, reason=known.reason)
        return replace(results, words=cell.rows, reason=cell.remark)

    def load(self, data):
        words = {"words": data["words"], "reason": data["words_left_out"]}
        return replace(super().load(data), **words)
