"""Search for neighbours: exact with ties by row number, or approximate with a measured recall."""
