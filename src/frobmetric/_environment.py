"""The environment: optional packages, threads, and files that are replaced whole or not at all."""

from __future__ import annotations

import os
import re
import secrets
from contextlib import contextmanager, nullcontext
from importlib import import_module
from pathlib import Path

from joblib import effective_n_jobs
from threadpoolctl import threadpool_limits

#: Name of an unfinished file, beside the file that it is to replace.
DRAFT = ".{name}.{token}.tmp"


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


def target_file(path):
    """Return the file that a path leads to; raise an error if it cannot be written."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: the folder {target.parent} does not exist; create it")
    if target.exists() and not target.is_file():
        raise OSError(f"{path} is not a regular file; give the name of a file")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"{path}: the folder {target.parent} cannot be written to")
    return target


@contextmanager
def replacing(path):
    """Yield a binary file that replaces `path` if the block ends without an error."""
    target = target_file(path)
    draft = target.with_name(DRAFT.format(name=target.name, token=secrets.token_hex(4)))
    try:
        with open(draft, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    except BaseException:  # Ctrl-C too must leave no draft behind
        draft.unlink(missing_ok=True)
        raise


def remove_drafts(path):
    """Remove the drafts that killed processes left when they were `replacing` this file."""
    target = Path(os.path.realpath(path))
    pattern = re.compile(DRAFT.format(name=re.escape(target.name), token="[0-9a-f]{8}"))
    for file in target.parent.iterdir():
        if pattern.fullmatch(file.name):
            file.unlink(missing_ok=True)


def limit_threads(n_jobs):
    """Return a context with at most this many threads; None sets no limit."""
    return nullcontext() if n_jobs is None else threadpool_limits(effective_n_jobs(n_jobs))
