"""Nearest correlation and covariance matrices."""
