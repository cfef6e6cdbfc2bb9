"""Sparse symmetric matrices on a graph."""
