"""Cross-validation for comparisons: no object is in training and in test."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator

from ..checks.arguments import as_index
from ..checks.parameters import FLAG, NONE, NUMBERS, SEED, Rule, check_parameters, integer
from ..checks.samples import check_random_state
from ..core.checks import read_values
from .division import Rows

LABELS = Rule("a sequence of labels, one for each object,", NUMBERS.is_met)


class ObjectSplit(BaseCrossValidator):
    """Folds over the objects of pairs, triplets or quadruplets, not over the tuples.

    The objects are divided into `n_splits` parts of about equal size. In the split of a part

        test       tuples with all their objects in the part
        training   tuples with none of their objects in it

    and tuples with some are in neither. A split by tuple would leak: each test tuple would be about
    objects that training tuples describe, and a table of the objects seen would do as well as a
    metric.

    Honesty costs tuples. If they are drawn at random, with s objects each and k parts, a
    training set has the share (1 - 1/k)^s and all test sets together k^(1 - s): for triplets and
    five parts 51 % and 4 %, for pairs 64 % and 20 %.

    Parameters
    ----------
    n_splits : int, default=5
    shuffle : bool, default=True
        Without it the objects are dealt to the parts in the order of their numbers.
    random_state : int, RandomState, optional
    groups : array-like of shape (n_objects,), optional
        A label for each object, at its number; objects of one label (pictures of one person) stay
        in one part. scikit-learn's own functions want one group for each tuple, so it is given
        here, or to `split`.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.evaluation.splitting import ObjectSplit
    >>> rng = np.random.default_rng(0)
    >>> triplets = np.array([rng.choice(30, 3, replace=False) for _ in range(2000)])
    >>> for train, test in ObjectSplit(random_state=0).split(triplets):
    ...     assert not np.isin(triplets[train], triplets[test]).any()
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_splits": integer(2),
        "shuffle": FLAG,
        "random_state": SEED | NONE,
        "groups": LABELS | NONE,
    }

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = True,
        random_state: Any = None,
        groups: ArrayLike | None = None,
    ) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state
        self.groups = groups

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits; the arguments are not used."""
        return self.n_splits

    def parts(self, tuples: ArrayLike, groups: ArrayLike | None = None) -> list[np.ndarray]:
        """Return the objects of each part, in the order of the splits; see `split`.

        They are the parts of `split` if `random_state` is an integer or `shuffle` is False. Every
        object that is in a tuple is in one part.
        """
        objects, part = self._deal(as_index(tuples, (2, 3, 4)), groups)
        return [objects[part == i] for i in range(self.n_splits)]

    def split(self, tuples: ArrayLike, y: Any = None, groups: Any = None) -> Any:
        """Generate training and test tuples for each part of the objects.

        Parameters
        ----------
        tuples : array-like of shape (n_tuples, 2), (n_tuples, 3) or (n_tuples, 4)
            Object numbers.
        y : ignored
        groups : array-like of shape (n_objects,), optional
            As in the constructor, and instead of it.

        Yields
        ------
        train, test : ndarray of row numbers of tuples
        """
        tuples = as_index(tuples, (2, 3, 4))
        objects, part = self._deal(tuples, groups)
        part = part[np.searchsorted(objects, tuples)]
        self._check_tests(part)
        for i in range(self.n_splits):
            inside = part == i
            yield np.flatnonzero(~inside.any(axis=1)), np.flatnonzero(inside.all(axis=1))

    def _deal(self, tuples: Any, groups: ArrayLike | None) -> tuple[Rows, Rows]:
        """Return the numbers of the objects, sorted, and the part of each object."""
        check_parameters(self, self._rules)
        if self.random_state is not None and not self.shuffle:
            raise ValueError(
                f"random_state={self.random_state} has no effect with shuffle=False; leave one out"
            )
        objects = np.unique(tuples)
        groups = self.groups if groups is None else groups
        kind = "objects" if groups is None else "groups"
        labels = objects if groups is None else _labels(groups, objects)
        _, label, size = np.unique(labels, return_inverse=True, return_counts=True)
        if len(size) < self.n_splits:
            raise ValueError(
                f"the tuples have {len(size)} {kind}, fewer than n_splits={self.n_splits}; ask for "
                "fewer splits"
            )
        rng = check_random_state(self.random_state)
        order = rng.permutation(len(size)) if self.shuffle else np.arange(len(size))
        return objects, _balanced(size, order, self.n_splits)[label]

    def _check_tests(self, part: Rows) -> None:
        is_test = (part == part[:, :1]).all(axis=1)
        empty = np.flatnonzero(np.bincount(part[is_test, 0], minlength=self.n_splits) == 0)
        if len(empty):
            raise ValueError(
                f"no tuple has all its objects in part {empty[0]} of {self.n_splits}, so that "
                "split has nothing to test on; ask for fewer splits or try another random_state"
            )


def _labels(groups: ArrayLike, objects: Rows) -> Any:
    labels = read_values(groups, name="groups")
    if labels.ndim != 1 or len(labels) <= objects[-1]:
        raise ValueError(
            f"groups has shape {labels.shape}; expected one label for each object, at least "
            f"({objects[-1] + 1},) because the largest object number is {objects[-1]}"
        )
    return labels[objects]


def _balanced(size: Rows, order: Rows, n_parts: int) -> Rows:
    """Assign groups to parts: the large ones first, each to the part with the fewest objects."""
    order = order[np.argsort(-size[order], kind="stable")]
    part, filled = np.empty(len(size), dtype=np.intp), np.zeros(n_parts, dtype=np.intp)
    for group in order:
        part[group] = filled.argmin()
        filled[part[group]] += size[group]
    return part
