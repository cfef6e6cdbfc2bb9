"""What was learned, as a value: the map, its evidence, and explanations of its distances."""

from .explanation import Explanation, SearchExplanation, explain_distance, explain_search

__all__ = ["Explanation", "SearchExplanation", "explain_distance", "explain_search"]
