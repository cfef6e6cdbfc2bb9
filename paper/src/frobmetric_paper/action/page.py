"""What the page of action recognition has beside its table: the paper's numbers, merged words."""

from __future__ import annotations

from ..harness.page import Heading, Paragraph, Table
from ..table.words import NOTHING, percent, seconds
from . import paper as action_paper
from .texts import BOTTLENECK, PAPER


def action_blocks(words):
    """What the page has beside its table.

    Parameters
    ----------
    words : list of Merged or str
        What came of merging words, or why nothing did.

    Returns
    -------
    list of blocks of `reproduce_page`
    """
    return [*_paper(), *_bottleneck(words)]


def _paper():
    yield Heading("The paper's numbers, of other data")
    yield Paragraph(PAPER)
    labels = [action_paper.LABELS[name] for name in action_paper.COLUMNS]
    sizes = [[name, *(f"{n:,}" for n in row)] for name, row in action_paper.SIZES.items()]
    yield Table(["", *labels], sizes, "The paper's data.")
    header = [
        "method",
        *(f"{label}, error" for label in labels),
        *(f"{label}, time" for label in labels),
    ]
    rows = [_paper_row(name, row) for name, row in action_paper.published().items()]
    yield Table(header, rows, "Percent, with the standard deviation over runs; seconds.")


def _paper_row(name, row):
    cells = [row[column] for column in action_paper.COLUMNS]
    return [
        name,
        *(percent(cell.error, cell.std) for cell in cells),
        *(seconds(cell.seconds) for cell in cells),
    ]


def _bottleneck(words):
    yield Heading("Words merged by the information bottleneck")
    yield Paragraph(BOTTLENECK)
    if isinstance(words, str):
        yield Paragraph(f"Left out: {words}")
        return
    rows = [
        [each.way, f"{each.n_bins:,}", f"{each.information:.1%}", percent(each.error)]
        for each in words
    ]
    header = ["bins", "number", "information left", "3-NN error, %"]
    yield Table(header, rows or [[NOTHING] * 4], "Reuters R8.")
