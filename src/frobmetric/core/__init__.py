"""The mathematics: cones, constraints, losses, the problem, and the proof of an answer."""

from .cones import PSD, Factored, Nonnegative, NumericalError, Point, Product
from .constraints import (
    Constraints,
    NeighborTriplets,
    PairDifferences,
    Pairs,
    Quadruplets,
    Sparse,
    Stack,
    Triplets,
)
from .losses import AtLeast, AtMost, Equal, Hinge, Loss, Mixed, SmoothedHinge, SquaredHinge
from .problem import Evaluation, FrobeniusSDP
from .solution import Certificate, CertificateError, Solution, Step, certify

__all__ = [
    "PSD",
    "AtLeast",
    "AtMost",
    "Certificate",
    "CertificateError",
    "Constraints",
    "Equal",
    "Evaluation",
    "Factored",
    "FrobeniusSDP",
    "Hinge",
    "Loss",
    "Mixed",
    "NeighborTriplets",
    "Nonnegative",
    "NumericalError",
    "PairDifferences",
    "Pairs",
    "Point",
    "Product",
    "Quadruplets",
    "SmoothedHinge",
    "Solution",
    "Sparse",
    "SquaredHinge",
    "Stack",
    "Step",
    "Triplets",
    "certify",
]
