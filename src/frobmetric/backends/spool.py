"""Values whose arrays are in files: a process holds them only while it works on them."""

from __future__ import annotations

import mmap
import pickle
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import ref

#: Bytes from which on the arrays of a value are worth a place in a file.
LEAST = 1 << 12
#: Bytes from which on a file takes no more values: few files are open, and few bytes of them idle.
ENOUGH = 1 << 28
#: First byte and number of bytes of each array of a value.
Places = tuple[tuple[int, int], ...]


class Spool:
    """File without a name for arrays; it vanishes with the last value that has some in it.

    Parameters
    ----------
    folder : path, optional
        That of the system if None.
    """

    def __init__(self, folder: Any = None) -> None:
        self.file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self.folder = folder

    def __del__(self) -> None:
        if hasattr(self, "file"):  # the folder could be written to
            self.file.close()

    @property
    def size(self) -> int:
        """Number of bytes, of which a map may begin after the last."""
        return self.file.seek(0, 2)

    def write(self, arrays: list[memoryview]) -> tuple[int, Places]:
        """Append arrays; return where the first begins, and where each is from there on."""
        start, places = self.size, []
        try:
            for view in arrays:
                places.append((self.file.tell() - start, view.nbytes))
                self.file.write(view)
                self.file.seek(-self.file.tell() % 64, 1)  # arrays begin where their numbers may
            self.file.truncate(self.file.tell() + -self.file.tell() % mmap.ALLOCATIONGRANULARITY)
            self.file.flush()
        except OSError:  # the disk is full
            self.file.truncate(start)
            raise
        return start, tuple(places)


class Spools:
    """Spools in a folder, one after the other, for all threads of a process.

    Parameters
    ----------
    folder : path, optional
        That of the system if None.
    least : int
        Bytes from which on the arrays of a value are worth a place in a file.
    """

    def __init__(self, folder: Any = None, least: int = LEAST) -> None:
        self.folder, self.least, self._lock = folder, least, Lock()
        self._last: Callable[[], Spool | None] = lambda: None

    def store(self, value: Any) -> Stored | Packed:
        """Return the value as `Stored`, or as `Packed` if its arrays are small."""
        buffers: list[Any] = []
        frame = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        arrays = [buffer.raw() for buffer in buffers]
        if sum(view.nbytes for view in arrays) < self.least:
            return Packed(pickle.dumps(value, protocol=5))
        with self._lock:
            spool = self._last()
            if spool is None or spool.size >= ENOUGH:
                spool = Spool(self.folder)
                self._last = ref(spool)
            return Stored(spool, frame, *spool.write(arrays))


@cache
def spools(folder: str | None) -> Spools:
    """Return the spools of this process in a folder."""
    return Spools(folder)


class Stored:
    """Value in a spool; each `load` maps its arrays anew, for as long as they are used.

    A copy in another process is in a file there.
    """

    def __init__(self, spool: Spool, frame: bytes, start: int, places: Places) -> None:
        self._spool, self._frame, self._start, self._places = spool, frame, start, places

    def load(self) -> Any:
        """Return the value; its arrays are read-only."""
        first, size = self._places[-1]
        file, options = self._spool.file, {"access": mmap.ACCESS_READ, "offset": self._start}
        mapped = memoryview(mmap.mmap(file.fileno(), first + size, **options))
        views = [mapped[start : start + size] for start, size in self._places]
        return pickle.loads(self._frame, buffers=views)

    @property
    def n_bytes(self) -> int:
        """Bytes of the arrays."""
        return sum(size for _, size in self._places)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _store_anew, (self.load(), self._spool.folder)


class Packed:
    """Value with small arrays, as bytes.

    Arrays that Dask receives are views of the whole message. An empty one would keep the message in
    memory; bytes are copied out of it.
    """

    n_bytes = 0

    def __init__(self, frame: bytes) -> None:
        self._frame = frame

    def load(self) -> Any:
        """Return the value."""
        return pickle.loads(self._frame)


def _store_anew(value: Any, folder: Any) -> Any:
    # another machine may not have that folder
    return spools(folder if folder and Path(folder).is_dir() else None).store(value)


def loaded(value: Any) -> Any:
    """Return a value that may be stored."""
    return value.load() if isinstance(value, Stored | Packed) else value


def stored(values: Iterable[Any], spool: Spools | None) -> tuple[Any, ...]:
    """Return values in a spool, if there is one."""
    return tuple(values) if spool is None else tuple(map(spool.store, values))
