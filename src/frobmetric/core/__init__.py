"""The mathematics: cones, constraints, losses, the problem, and the proof of an answer."""

from .cones import PSD, Cone, Face, Nonnegative, NumericalError, Product
from .constraints import Beside, Constraints, NeighborTriplets, Pairs, Quadruplets, Stack, Triplets
from .losses import AtLeast, AtMost, Equal, Hard, Hinge, Loss, Mixed, SmoothedHinge, SquaredHinge
from .matrices import LowRank, MatrixFree, Sparse
from .points import Factored, Point
from .problem import Evaluation, FrobeniusSDP
from .solution import Certificate, CertificateError, Solution, Step, certify

__all__ = [
    "PSD",
    "AtLeast",
    "AtMost",
    "Beside",
    "Certificate",
    "CertificateError",
    "Cone",
    "Constraints",
    "Equal",
    "Evaluation",
    "Face",
    "Factored",
    "FrobeniusSDP",
    "Hard",
    "Hinge",
    "Loss",
    "LowRank",
    "MatrixFree",
    "Mixed",
    "NeighborTriplets",
    "Nonnegative",
    "NumericalError",
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
