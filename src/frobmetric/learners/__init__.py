"""Learners of other methods by their known names, most of them with a certificate."""

from .closed_form import LFDA, RCA, Covariance, RCA_Supervised
from .gmml import GMML, GMML_Supervised
from .itml import ITML, ITML_Supervised
from .lmnn import LMNN
from .lsml import LSML, LSML_Supervised
from .mlkr import MLKR
from .mmc import MMC, MMC_Supervised
from .nca import NCA
from .scml import SCML, SCML_Supervised
from .sdml import SDML, SDML_Supervised

__all__ = [
    "GMML",
    "ITML",
    "LFDA",
    "LMNN",
    "LSML",
    "MLKR",
    "MMC",
    "NCA",
    "RCA",
    "SCML",
    "SDML",
    "Covariance",
    "GMML_Supervised",
    "ITML_Supervised",
    "LSML_Supervised",
    "MMC_Supervised",
    "RCA_Supervised",
    "SCML_Supervised",
    "SDML_Supervised",
]
