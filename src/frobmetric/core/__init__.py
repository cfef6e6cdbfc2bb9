"""The mathematics: cones, constraints, losses, the problem, and the proof of an answer."""

from .cones import PSD, Cone, Face, Nonnegative, NumericalError, Product
from .constraints import Bilinear, NeighborTriplets, Pairs, Quadruplets, Scores, Triplets
from .free import AllMatrices
from .losses import AtLeast, AtMost, Equal, Hard, Hinge, Loss, Mixed, SmoothedHinge, SquaredHinge
from .matrices import Constraints, LowRank, MatrixFree, Sparse
from .points import Factored, Point, Unfactored
from .problem import Evaluation, FrobeniusSDP
from .solution import Certificate, CertificateError, Solution, Step, certify
from .stacking import Beside, Stack

__all__ = ["PSD", "AllMatrices", "Cone", "Face", "Nonnegative", "NumericalError", "Product"]
__all__ += [
    "Bilinear",
    "Constraints",
    "NeighborTriplets",
    "Pairs",
    "Quadruplets",
    "Scores",
    "Triplets",
]
__all__ += ["Beside", "LowRank", "MatrixFree", "Sparse", "Stack"]
__all__ += ["Hinge", "Loss", "Mixed", "SmoothedHinge", "SquaredHinge"]
__all__ += ["AtLeast", "AtMost", "Equal", "Hard"]
__all__ += ["Evaluation", "Factored", "FrobeniusSDP", "Point", "Unfactored"]
__all__ += ["Certificate", "CertificateError", "Solution", "Step", "certify"]
