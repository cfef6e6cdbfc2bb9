"""The environment: optional packages, threads, and files that are replaced whole or not at all."""

from __future__ import annotations

import difflib
import io
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from numbers import Integral
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

#: Path of a file.
FilePath: TypeAlias = str | os.PathLike[str]

#: Largest number of threads: more make nothing faster.
MOST_THREADS = 4096
#: Name of an unfinished file, beside the file that it is to replace.
DRAFT = ".{name}.{token}.tmp"
#: Bytes that any file may expand to when it is read, and the largest factor beyond that.
EXPANDED, EXPANSION = 1 << 26, 100


class MissingExtraError(ImportError):
    """Error for a package of an extra that is not installed."""


def require(module: str, extra: str) -> ModuleType:
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


def target_file(path: FilePath) -> Path:
    """Return the file that a path leads to; raise an error if it cannot be written."""
    if str(path) == "-":
        raise ValueError("-: the standard output takes tables only; give the name of a file")
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: the folder {target.parent} does not exist; create it")
    if target.is_symlink():
        raise OSError(f"{path} is a loop of symbolic links; give the name of a file")
    if target.exists() and not target.is_file():
        raise OSError(f"{path} is not a regular file; give the name of a file")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"{path}: the folder {target.parent} cannot be written to")
    return target


@contextmanager
def replacing(path: FilePath) -> Iterator[_Draft]:
    """Yield a binary file that replaces `path` if the block ends without an error.

    Drafts that killed processes left are removed first. A full disk, or any other error of
    writing, names the file; errors of other files in the block do not.
    """
    target = target_file(path)
    remove_drafts(target)
    draft, opened = _open_draft(target)
    file = _Draft(opened)
    try:
        with file:
            yield file
            file.finish()
        with _remember_error(file):
            os.replace(draft, target)
    except BaseException as error:  # Ctrl-C too must leave no draft behind
        draft.unlink(missing_ok=True)
        if isinstance(error, OSError) and file.error is not None:
            raise OSError(
                f"{path} could not be written ({error.strerror or error}); what was there is "
                "unchanged; free some space, or give a file on another disk"
            ) from error
        raise


class _Draft(io.BufferedIOBase):
    """Unfinished file, which remembers the error of writing to it.

    It is not an `io.BufferedWriter`: NumPy writes to such a file in C, where no error is noticed.
    """

    def __init__(self, file: io.BufferedWriter) -> None:
        self.file = file
        self.error: OSError | None = None

    def write(self, content: Any) -> int:
        with _remember_error(self):
            return self.file.write(content)

    def finish(self) -> None:
        """Flush the file to the disk."""
        with _remember_error(self):
            self.file.flush()
            os.fsync(self.file.fileno())

    def flush(self) -> None:
        if not self.file.closed:
            with _remember_error(self):
                self.file.flush()

    def close(self) -> None:
        with _remember_error(self):
            self.file.close()
        super().close()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:  # an error of closing must not hide the error of the block
            with suppress(OSError):
                self.file.close()
        self.close()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with _remember_error(self):  # buffered content is written first
            return self.file.seek(offset, whence)

    def tell(self) -> int:
        return self.file.tell()

    def fileno(self) -> int:
        return self.file.fileno()

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


@contextmanager
def _remember_error(draft: _Draft) -> Iterator[None]:
    """Remember the error of an operation on a draft."""
    try:
        yield
    except OSError as error:
        draft.error = error
        raise


def remove_drafts(path: FilePath) -> None:
    """Remove the drafts that killed processes left when they were `replacing` this file."""
    target = Path(os.path.realpath(path))
    pattern = re.compile(DRAFT.format(name=re.escape(target.name), token="[0-9a-f]{8}"))
    with suppress(OSError):  # a folder that cannot be listed hides its drafts
        for file in target.parent.iterdir():
            if pattern.fullmatch(file.name):
                _remove_unlocked(file)


def _open_draft(target: Path) -> tuple[Path, io.BufferedWriter]:
    """Return a new draft and its file, locked as long as it is open."""
    while True:
        draft = target.with_name(DRAFT.format(name=target.name, token=secrets.token_hex(4)))
        file = open(draft, "xb")  # noqa: SIM115
        if _lock(file) is not False and draft.exists():  # no other process has removed it
            return draft, file
        file.close()


