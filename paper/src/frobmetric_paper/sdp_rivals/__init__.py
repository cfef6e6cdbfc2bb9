"""Programs that solve SDPA files as well: one file and one interface each, all of them real."""

import numpy as np

from ..rivals.processes import RivalFailed, RivalMissing, TimeLimitExceeded
from . import csdp, sdpa
from .conic import conic_rival
from .sdp_rival import SDPAnswer, SDPRival

#: Every one of them by name.
SDP_RIVALS = {
    rival.name: rival
    for rival in (
        conic_rival("clarabel", np.tril_indices),
        csdp.RIVAL,
        conic_rival("scs", np.triu_indices),
        sdpa.RIVAL,
    )
}

__all__ = [
    "SDP_RIVALS",
    "RivalFailed",
    "RivalMissing",
    "SDPAnswer",
    "SDPRival",
    "TimeLimitExceeded",
]
