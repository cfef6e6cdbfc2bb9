"""Value of a fitted unfolding: the embedding of all samples, its proof, and where new ones go."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ..core.points import Array, Index
from ..model.linear_map import Features
from ..model.value import Value
from .extension import Extension
from .graph import NeighborGraph
from .methods import Unfolding
from .samples import DistanceSamples, FeatureSamples, GraphSamples


@dataclass(frozen=True, eq=False)
class UnfoldedSamples(Value):
    """Embedding of samples, with the graph whose edges it keeps.

    Attributes
    ----------
    features : Features
    is_distances : bool
        Whether samples are given by their distances, and not by features.
    graph : NeighborGraph
        Distinct points and their edges.
    component_labels : integer ndarray of shape (n_samples,)
    unfolding : Unfolding
        Certified solution; `Y` has a row for each sample, of equal ones too.
    embedding : ndarray of shape (n_samples, n_components)
    extension : Extension
        Places new samples in the embedding.
    """

    features: Features
    is_distances: bool
    graph: NeighborGraph
    component_labels: Index
    unfolding: Unfolding
    embedding: Array
    extension: Extension

    @classmethod
    def of(
        cls,
        samples: FeatureSamples | GraphSamples,
        graph: NeighborGraph,
        labels: Index,
        unfolding: Unfolding,
        features: Features,
        *,
        component: Index,
        n_components: int,
        n_neighbors: int,
    ) -> Self:
        """Return the embedding of all samples from that of their distinct points.

        A new sample is placed by points of the same `component` as its nearest point; `labels` are
        the components of the graph.
        """
        Y = unfolding.Y[graph.point_of]
        embedding = np.zeros((len(Y), n_components))
        embedding[:, : Y.shape[1]] = Y[:, :n_components]
        of_points = embedding[graph.representative]
        extension = Extension(
            samples,
            of_points,
            n_neighbors,
            representative=graph.representative,
            component=component,
        )
        is_distances = isinstance(samples, (DistanceSamples, GraphSamples))
        unfolding, labels = replace(unfolding, Y=Y), labels[graph.point_of]
        return cls(features, is_distances, graph, labels, unfolding, embedding, extension)
