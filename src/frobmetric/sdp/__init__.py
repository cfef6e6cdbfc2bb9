"""General semidefinite programs: exact, with a Frobenius term, from files, and nearest matrices."""

from .certificate import SDPCertificate, certify_sdp
from .sdpa import SDPAError, read_sdpa, write_sdpa
from .solve import SDPSolution, solve_sdp

__all__ = [
    "SDPAError",
    "SDPCertificate",
    "SDPSolution",
    "certify_sdp",
    "read_sdpa",
    "solve_sdp",
    "write_sdpa",
]
