"""General semidefinite programs: exact, with a Frobenius term, from files, and nearest matrices."""

from ..solvers.plain import SDPStep
from .construct import make_sdp
from .nearest import NearestMatrix
from .nearest.correlation import nearest_correlation
from .nearest.covariance import nearest_covariance
from .nearest.pairwise import PairwiseCorrelation, pairwise_correlation
from .norm_bound import solve_norm_bounded
from .rays import Ray
from .sdpa import SDPAAnswer, SDPAError, read_sdpa, write_sdpa
from .solution import SDPCertificate, SDPSolution, certify_sdp
from .solve import solve_sdp

__all__ = ["NearestMatrix", "nearest_correlation", "nearest_covariance"]
__all__ += ["PairwiseCorrelation", "pairwise_correlation"]
__all__ += ["SDPAAnswer", "SDPAError", "read_sdpa", "write_sdpa"]
__all__ += ["Ray", "SDPCertificate", "SDPSolution", "SDPStep", "certify_sdp"]
__all__ += ["make_sdp", "solve_norm_bounded", "solve_sdp"]
