"""Fits from samples in shards: takes the place of samples, search and triplets in memory.

Each shard has its own rows as anchors. Before a problem is solved it also gets the rows of other
shards that are neighbours of its own. From then on only numbers, and matrices with one row for each
feature, leave a shard. On a cluster small parts of the problem are the exception: they are brought
to the client, which solves them faster alone.
"""
