"""Methods that embed points in few dimensions: one file and one interface each."""

from . import isomap, lle
from .csdp import CSDP_ORIGINAL, CSDP_WELL_POSED
from .embedder import Embedded, Embedder
from .ours import EXACT, perturbed, power

ISOMAP, LLE = isomap.EMBEDDER, lle.EMBEDDER

__all__ = [
    "CSDP_ORIGINAL",
    "CSDP_WELL_POSED",
    "EXACT",
    "ISOMAP",
    "LLE",
    "Embedded",
    "Embedder",
    "perturbed",
    "power",
]
