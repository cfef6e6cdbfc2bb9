"""A table as its page, its files and its figures see it: summaries by method and data set."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .spec import TableSpec
from .summary import compare, is_far, summarise
from .table import Result

#: Ours, with which the others are compared.
BASES = ("frob_tuned", "frob")


@dataclass(frozen=True)
class View:
    """Results with the paper's numbers.

    Attributes
    ----------
    spec : TableSpec
    results : list of Result
        In the order of the page.
    methods : list of MetricBaseline
        The rows.
    """

    spec: TableSpec
    results: list[Result]
    methods: list

    @property
    def done(self):
        """The results that have cells."""
        return [result for result in self.results if not result.reason]

    @cached_property
    def summaries(self):
        """Summary by (column, method)."""
        return {
            (result.column.name, method.name): summarise(result.of(method.name))
            for result in self.done
            for method in self.methods
        }

    def summary(self, result, method):
        return self.summaries[result.column.name, method.name]

    def published(self, result, method):
        return self.spec.published(method, result.column.name)

    def is_far(self, result, method):
        """Whether the error is far from the paper's; never in the small version."""
        return not self.spec.quick and is_far(
            self.summary(result, method), self.published(result, method), result.sizes["test"]
        )

    def compared(self, result, method, base):
        """The difference of a method from one of ours, None if they have no run in common."""
        return compare(result.of(method.name), result.of(base))
