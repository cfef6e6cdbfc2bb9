"""What all rivals share: the interface, and a process of their own that ends at a time limit.

A rival reads `X.npy`, what it learns from (`y.npy`, `triplets.npy`, or `pairs.npy` and `same.npy`)
and `task.json` (parameters and seed) from a folder and leaves `detail.json` and the arrays of its
answer there, `L.npy` if that is a map, whatever language it is written in. Nothing is pickled.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from frobmetric.metric.sets import as_triplets
from frobmetric.metric.triplets import mine_triplets

from .fitted import ANSWERS
from .processes import RivalFailed, RivalMissing, run
from .servant import HOUSEHOLD


@dataclass(frozen=True)
class Task:
    """What a rival is given: arrays are in files, here are their sizes and the numbers."""

    folder: Path
    n_samples: int
    n_features: int
    n_triplets: int
    parameters: Mapping[str, object]
    seed: int


def do_nothing():
    """For programs of which nothing is missing, and nothing to be installed."""
    return ""


class Installable:
    """What can be absent: it has a `name`, and `missing()` says why it cannot run here."""

    def is_available(self):
        return not self.missing()

    def require(self):
        """Raise RivalMissing if it cannot run here."""
        reason = self.missing()
        if reason:
            raise RivalMissing(f"{self.name} cannot run here: {reason}")


@dataclass(frozen=True)
class Rival(Installable):
    """A program that learns a metric, or to classify.

    Attributes
    ----------
    name : str
        Its key in `RIVALS`.
    learns_from : {"labels", "triplets", "pairs"}
    needs : str
        What has to be installed, and how.
    command : callable
        Task -> the command line that does it.
    stays : bool
        Whether the command without its last word, the folder, does task after task: see
        `child.py`. It is then started once for many fits.
    label : str
        Its name for people; `name` if empty.
    paper_name : str
        Its row in the paper's tables; empty if it has none.
    search : mapping
        Parameters to choose on held-out data: name -> values, that to begin with first. Several
        names with spaces between them are chosen together: their values are tuples.
    required : tuple of str
        Parameters without which it cannot learn.
    answers : {"map", "classes"}
        Whether `fit` returns a `Fitted` or a `FittedClassifier`.
    features : {"reduced", "all"}
        Which features its row in the paper's table is of: after PCA, or before.
    missing : callable
        () -> why it cannot run here, empty if it can.
    install : callable
        () -> None; what `python -m frobmetric_paper.rivals.setup` does for it.
    """

    name: str
    learns_from: str
    needs: str
    command: Callable[[Task], list[str]]
    stays: bool = False
    label: str = ""
    paper_name: str = ""
    search: Mapping[str, tuple] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    answers: str = "map"
    features: str = "reduced"
    missing: Callable[[], str] = do_nothing
    install: Callable[[], object] = do_nothing

    def __post_init__(self):
        object.__setattr__(self, "label", self.label or self.name)

    def fit(
        self,
        X,
        y=None,
        *,
        triplets=None,
        pairs=None,
        parameters=None,
        limit=600.0,
        seed=0,
        threads=None,
    ):
        """Learn from X as it is: no rival is given other units than its neighbour.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        y : ndarray of shape (n_samples,), optional
        triplets : ndarray of shape (n_triplets, 3) or MinedTriplets, optional
            Mined from y if they are needed and not given; that takes none of the `seconds`.
        pairs : (ndarray of shape (n_pairs, 2), bool ndarray of shape (n_pairs,)), optional
            Row numbers of X, and whether the two are of one class.
        parameters : dict, optional
            Numbers and words by name, as in `search`; those not given are the program's own
            choice.
        limit : float
            Seconds after which the process is ended.
        seed : int
            For those that draw at random.
        threads : int, optional
            Of numerical libraries; their own choice if None.

        Returns
        -------
        Fitted or FittedClassifier

        Raises
        ------
        RivalMissing, TimeLimitExceeded, RivalFailed
        """
        self.require()
        parameters = self._check_parameters(parameters or {})
        arrays = _arrays(self, np.ascontiguousarray(X, dtype=np.float64), y, triplets, pairs)
        with tempfile.TemporaryDirectory(prefix="frobmetric-rival-") as folder:
            task = _write_task(Path(folder), arrays, parameters, seed)
            do = HOUSEHOLD.run if self.stays else run
            told = do(self.command(task), limit, threads)
            answer = _read_answer(self, Path(folder), {"threads": threads, "told": told})
        return answer if y is None else answer.named(np.unique(y))

    def _check_parameters(self, parameters):
        absent = [name for name in self.required if name not in parameters]
        if absent:
            raise ValueError(
                f"{self.name} needs {', '.join(absent)}; give parameters={{{absent[0]!r}: ...}}"
            )
        return dict(parameters)


def named(names, value):
    """A value of `Rival.search` by its name, or values by theirs if there are several."""
    names = names.split()
    return dict(zip(names, (value,) if len(names) == 1 else value, strict=True))


def first_parameters(search):
    """The parameters that a search begins with."""
    pairs = [named(names, values[0]) for names, values in search.items()]
    return {name: value for pair in pairs for name, value in pair.items()}


def _arrays(rival, X, y, triplets, pairs):
    """What the rival is given, as arrays by name."""
    if rival.learns_from == "triplets":
        found = mine_triplets(X, y) if triplets is None else as_triplets(triplets, len(X))
        if np.ptp(found.share) > 0:
            raise ValueError(f"{rival.name} gives every triplet the same weight; got others")
        rows = np.ascontiguousarray(found.to_array(), dtype=np.int64)
        # neighbour lists too, for those who can make use of them
        lists = {f"triplets.{name}": array for name, array in found.to_arrays().items()}
        return {"X": X, "triplets": rows} | lists
    if rival.learns_from == "pairs":
        if pairs is None:
            raise ValueError(f"{rival.name} learns from pairs; give pairs=(rows, same)")
        return {"X": X, "pairs": np.asarray(pairs[0], np.int64), "same": np.asarray(pairs[1], bool)}
    if y is None:
        raise ValueError(f"{rival.name} learns from labels; give y")
    return {"X": X, "y": np.unique(y, return_inverse=True)[1].astype(np.int64)}


def _write_task(folder, arrays, parameters, seed):
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
    (folder / "task.json").write_text(json.dumps({"parameters": parameters, "seed": seed}))
    return Task(folder, *arrays["X"].shape, len(arrays.get("triplets", ())), parameters, seed)


def _read_answer(rival, folder, more):
    try:
        detail = json.loads((folder / "detail.json").read_text()) | more
        answer = ANSWERS[rival.answers].read(folder, detail.pop("seconds"), detail)
    except (OSError, ValueError) as error:
        said = more["told"]
        raise RivalFailed(f"{rival.name} left no answer: {error}; it said: {said}") from error
    if not answer.is_finite():
        raise RivalFailed(f"{rival.name} answered with NaN or infinity; it said: {more['told']}")
    return answer
