"""General semidefinite programs: exact, with a Frobenius term, from files, and nearest matrices."""

from ..solvers.plain import SDPStep
from .construct import make_sdp
from .infeasibility import Ray
from .nearest import NearestMatrix
from .nearest.correlation import nearest_correlation
from .nearest.covariance import nearest_covariance
from .norm_bound import solve_norm_bounded
from .sdpa import SDPAAnswer, SDPAError, read_sdpa, write_sdpa
from .solution import SDPCertificate, SDPSolution, certify_sdp
from .solve import solve_sdp

__all__ = [
    "NearestMatrix",
    "Ray",
    "SDPAAnswer",
    "SDPAError",
    "SDPCertificate",
    "SDPSolution",
    "SDPStep",
    "certify_sdp",
    "make_sdp",
    "nearest_correlation",
    "nearest_covariance",
    "read_sdpa",
    "solve_norm_bounded",
    "solve_sdp",
    "write_sdpa",
]
