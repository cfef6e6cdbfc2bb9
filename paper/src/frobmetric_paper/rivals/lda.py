"""scikit-learn's linear discriminant analysis as a map to n_classes - 1 dimensions.

Without shrinkage the directions are found by singular value decompositions, which leave out those
in which the classes do not vary; with it the covariance within classes is regular.
"""

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from .in_python import command
from .rival import Rival


def learn(task):
    shrinkage = task["parameters"].get("shrinkage", 0.0)
    options = {"solver": "eigen", "shrinkage": shrinkage} if shrinkage else {"solver": "svd"}
    model = LinearDiscriminantAnalysis(**options).fit(task["X"], task["y"])
    L = model.scalings_[:, : len(model.classes_) - 1]
    return L, {"rank": L.shape[1]}


RIVAL = Rival(
    name="lda",
    label="LDA",
    paper_name="LDA",
    learns_from="labels",
    needs="scikit-learn, which frobmetric brings",
    search={"shrinkage": (0.0, 1e-3, 1e-2, 0.1)},
    command=command("function", f"{__name__}:learn", "sklearn"),
    stays=True,
)
