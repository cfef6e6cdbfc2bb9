"""One run of a data set as the methods get it: at unit scale, with its triplets."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from frobmetric.metric.coordinates import unit_mean_square
from frobmetric.metric.triplets import mine_triplets

from ..data.labelled import Split
from ..harness.store import checksum
from .measures import measure_map

#: Neighbours of its class, and as many of others, that each training point has in triplets.
N_NEIGHBORS = 3


@dataclass(frozen=True, eq=False)
class Run:
    """A loaded run; what is dear is computed when it is first asked for, and once.

    Attributes
    ----------
    reduced : Split
        Divided by one number, so that the training part has unit mean squared norm around its mean.
    full : Split, optional
        The same before PCA.
    data : str
        A checksum of the data before PCA, which rounds otherwise from machine to machine.
    """

    reduced: Split
    full: Split | None
    data: str

    @classmethod
    def of(cls, parts):
        """That of `Parts` as they were loaded."""
        first = parts.reduced if parts.full is None else parts.full
        arrays = [getattr(first, item.name) for item in fields(first) if item.name != "name"]
        shape = np.array(parts.reduced.X_train.shape)
        full = None if parts.full is None else at_unit_scale(parts.full)
        return cls(at_unit_scale(parts.reduced), full, checksum(*arrays, shape))

    @property
    def sizes(self):
        """Numbers of samples, features and classes, by name."""
        split, before = self.reduced, self.full or self.reduced
        return {
            "training": len(split.y_train),
            "validation": len(split.y_validation),
            "test": len(split.y_test),
            "dimension": before.X_train.shape[1],
            "dimension after PCA": split.X_train.shape[1],
            "classes": len(np.unique(split.y_train)),
        }

    def split(self, features):
        """The parts by the word of `Rival.features`."""
        return self.full if features == "all" and self.full is not None else self.reduced

    @cached_property
    def triplets(self):
        """Mined on the reduced training part, the same for all that learn from triplets."""
        return mine_triplets(
            self.reduced.X_train, self.reduced.y_train, n_neighbors=N_NEIGHBORS, warn_small=False
        )

    @cached_property
    def before(self):
        """The measures of the reduced features with no metric."""
        part = self.reduced
        return measure_map(part.X_train, part.y_train, part.X_test, part.y_test)

    @cached_property
    def joined(self):
        """The run whose training part holds the validation part too."""
        return replace(self, reduced=_join(self.reduced), full=self.full and _join(self.full))


def at_unit_scale(split):
    """The split divided by one number, by which its training part has unit mean squared norm."""
    scale = unit_mean_square(split.X_train)[1]
    return replace(
        split,
        X_train=split.X_train / scale,
        X_validation=split.X_validation / scale,
        X_test=split.X_test / scale,
    )


def _join(split):
    return replace(
        split,
        X_train=np.concatenate([split.X_train, split.X_validation]),
        y_train=np.concatenate([split.y_train, split.y_validation]),
    )
