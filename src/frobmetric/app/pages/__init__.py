"""HTML pages that need nothing but themselves: the report of a model, and the base of all pages."""

from .model_report import report

__all__ = ["report"]
