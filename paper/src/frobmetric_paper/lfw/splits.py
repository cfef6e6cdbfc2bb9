"""Pairs of faces to learn from and pairs to be judged by, with no person in both."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..data.pairs import FacePairs

#: Which images a method may know: those of the training pairs, or all of the people in them.
VARIANTS = {
    "pairs": "images of the training pairs",
    "people": "all images of the people in the training pairs",
}


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test pairs.

    Attributes
    ----------
    name : str
        Another one for each split of a data set.
    person : integer ndarray of shape (n_images,)
        Whom each image shows.
    train, test : FacePairs
        No person of `test` is in `train`: else a ValueError names one.
    variant : str
        One of `VARIANTS`.
    whole : Split, optional
        The split whose training pairs are divided here.
    """

    name: str
    person: np.ndarray = field(repr=False)
    train: FacePairs = field(repr=False)
    test: FacePairs = field(repr=False)
    variant: str = "pairs"
    whole: Split | None = field(default=None, repr=False)

    def __post_init__(self):
        both = np.intersect1d(self.person[self.train.index], self.person[self.test.index])
        if len(both):
            raise ValueError(
                f"{self.name}: person {both[0]} is in training and in test pairs; a split must "
                "keep people apart"
            )

    @cached_property
    def known(self):
        """Rows of the images that may be used to learn from, rising."""
        images = np.unique(self.train.index)
        if self.variant == "pairs":
            return images
        return np.flatnonzero(np.isin(self.person, self.person[images]))

    @property
    def seen(self):
        """Rows of the images that PCA is fitted to, which needs no names: none of test people.

        A part of a split has the PCA of the whole split, to which the images of all its parts
        belong.
        """
        return self.known if self.whole is None else self.whole.seen

    @cached_property
    def identity(self):
        """Whom each of the known images shows."""
        return self.person[self.known]

    @cached_property
    def has_another(self):
        """Whether each of the known images has another one of the same person."""
        _, place, counts = np.unique(self.identity, return_inverse=True, return_counts=True)
        return counts[place] > 1

    @property
    def known_pairs(self):
        """The training pairs, as places in `known`."""
        return FacePairs(np.searchsorted(self.known, self.train.index), self.train.same)

    def parts(self, n_parts):
        """The training pairs once more divided: each a split whose test pairs are a part of them.

        Parts hold about equally many pairs and no person is in two, so that together they judge
        every training pair by what was learned from other people.

        Parameters
        ----------
        n_parts : int

        Returns
        -------
        list of Split
        """
        part = divide(self.person[self.train.index], n_parts)
        return [
            Split(
                f"{self.name}, part {i} of {n_parts}",
                self.person,
                take(self.train, part != i),
                take(self.train, part == i),
                self.variant,
                self,
            )
            for i in range(n_parts)
        ]


def take(pairs, rows):
    """Some pairs, by numbers or booleans."""
    return FacePairs(pairs.index[rows], pairs.same[rows])


def view1(faces, variant="pairs"):
    """The split for choosing: View 1."""
    return Split("view1", faces.person, faces.view1_train, faces.view1_test, variant)


def view2(faces, number, variant="pairs"):
    """The split for judging in which one fold of View 2 is the test part, the others are known."""
    is_test = faces.view2_fold == number
    return Split(
        f"fold{number}",
        faces.person,
        take(faces.view2, ~is_test),
        take(faces.view2, is_test),
        variant,
    )


def divide(people, n_parts):
    """Divide pairs of people so that no person is in two parts.

    Pairs that share a person stay together; the largest such groups go first, each to the part
    that has the fewest pairs.

    Parameters
    ----------
    people : integer ndarray of shape (n_pairs, 2)
    n_parts : int

    Returns
    -------
    ndarray of shape (n_pairs,)
        The part of each pair, from 0.

    Examples
    --------
    >>> import numpy as np
    >>> divide(np.array([[0, 0], [0, 1], [2, 3], [4, 4], [5, 4]]), 2)
    array([0, 0, 0, 1, 1])
    """
    names, place = np.unique(people, return_inverse=True)
    i, j = place.reshape(-1, 2).T
    links = coo_array((np.ones(len(i)), (i, j)), shape=(len(names), len(names)))
    group = connected_components(links, directed=False)[1][i]
    sizes = np.bincount(group)
    if np.count_nonzero(sizes) < n_parts:
        raise ValueError(
            f"the pairs link their people to {np.count_nonzero(sizes)} groups; {n_parts} parts "
            "without a person in two need as many"
        )
    part, filled = np.zeros(len(sizes), dtype=int), np.zeros(n_parts, dtype=int)
    for each in np.argsort(-sizes, kind="stable"):
        part[each] = filled.argmin()
        filled[part[each]] += sizes[each]
    return part[group]
