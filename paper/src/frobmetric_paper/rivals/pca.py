"""The Euclidean distance of the features that the paper's PCA leaves: nothing more is learned."""

from .euclid import learn
from .in_python import command
from .rival import Rival

RIVAL = Rival(
    name="pca",
    label="PCA",
    paper_name="PCA",
    learns_from="labels",
    needs="nothing",
    command=command("function", f"{learn.__module__}:learn"),
    stays=True,
)
