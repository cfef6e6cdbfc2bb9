"""What was learned, as a value: the map, its evidence, and explanations of its distances."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # imported on first use: files of models are read without it
    from .explanation import explain_distance, explain_search

__all__ = ["explain_distance", "explain_search"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import explanation

    return getattr(explanation, name)
