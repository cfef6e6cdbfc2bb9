"""Maps of embeddings, learned from feedback: the prior is to leave the vectors as they are."""

from .abilities import check_abilities
from .adapter import EmbeddingAdapter
from .bridge.bridge import EncoderBridge
from .feedback.base import TooFewExamplesError
from .feedback.labels import Labels
from .feedback.lists import Clicks, RankedLists
from .feedback.pairs import ComparedTriplets, GradedPairs, SimilarPairs
from .feedback.search import RelevantDocuments
from .fields import weights_table
from .length import quality_by_length
from .query import learn_query_map
from .stored import move_stored
from .structure import learn_structured_map

__all__ = [
    "Clicks",
    "ComparedTriplets",
    "EmbeddingAdapter",
    "EncoderBridge",
    "GradedPairs",
    "Labels",
    "RankedLists",
    "RelevantDocuments",
    "SimilarPairs",
    "TooFewExamplesError",
    "check_abilities",
    "learn_query_map",
    "learn_structured_map",
    "move_stored",
    "quality_by_length",
    "weights_table",
]
