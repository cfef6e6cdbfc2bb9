"""Optional packages: imported on use; the error for a missing one says what to install."""

from __future__ import annotations

from importlib import import_module


class MissingExtraError(ImportError):
    """Error for a package of an extra that is not installed."""


def require(module, extra):
    """Import a module that an extra of frobmetric brings.

    Parameters
    ----------
    module : str
        Dotted name, for example "pyarrow.parquet".
    extra : str
        Extra that installs it, for example "cli".

    Raises
    ------
    MissingExtraError
        If it is not installed; the message says what to install.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtraError(
            f"this needs {package}; install it with: pip install 'frobmetric[{extra}]'"
        ) from error
