"""Files of a session: the answers as a table of comparisons, and the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...comparisons import write_comparisons
from ...io import save
from ...io.preparation import TablePreparation
from ...io.text import write_csv
from ...runtime.environment import replacing
from ..tables.reading import read_triplets
from .session import TeachingSession


def save_session(
    session: TeachingSession,
    comparisons: Path,
    model: Path,
    preparation: TablePreparation | None = None,
) -> None:
    """Write the answers and the model, each file whole or not at all; remove both without answers.

    Parameters
    ----------
    session : TeachingSession
    comparisons, model : path
        A csv file with the columns anchor, near and far, and a safetensors file.
    preparation : TablePreparation, optional
        What was done to the columns of the table; the model keeps it for other tables.
    """
    if not session.answers:
        for path in (comparisons, model):
            Path(path).unlink(missing_ok=True)
        return
    with replacing(comparisons) as file:  # first: the model can be learned again from it
        write_csv(file, [("anchor", "near", "far"), *write_comparisons(session.answers).tolist()])
    metric = session.model()
    if preparation is not None:
        metric.preparation_ = preparation
    save(metric, model)


def read_answers(path: Path) -> np.ndarray | tuple[()]:
    """Return the answers in a file of comparisons; none if it does not exist."""
    return read_triplets(path) if Path(path).exists() else ()
