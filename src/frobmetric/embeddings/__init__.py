"""Maps of embeddings, learned from feedback: the prior is to leave the vectors as they are."""

from .abilities import AbilityReport, check_abilities
from .adapter import EmbeddingAdapter
from .bridge import EncoderBridge
from .feedback import (
    Cleaning,
    Clicks,
    ComparedTriplets,
    Feedback,
    GradedPairs,
    Labels,
    RankedLists,
    RelevantDocuments,
    SimilarPairs,
    TooFewExamplesError,
)
from .fields import WeightsTable, weights_table
from .length import LengthTable, quality_by_length
from .maps import LearnedMap
from .query import learn_query_map
from .report import AdapterReport
from .stored import StoredVectors, move_stored
from .structure import learn_structured_map

__all__ = ["AbilityReport", "AdapterReport", "Cleaning", "Clicks", "ComparedTriplets"]
__all__ += ["EmbeddingAdapter", "EncoderBridge", "Feedback", "GradedPairs", "Labels", "LearnedMap"]
__all__ += ["LengthTable", "RankedLists", "RelevantDocuments", "SimilarPairs"]
__all__ += ["StoredVectors", "TooFewExamplesError", "WeightsTable", "check_abilities"]
__all__ += ["learn_query_map", "learn_structured_map", "move_stored", "quality_by_length"]
__all__ += ["weights_table"]
