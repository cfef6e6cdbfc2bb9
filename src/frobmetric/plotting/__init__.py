"""Figures of metrics, paths and embeddings, in the manner of scikit-learn's displays."""

from .bridge import TrustDisplay
from .comparison import ComparisonDisplay
from .embedding import EmbeddingDisplay, SpectrumDisplay
from .explanation import ExplanationDisplay
from .length import LengthDisplay
from .metric import MetricDisplay
from .neighbors import NeighborsDisplay
from .path import PathDisplay
from .quality import QualityDisplay

__all__ = [
    "ComparisonDisplay",
    "EmbeddingDisplay",
    "ExplanationDisplay",
    "LengthDisplay",
    "MetricDisplay",
    "NeighborsDisplay",
    "PathDisplay",
    "QualityDisplay",
    "SpectrumDisplay",
    "TrustDisplay",
]
