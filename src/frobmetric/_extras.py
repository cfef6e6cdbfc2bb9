"""Optional packages: imported when they are used; a missing one says what to install."""

from __future__ import annotations

from importlib import import_module


class MissingExtraError(ImportError):
    """A package of an extra is not installed."""


def require(module, extra):
    """Import a module that an extra of frobmetric brings.

    Parameters
    ----------
    module : str
        For example "pyarrow.parquet".
    extra : str
        The extra that installs it, for example "cli".

    Raises
    ------
    MissingExtraError
        If it is not installed; the message says what to type.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtraError(
            f"this needs {package}; install it with: pip install 'frobmetric[{extra}]'"
        ) from error
