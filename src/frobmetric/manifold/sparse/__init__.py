"""Sparse symmetric matrices on a graph: elimination order, factors, inertia, eigenvalues."""
