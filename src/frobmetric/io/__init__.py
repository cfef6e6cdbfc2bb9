"""Files: models, tables of samples and symmetric matrices."""
