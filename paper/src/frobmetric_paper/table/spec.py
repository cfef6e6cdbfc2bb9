"""A table of the paper: its columns, its numbers, and what is known of differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .table import Column


@dataclass(frozen=True)
class Published:
    """What the paper has in a cell.

    Attributes
    ----------
    error, std : float, optional
        In percent; std is None for a single run.
    seconds : float, optional
    is_bound : bool
        Whether it took less than these seconds.
    """

    error: float | None = None
    std: float | None = None
    seconds: float | None = None
    is_bound: bool = False


@dataclass(frozen=True)
class TableSpec:
    """All that a page needs beside the results.

    Attributes
    ----------
    name : str
        The word after ``frobmetric reproduce``.
    title : str
    introduction : tuple of str
        Paragraphs.
    columns : tuple of Column
        In the order of the page.
    work : tuple of str
        Their names in the order of work, the cheap ones first.
    paper : mapping
        Name of a row -> name of a column -> Published. A row is a method's `paper_name`, or its
        `name` where that is empty.
    explanations : mapping
        What is known of differences from the paper: (method, column), or a method, or a column
        -> sentences.
    quick : bool
        Whether this is the small version.
    """

    name: str
    title: str
    introduction: tuple[str, ...]
    columns: tuple[Column, ...]
    work: tuple[str, ...]
    paper: Mapping[str, Mapping[str, Published]]
    explanations: Mapping = field(default_factory=dict)
    quick: bool = False

    def published(self, rival, column):
        """What the paper has of a method on a data set; None if nothing."""
        return self.paper.get(rival.paper_name or rival.name, {}).get(column)

    def explain(self, method, column):
        """Sentences on a difference, the most special first; empty if nothing is known."""
        keys = ((method, column), method, column)
        return " ".join(self.explanations[key] for key in keys if key in self.explanations)

    @property
    def in_order_of_work(self):
        """The columns, the cheap ones first."""
        return sorted(self.columns, key=lambda column: self.work.index(column.name))
