"""Errors and warnings of the library, by one import.

Examples
--------
The classes of scikit-learn, as they are raised here:

>>> import warnings
>>> from frobmetric import FrobMetric
>>> from frobmetric.exceptions import ConvergenceWarning, InvalidParameterError, NotFittedError
>>> samples, labels = [[0.0], [1.0], [1.1], [2.0]], [0, 0, 1, 1]
>>> with warnings.catch_warnings(record=True) as caught:
...     warnings.simplefilter("always")
...     _ = FrobMetric(n_neighbors=1, max_iter=1).fit(samples, labels)
>>> issubclass(caught[-1].category, ConvergenceWarning)
True
>>> for metric in (FrobMetric(n_neighbors=0), FrobMetric(n_neighbors=1)):
...     try:
...         metric.fit(samples, labels) if metric.n_neighbors == 0 else metric.transform(samples)
...     except (InvalidParameterError, NotFittedError) as error:
...         print(type(error).__name__)
InvalidParameterError
NotFittedError
"""

from sklearn.exceptions import ConvergenceWarning, NotFittedError

from .checks.arguments import NonPSDError, PreprocessorError
from .checks.parameters import InvalidParameterError
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
