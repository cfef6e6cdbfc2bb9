"""Unfolding a manifold: maximum variance with the distances to the neighbours kept."""

from .certificate import UnfoldingCertificate, certify_unfolding
from .graph import NeighborGraph, neighbor_graph
from .quality import NeighborhoodQuality, coranking_matrix, neighborhood_quality
from .spread import LocalSpread, local_spread
from .unfolding import MaximumVarianceUnfolding

__all__ = [
    "LocalSpread",
    "MaximumVarianceUnfolding",
    "NeighborGraph",
    "NeighborhoodQuality",
    "UnfoldingCertificate",
    "certify_unfolding",
    "coranking_matrix",
    "local_spread",
    "neighbor_graph",
    "neighborhood_quality",
]
