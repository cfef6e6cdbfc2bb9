"""Errors and warnings of the library, by one import."""

from sklearn.exceptions import ConvergenceWarning, NotFittedError

from ._checks import NonPSDError, PreprocessorError
from ._parameters import InvalidParameterError
from .core import CertificateError, NumericalError
from .solvers import Interrupted

__all__ = [
    "CertificateError",
    "ConvergenceWarning",
    "Interrupted",
    "InvalidParameterError",
    "NonPSDError",
    "NotFittedError",
    "NumericalError",
    "PreprocessorError",
]
