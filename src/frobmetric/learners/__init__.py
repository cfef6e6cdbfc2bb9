"""Learners of other methods by their known names, most of them with a certificate."""

from .closed_form import Covariance

__all__ = ["Covariance"]
