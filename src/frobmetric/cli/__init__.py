"""The command line `frobmetric`: one module for each group of commands."""
