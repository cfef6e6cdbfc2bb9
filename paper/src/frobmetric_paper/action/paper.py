"""What the paper reports of action recognition: of data other than those that are to be had.

The columns have the names of the data that stand in: msr_action3d for KTH, utd_mhad for Weizmann.
"""

from __future__ import annotations

from ..uci import paper as uci_paper

COLUMNS = ("msr_action3d", "utd_mhad")
#: The paper's names of its data.
LABELS = {"msr_action3d": "KTH", "utd_mhad": "Weizmann"}

#: Of 3-NN in percent: mean and standard deviation over ten runs.
ERRORS = {
    "Euclidean": ((10.55, 2.46), (1.14, 0.19)),
    "RCA": ((21.05, 3.86), (3.21, 0.66)),
    "LMNN": ((15.72, 2.57), (0.30, 0.09)),
    "ITML": ((27.67, 1.47), (1.06, 0.16)),
    "BoostMetric": ((7.05, 1.42), (0.85, 0.31)),
    "FrobMetric": ((7.03, 1.46), (0.59, 0.20)),
}
SECONDS = {
    "LMNN": (1023.89, 1343.25),
    "ITML": (1004.94, 368.68),
    "BoostMetric": (4048.67, 1139.02),
    "FrobMetric": (289.58, 169.30),
}
#: What its data were.
SIZES = {
    "samples": (2387, 5594),
    "triplets": (13_761, 35_280),
    "dimension": (500, 286),
    "training": (1529, 3920),
    "test": (858, 1674),
    "classes": (6, 10),
    "runs": (10, 10),
}


def published():
    """The table as row -> column -> Published."""
    return uci_paper.published(ERRORS, SECONDS, COLUMNS)
