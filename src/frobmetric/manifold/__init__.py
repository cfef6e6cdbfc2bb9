"""Unfolding a manifold: maximum variance with the distances to the neighbours kept."""

from .certificate import UnfoldingCertificate, certify_unfolding
from .graph import NeighborGraph, neighbor_graph
from .quality import NeighborhoodQuality, coranking_matrix, neighborhood_quality
from .unfolding import MaximumVarianceUnfolding

__all__ = [
    "MaximumVarianceUnfolding",
    "NeighborGraph",
    "NeighborhoodQuality",
    "UnfoldingCertificate",
    "certify_unfolding",
    "coranking_matrix",
    "neighbor_graph",
    "neighborhood_quality",
]
