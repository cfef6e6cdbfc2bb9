"""Maximum variance unfolding: spread out the samples, keep the distances between neighbours.

Unfolding is a `FrobeniusSDP` in the Gram matrix of the samples (`methods.program.gram_problem`),
but it is not solved as one. The Gram matrix of n samples is dense, and its rank is small: methods
in the coordinates factor matrices with the sparsity of the neighbour graph instead. The
certificate is recomputed from the coordinates and the multipliers, with eigenvalues that are
counted by the inertia of a sparse factorisation.
"""

from .certificate import certify_unfolding
from .graph import neighbor_graph
from .quality import neighborhood_quality
from .unfolding import MaximumVarianceUnfolding

__all__ = [
    "MaximumVarianceUnfolding",
    "certify_unfolding",
    "neighbor_graph",
    "neighborhood_quality",
]
