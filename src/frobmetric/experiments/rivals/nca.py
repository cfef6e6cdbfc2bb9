"""scikit-learn's neighbourhood components analysis at its defaults."""

from .in_python import command
from .rival import Rival

RIVAL = Rival(
    name="nca",
    learns_from="labels",
    needs="scikit-learn, which frobmetric brings",
    command=command("estimator", "sklearn.neighbors:NeighborhoodComponentsAnalysis"),
)
