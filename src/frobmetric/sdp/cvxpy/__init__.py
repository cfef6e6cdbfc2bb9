"""A solver for cvxpy."""
