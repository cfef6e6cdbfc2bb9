"""The mathematics: cones, constraints, losses, the problem, and the proof of an answer."""

from .cones import PSD, Cone, Nonnegative, NumericalError, Product
from .constraints import Bilinear, NeighborTriplets, Pairs, Quadruplets, Triplets
from .free import AllMatrices
from .losses import AtLeast, AtMost, Equal, Hard, Hinge, Loss, SmoothedHinge, SquaredHinge
from .matrices import Constraints, LowRank, MatrixFree, Sparse
from .problem import FrobeniusSDP
from .solution import CertificateError, certify
from .stacking import Stack

__all__ = [
    "PSD",
    "AllMatrices",
    "AtLeast",
    "AtMost",
    "Bilinear",
    "CertificateError",
    "Cone",
    "Constraints",
    "Equal",
    "FrobeniusSDP",
    "Hard",
    "Hinge",
    "Loss",
    "LowRank",
    "MatrixFree",
    "NeighborTriplets",
    "Nonnegative",
    "NumericalError",
    "Pairs",
    "Product",
    "Quadruplets",
    "SmoothedHinge",
    "Sparse",
    "SquaredHinge",
    "Stack",
    "Triplets",
    "certify",
]
