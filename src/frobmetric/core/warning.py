"""Warnings that point at the line of the user, however deep in the library they arise."""

import sys
import warnings

#: Packages whose frames may stand between a line of the user and the place of a warning.
BETWEEN = {"frobmetric", "sklearn", "joblib", "scipy", "cvxpy", "contextlib", "functools"}


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside of frobmetric and of the packages that call it.

    `skip_file_prefixes` of Python 3.12 does the same. Where a worker thread holds no line of the
    user, the warning is at its outermost frame.
    """
    frame = sys._getframe(1)
    while frame.f_back and _package(frame.f_globals) in BETWEEN:
        frame = frame.f_back
    name, registry = frame.f_globals.get("__name__"), "__warningregistry__"
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=name,
        registry=frame.f_globals.setdefault(registry, {}),
    )


def _package(names: dict[str, object]) -> str:
    """Return the package of a module, given its global names."""
    return str(names.get("__name__", "")).partition(".")[0]
