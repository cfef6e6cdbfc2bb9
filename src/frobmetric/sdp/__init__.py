"""General semidefinite programs: exact, with a Frobenius term, from files, and nearest matrices."""

from .construct import make_sdp
from .nearest.correlation import nearest_correlation
from .nearest.covariance import nearest_covariance
from .nearest.pairwise import pairwise_correlation
from .norm_bound import solve_norm_bounded
from .sdpa import SDPAError, read_sdpa, write_sdpa
from .solution import certify_sdp
from .solve import solve_sdp

__all__ = [
    "SDPAError",
    "certify_sdp",
    "make_sdp",
    "nearest_correlation",
    "nearest_covariance",
    "pairwise_correlation",
    "read_sdpa",
    "solve_norm_bounded",
    "solve_sdp",
    "write_sdpa",
]
