"""What `reproduce uci` does, once its arguments are read."""

from __future__ import annotations

from ..table.actions import reproduce_table, words_of
from .experiment import plan


def reproduce_uci(output, chosen, methods, *, runs, quick, limit, budget, data, threads):
    """Fill the chosen part of the paper's Table I; see `reproduce_table`.

    Parameters
    ----------
    runs : int, optional
        Of each set that is split at random.
    quick : bool
    data : Path, optional
        Folder of the data files.

    Returns
    -------
    Report
    """
    spec = plan(quick=quick, runs=runs, folder=data)
    names = [column.name for column in spec.columns]
    return reproduce_table(
        spec,
        output,
        chosen=chosen or names,
        methods=methods,
        limit=limit,
        budget=budget,
        threads=threads,
        words=words_of(chosen, names, quick=quick, runs=runs, data=data),
    )
