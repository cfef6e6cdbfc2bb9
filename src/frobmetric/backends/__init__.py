"""Other homes for the data: shards in files, and shards on the workers of a cluster."""
