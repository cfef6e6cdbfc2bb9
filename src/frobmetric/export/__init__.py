"""Maps in the form of other programs: arrays, graphs, indexes, SQL and snippets for databases."""

from .databases import dimension_snippet, search_snippet
from .formats import export, export_recall, exported_map, register_onnx
from .sql import map_function

__all__ = [
    "dimension_snippet",
    "export",
    "export_recall",
    "exported_map",
    "map_function",
    "register_onnx",
    "search_snippet",
]
