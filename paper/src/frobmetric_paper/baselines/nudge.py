"""NUDGE (nudge-ft): moves the vectors of documents, and leaves those of queries as they are."""

from __future__ import annotations

from ..harness.worker import Target
from .cookbook import ENVIRONMENT, PROGRAMS
from .maps import MapBaseline

#: NUDGE-N keeps unit length; gamma bounds the squared step, and the package tries 0 to 0.48.
#: NUDGE-M makes steps of length gamma, and documents are compared by the inner product.
FAMILIES = (
    {"variant": "NUDGEN", "strengths": (0.0, 0.02, 0.06, 0.12, 0.24, 0.48)},
    {"variant": "NUDGEM", "strengths": (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)},
)

BASELINES = (
    MapBaseline(
        name="nudge",
        label="NUDGE",
        target=Target(f"{PROGRAMS}:move_documents", ("torch", "nudge"), ENVIRONMENT.python),
        learns_from="answers",
        families=FAMILIES,
        missing=ENVIRONMENT.missing,
        install=ENVIRONMENT.install,
    ),
)
