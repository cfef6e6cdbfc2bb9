"""What `reproduce action` does, once its arguments are read."""

from __future__ import annotations

from dataclasses import asdict

from frobmetric.cli.terminal import live_line, say

from ..table.actions import Annex, reproduce_table, words_of
from .cells import WordsStore, compute_words, find_words
from .experiment import plan
from .page import action_blocks

#: The word of ``--only`` for merging the words of documents.
WORDS = "words"
LATER = "not run yet"


def reproduce_action(output, chosen, methods, *, runs, quick, limit, budget, data, threads):
    """Fill the chosen part of the table of action recognition; see `reproduce_table`.

    Parameters
    ----------
    chosen : list of str
        Names of columns, and `WORDS`; all if empty.
    runs : int, optional
        Of each data set.
    quick : bool
    data : Path, optional
        Folder of the data files.

    Returns
    -------
    Report
    """
    spec = plan(quick=quick, runs=runs, folder=data)
    names = [column.name for column in spec.columns]
    every = [*names, WORDS]
    wanted = chosen or every

    def merge_words(interrupted):
        return _words(output, quick, data, WORDS in wanted, interrupted)

    return reproduce_table(
        spec,
        output,
        chosen=[name for name in names if name in wanted],
        methods=methods,
        limit=limit,
        budget=budget,
        threads=threads,
        annex=merge_words,
        words=words_of(chosen, every, quick=quick, runs=runs, data=data),
    )


def _words(output, quick, data, is_chosen, interrupted):
    """What came of merging words, or why nothing did."""
    store = WordsStore(output / "cells")
    found = find_words(store, quick)
    if found is None and is_chosen and not interrupted:
        try:
            with live_line("merging the words of documents"):
                found = compute_words(store, quick, data)
            say(f"{WORDS}: {len(found)} ways to make bins of words")
        except KeyboardInterrupt:
            interrupted = True
        except (OSError, ValueError) as error:
            say(f"warning: {WORDS} was left out: {error}")
            return Annex(action_blocks(str(error)), {}, interrupted)
    if found is None:
        return Annex(action_blocks(LATER), {}, interrupted)
    return Annex(action_blocks(found), {WORDS: [asdict(each) for each in found]}, interrupted)
