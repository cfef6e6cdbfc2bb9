"""Learners of other methods by their known names, most of them with a certificate."""

from .closed_form import Covariance
from .lmnn import LMNN

__all__ = ["LMNN", "Covariance"]
