"""Tables and matrices in files: csv, Parquet and NumPy, read in blocks and written whole."""
