"""Finished cells of a table, one JSON file each, kept as soon as they are there.

A run that was interrupted finds what is finished, and goes on from there.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import ClassVar

import numpy as np

from frobmetric._atomic import replacing

from .worker import ProgramFailedError, ProgramMissingError, TimeLimitError

#: How a method can end without an answer.
ENDINGS = {TimeLimitError: "limit", ProgramMissingError: "missing", ProgramFailedError: "failed"}
#: The same for `except`.
ENDED = tuple(ENDINGS)


class Settling:
    """What a cell is asked: it has a `task`, an `outcome` and a `limit` in seconds."""

    @property
    def is_done(self):
        return self.outcome == "done"

    @property
    def is_complete(self):
        """Whether more time would add nothing."""
        return self.is_done

    def settles(self, task, limit):
        """Whether nothing is to be gained by doing this task again."""
        ended = self.outcome in ("done", "limit") and self.limit >= limit
        return self.task == task and (ended or self.is_complete)


@dataclass(frozen=True)
class CellStore:
    """A folder of finished cells; a kind of cells names its two classes.

    Both are data classes. A task has a `file_name`; a cell has a `task` and is `Settling`.
    """

    folder: object
    cell_type: ClassVar[type]
    task_type: ClassVar[type]

    def find(self, task, limit):
        """The finished cell of a task; None if there is none."""
        try:
            found = json.loads((self.folder / task.file_name).read_text(encoding="utf-8"))
            cell = self.cell_type(**found | {"task": self.task_type(**found["task"])})
        except (OSError, ValueError, TypeError, KeyError):  # absent, or none of ours: done anew
            return None
        return cell if cell.settles(task, limit) else None

    def keep(self, cell):
        """Write a cell, if it is not to be tried again next time."""
        if cell.outcome in ("done", "limit"):
            self.folder.mkdir(parents=True, exist_ok=True)
            with replacing(self.folder / cell.task.file_name) as file:
                file.write(json.dumps(asdict(cell), allow_nan=False).encode())


def task_digest(task, size):
    """Letters, two for each of `size`, by which tasks that differ in anything are told apart."""
    return blake2b(json.dumps(asdict(task)).encode(), digest_size=size).hexdigest()


def checksum(*arrays):
    """The same for equal arrays, as 16 letters."""
    digest = blake2b(digest_size=8)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def ending(error):
    """Outcome and remark of a method that ended without an answer, by one of `ENDED`."""
    outcome = next(word for kind, word in ENDINGS.items() if isinstance(error, kind))
    return outcome, last_line(error) if outcome == "failed" else str(error)


def last_line(error):
    """What a traceback ends with, or a short message as it is."""
    return (str(error).strip().splitlines() or [type(error).__name__])[-1]
