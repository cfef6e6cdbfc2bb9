"""Learners of other methods by their known names, most of them with a certificate."""

from .closed_form import Covariance
from .lsml import LSML, LSML_Supervised

__all__ = ["LSML", "Covariance", "LSML_Supervised"]
