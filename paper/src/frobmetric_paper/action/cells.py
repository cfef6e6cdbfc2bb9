"""What came of merging the words of documents, kept in a file."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from importlib.metadata import version

from ..harness.store import CellStore, Settling
from .words import Merged, merged_words

#: Numbers of bins, and of documents of each part, None for all: as shown, and in the small version.
FULL, QUICK = ((500, 200, 100), None), ((200, 50), 300)


@dataclass(frozen=True)
class WordsTask:
    """What is to be computed: numbers of bins with commas, and of documents of each part."""

    n_bins: str
    n_documents: int | None
    version: str = field(default_factory=lambda: version("frobmetric"))

    @property
    def file_name(self):
        return f"words-{self.n_documents or 'all'}.json"


@dataclass(frozen=True)
class WordsCell(Settling):
    """The answer: a dictionary for each `Merged`."""

    task: WordsTask
    rows: list
    outcome: str = "done"
    limit: float = 0.0

    @property
    def merged(self):
        return [Merged(**row) for row in self.rows]


class WordsStore(CellStore):
    """The folder of the file."""

    cell_type, task_type = WordsCell, WordsTask


def find_words(store, quick=False):
    """A list of `Merged` that was kept; None if there is none."""
    cell = store.find(_task(quick), 0.0)
    return cell and cell.merged


def compute_words(store, quick=False, folder=None):
    """A list of `Merged`, which is kept."""
    n_bins, n_documents = QUICK if quick else FULL
    found = merged_words(n_bins, n_documents=n_documents, folder=folder)
    store.keep(WordsCell(_task(quick), [asdict(each) for each in found]))
    return found


def _task(quick):
    n_bins, n_documents = QUICK if quick else FULL
    return WordsTask(", ".join(map(str, n_bins)), n_documents)
