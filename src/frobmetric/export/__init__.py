"""Maps in the form of other programs: arrays, graphs, indexes, SQL and snippets for databases."""

from .databases import dimension_snippet, search_snippet
from .formats import export, export_recall
from .sql import map_function

__all__ = ["dimension_snippet", "export", "export_recall", "map_function", "search_snippet"]
