"""Checkpoints: the state of a fit in a file, whole or not at all, with a checksum.

The file has a line with the name and number of the format, a line with the SHA-256 of everything
after it, a line of JSON with the identity of the fit and the types and shapes of the arrays, and
then the bytes of the arrays. Nothing in it is executed.
"""

from __future__ import annotations

import json
import re
import time
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..checks.text import brief
from ..core.warning import warn_user
from .environment import FilePath, check_file, remove_drafts, replacing, target_file

#: Arrays of a state, by name.
Arrays: TypeAlias = dict[str, NDArray[Any]]

FORMAT = 1
#: First line of a file.
TITLE = "frobmetric checkpoint {}\n"
#: Seconds between two states that are written.
SECONDS = 30.0
#: Largest share of the time that writing may take between the stages of a fit.
SHARE = 0.01
#: Errors of a file whose checksum is right and whose content is not.
UNREADABLE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
#: Kinds of numbers that a file can hold.
KINDS = "biuf"
#: Number of 64-bit words that a fingerprint sums up in one.
WORDS = 1 << 14


class Checkpoint:
    """File with the last state of a fit, from which another process can go on.

    A state is a dictionary of arrays of numbers. One fit at a time may use a file.

    Parameters
    ----------
    path : str or Path
    identity : dict of str
        Description of the fit, by name: data by their `fingerprint`, and parameters. A file of a
        fit with another description is refused.
    every : float
        Seconds after which another state is `due`. More pass if writing takes longer than one
        percent of them.

    Raises
    ------
    OSError
        If the path cannot be written to.
    """

    def __init__(self, path: FilePath, identity: dict[str, str], every: float = SECONDS) -> None:
        from .. import __version__

        if not every >= 0:
            raise ValueError(f"checkpoint_seconds={every!r} must be a number of seconds, 0 or more")
        self.path, self.every = target_file(path), every
        self.identity = {"the version of frobmetric": __version__} | identity
        self._written, self._cost, self._has_warned = time.monotonic(), 0.0, False

    def load(self) -> Arrays | None:
        """Return the arrays in the file, or None if there is no file.

        Drafts that a killed process left beside the file are removed.

        Raises
        ------
        ValueError
            If the file is torn, is not a checkpoint, or belongs to another fit.
        """
        remove_drafts(self.path)
        if not self.path.exists():
            return None
        identity, arrays = _read(self.path)
        differences = _differences(identity, self.identity)
        if differences:
            raise ValueError(
                f"the checkpoint {self.path} belongs to another fit: {'; '.join(differences)}. "
                "Give the same data and parameters to go on with it, or delete it to start anew"
            )
        return arrays

    @property
    def due(self) -> bool:
        """Whether the last state was written long ago."""
        return time.monotonic() - self._written >= max(self.every, self._cost / SHARE)

    def save(self, arrays: Arrays) -> None:
        """Write a state in place of the last one; a file that cannot be written only warns."""
        began = time.monotonic()
        try:
            with replacing(self.path) as file:
                for part in _encode(self.identity, arrays):
                    file.write(part)
        except OSError as error:
            self._warn(f"could not be written ({error}); the fit goes on, and will try again")
        self._written = time.monotonic()
        self._cost = self._written - began

    def remove(self) -> None:
        """Remove the file: the fit is complete."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            self._warn(f"could not be removed ({error}); delete it")

    def _warn(self, what: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            warn_user(f"the checkpoint {self.path} {what}")


def fingerprint(*arrays: NDArray[Any]) -> str:
    """Return a text that differs for different arrays: their types, shapes and bytes.

    Words of 64 bits are multiplied by odd numbers and summed in runs, which is as fast as memory;
    the sums are hashed. One changed word always changes the text.

    Examples
    --------
    >>> import numpy as np
    >>> fingerprint(np.arange(3)) == fingerprint(np.arange(3))
    True
    >>> fingerprint(np.arange(3)) == fingerprint(np.arange(4))
    False
    """
    factors = np.random.Generator(np.random.PCG64(0)).integers(2**64, size=WORDS, dtype=np.uint64)
    factors |= np.uint64(1)
    digest = sha256()
    for array in arrays:
        array = np.asarray(array.astype(str) if array.dtype == object else array, order="C")
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        content = array.reshape(-1).view(np.uint8)
        n_runs = len(content) // factors.nbytes
        runs, rest = np.split(content, [n_runs * factors.nbytes])
        digest.update((runs.view(np.uint64).reshape(n_runs, WORDS) @ factors).tobytes())
        digest.update(rest.tobytes())
    return f"#{digest.hexdigest()}"


def _differences(stored: dict[str, str], expected: dict[str, str]) -> list[str]:
    """Return the differences between two descriptions of a fit, as texts."""
    texts = []
    for name in dict.fromkeys([*expected, *stored]):
        old, new = stored.get(name, "none"), expected.get(name, "none")
        if old != new:
            is_value = not (old + new).count("#")
            texts.append(f"{name} was {old} and is {new}" if is_value else f"{name} differs")
    return texts


def _encode(identity: dict[str, str], arrays: Arrays) -> list[bytes | memoryview]:
    """Return the parts of a file."""
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    kinds = [[name, array.dtype.str, array.shape] for name, array in arrays.items()]
    header = json.dumps({"identity": identity, "arrays": kinds}).encode() + b"\n"
    body = [array.reshape(-1).view(np.uint8).data for array in arrays.values()]
    digest = sha256(header)
    for part in body:
        digest.update(part)
    return [TITLE.format(FORMAT).encode(), f"{digest.hexdigest()}\n".encode(), header, *body]


def _read(path: Path) -> tuple[dict[str, str], Arrays]:
    """Return the identity and the arrays in a file."""
    check_file(path, "a checkpoint")
    with open(path, "rb") as file:
        title = file.readline(64)
        found = re.fullmatch(TITLE.format(r"(\d{1,9})").encode(), title)
        if not found:
            raise ValueError(
                f"{path} is no checkpoint of frobmetric; give another name, or delete it"
            )
        if title != TITLE.format(FORMAT).encode():
            raise ValueError(
                f"{path} is a checkpoint of format {int(found[1])}; this version of frobmetric has "
                f"format {FORMAT}. Go on with the version that wrote it, or delete it to start anew"
            )
        digest, content = file.read(65), file.read()
    if digest != f"{sha256(content).hexdigest()}\n".encode():
        raise ValueError(
            f"the checkpoint {path} is torn or damaged: its checksum is wrong. Delete it to start "
            "anew"
        )
    try:
        return _decode(content)
    except UNREADABLE as error:
        raise ValueError(
            f"the checkpoint {path} is damaged: {brief(error)}. Delete it to start anew"
        ) from error


def _decode(content: bytes) -> tuple[dict[str, str], Arrays]:
    """Return the identity and the arrays; nothing is allocated that the file does not hold."""
    line, _, body = content.partition(b"\n")
    header = json.loads(line)
    kinds = [(name, np.dtype(kind), tuple(shape)) for name, kind, shape in header["arrays"]]
    if any(kind.kind not in KINDS or min(shape, default=0) < 0 for _, kind, shape in kinds):
        raise ValueError("it holds something else than arrays of numbers")
    sizes = [kind.itemsize * prod(shape) for _, kind, shape in kinds]
    if sum(sizes) != len(body):
        raise ValueError(f"its arrays need {sum(sizes)} bytes, and it has {len(body)}")
    arrays, start = {}, 0
    for (name, kind, shape), size in zip(kinds, sizes, strict=True):
        array = np.frombuffer(body, kind, prod(shape), start) if size else np.zeros(0, kind)
        arrays[name], start = array.reshape(shape).copy(), start + size
    return header["identity"], arrays
