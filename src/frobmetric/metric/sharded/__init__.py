"""Fits from samples in shards: takes the place of samples, search and triplets in memory.

Each shard has its own rows as anchors. Before a problem is solved it also gets the rows of other
shards that are neighbours of its own; from then on only matrices of the order of the features and
numbers leave a shard, and of a cluster those parts of the problem that are solved faster alone.
"""

from .samples import ShardedSamples
from .triplets import ShardedTriplets

__all__ = ["ShardedSamples", "ShardedTriplets"]