def _remove_unlocked(draft: Path) -> None:
    """Remove a draft unless a process is writing it."""
    with suppress(OSError), open(draft, "rb") as file:
        if _lock(file):
            draft.unlink(missing_ok=True)


def _lock(file: io.BufferedIOBase) -> bool | None:
    """Return whether a file is now locked by this process; None where files have no locks."""
    try:
        import fcntl
    except ImportError:  # Windows removes no file that is open, which is as good
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def check_file(path: FilePath, expected: str) -> None:
    """Raise an error unless a path leads to a regular file, which is not mostly holes.

    Nothing is opened: a pipe or a device would make the reader wait. `expected` says what the file
    is to be.
    """
    if not os.path.isfile(path):
        raise FileNotFoundError(no_file(path, expected))
    check_expansion(path)


def no_file(path: FilePath, expected: str) -> str:
    """Return the message for a path that leads to no file, with the file that may be meant."""
    problem = "is not a regular file" if os.path.lexists(path) else "does not exist"
    folder, name = os.path.split(os.fspath(path))
    folder = os.path.realpath(folder)  # Path.resolve raises an error in a loop of links
    others = set(os.listdir(folder)) - {name} if os.path.isdir(folder) else set()
    near = difflib.get_close_matches(name, sorted(others), n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"{path} {problem}; expected {expected}; check its name (in {folder}){hint}"


def check_expansion(path: FilePath, size: int | None = None) -> None:
    """Raise ValueError if a file holds far more than it takes on the disk.

    Parameters
    ----------
    path : path
    size : int, optional
        Bytes that its content takes when it is read; the size of the file if None. A file may
        consist mostly of holes.

    Raises
    ------
    ValueError
        If it is more than `EXPANDED` bytes, and more than `EXPANSION` times the bytes on disk.
    """
    about = os.stat(path)
    size = about.st_size if size is None else size
    if size <= EXPANDED:
        return
    on_disk = min(about.st_size, getattr(about, "st_blocks", about.st_size) * 512)
    if size > EXPANSION * on_disk and size > EXPANSION * _bytes_of_data(path):
        raise ValueError(
            f"{path} takes {on_disk:,} bytes on the disk and would expand to {size:,} or more; "
            f"expected at most {EXPANDED:,}, or {EXPANSION} times what it takes; write what it "
            "holds without compression and without holes, if you trust it"
        )


def total_memory() -> int:
    """Return the bytes of memory of this machine, or a usual number where it does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 34


def _bytes_of_data(path: FilePath) -> int:
    """Return the bytes of a file outside of holes; some file systems count them late in `stat`."""
    total, end, size = 0, 0, os.stat(path).st_size
    if not hasattr(os, "SEEK_DATA"):
        return size
    with open(path, "rb") as file, suppress(OSError):  # no data after the last hole is an error
        while end < size and EXPANSION * total < size:
            start = os.lseek(file.fileno(), end, os.SEEK_DATA)
            end = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            total += end - start
    return total


@contextmanager
def limit_threads(n_jobs: int | None) -> Iterator[None]:
    """Limit the threads of this block; None sets no limit.

    Blocks of several threads of a process may overlap in any order: see `frobmetric.core.threads`.
    """
    if n_jobs is None:
        yield
        return
    from joblib import effective_n_jobs  # here, because the command line starts without NumPy
    from threadpoolctl import ThreadpoolController

    from ..core.threads import at_most

    if not isinstance(n_jobs, Integral) or not n_jobs:
        raise ValueError(
            f"n_jobs is {n_jobs!r:.80}; expected a number of threads, -1 for all of them, or None"
        )
    n_threads = effective_n_jobs(min(n_jobs, MOST_THREADS))
    # OpenMP has a number for each thread, BLAS one for the process; some BLAS use OpenMP's
    openmp = ThreadpoolController().select(user_api="openmp")
    n_before = max((library.num_threads for library in openmp.lib_controllers), default=n_threads)
    with openmp.limit(limits=min(n_threads, n_before)), at_most(n_threads):
        yield
