"""Reproduction of the experiments of the paper, and benchmarks beside other programs."""

__version__ = "0.1.0"
