"""Files: models, tables, matrices."""
