"""Methods that are compared on faces, what is chosen for each, and rules that decide pairs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import normalize

from frobmetric.learning.triplets import mine_triplets
from frobmetric.neighbors import MarginalizedKNN, best_threshold

from ..baselines import METRIC, Fitted
from .faces import Recipe

#: Parameters that a recipe has; all others belong to the program.
IN_RECIPE = frozenset(item.name for item in fields(Recipe))
#: Number of triplets that a cell keeps, as rows of images.
N_EXAMPLES = 6
#: Start of the names of rules that count neighbours; their number follows.
COUNTING = "mknn-"
#: Numbers of neighbours to choose from.
NEIGHBORS = (20, 50, 100, 150, 200)


@dataclass(frozen=True)
class Setup:
    """Parameters of a method."""

    recipe: Recipe
    parameters: Mapping = field(default_factory=dict)  # of the program beside the recipe

    def changed(self, values):
        """Return the setup with other values of fields of the recipe and of parameters."""
        recipe = {name: values[name] for name in values if name in IN_RECIPE}
        others = {name: values[name] for name in values if name not in IN_RECIPE}
        return Setup(replace(self.recipe, **recipe), {**self.parameters, **others})

    def to_texts(self):
        """Return recipe and parameters as JSON, the same for equal setups."""
        values = {"recipe": asdict(self.recipe), "parameters": dict(self.parameters)}
        return {name: json.dumps(value, sort_keys=True) for name, value in values.items()}

    @classmethod
    def from_texts(cls, recipe, parameters):
        return cls(Recipe(**json.loads(recipe)), json.loads(parameters))


@dataclass(frozen=True)
class Method:
    """Method that learns a space in which faces are compared."""

    name: str
    label: str
    learn: Callable  # (images, split, setup, limit, threads) -> Fitted of the images' vectors
    changes: Mapping = field(default_factory=dict)  # fields of its recipe that are not as usual
    given: Mapping = field(default_factory=dict)  # fixed parameters of its program
    search: Mapping = field(default_factory=dict)  # as in `MetricBaseline`, chosen on View 1

    def setup(self, recipe, values):
        """Return the setup with these values of its search."""
        return Setup(replace(recipe, **self.changes), self.given).changed(values)

    def map(self, images, split, setup, limit, threads):
        """Return the images in the learned space, and the Fitted that maps them."""
        fitted = self.learn(images, split, setup, limit, threads)
        return fitted.transform(images.vectors(split, setup.recipe)), fitted


def _nothing(images, split, setup, limit, threads):
    """Return the identity, for a method that consists of its recipe."""
    return Fitted(np.eye(images.vectors(split, setup.recipe).shape[1]), 0.0)


def _by(name, select):
    """Learn by a baseline from what `select` returns for (images, split, setup).

    That are arguments of `fit`, and "examples" for the detail.
    """

    def learn(images, split, setup, limit, threads):
        given = {"parameters": {}, "examples": {}} | select(images, split, setup)
        given["parameters"] |= dict(setup.parameters)
        examples = given.pop("examples")
        fitted = METRIC[name].fit(**given, limit=limit, threads=threads)
        return replace(fitted, detail=fitted.detail | examples)

    return learn


def _triplets(*names):
    """Select triplets; `names` are the fields of the recipe that the program takes."""

    def select(images, split, setup):
        triplets = images.triplets(split, setup.recipe)
        rows = np.linspace(0, len(triplets) - 1, N_EXAMPLES).astype(int)
        return {
            "X": images.vectors(split, setup.recipe)[split.known],
            "triplets": triplets,
            "parameters": {name: getattr(setup.recipe, name) for name in names},
            "examples": {"examples": split.known[triplets[rows]].tolist()},
        }

    return select


def _pairs(images, split, setup):
    pairs, Z = split.known_pairs, images.vectors(split, setup.recipe)
    return {"X": Z[split.known], "pairs": (pairs.index, np.where(pairs.same, 1, -1))}


def _labels(images, split, setup):
    """Select the images of people who have several."""
    rows, Z = split.has_another, images.vectors(split, setup.recipe)
    return {"X": Z[split.known][rows], "y": split.identity[rows]}


def _mined_triplets(images, split, setup):
    """Select triplets of the images of people who have several."""
    given = _labels(images, split, setup)
    triplets = mine_triplets(*given.values(), n_neighbors=1, n_impostors=3, warn_small=False)
    return {"X": given["X"], "triplets": triplets, "parameters": {"C": setup.recipe.C}}


PLAIN = {"unit": False, "prior": None}
SIZES = {"n_dimensions": (400, 200, 100), "unit": (False, True)}
FROB = Method(
    "frob",
    "FrobMetric",
    _by("frob", _triplets("C", "prior", "loss")),
    search={
        # a value of C means something else in each space, so each begins with its own
        "space shrink unit C": (
            ("within", 0.1, True, 300.0),
            ("within", 0.1, False, 300.0),
            ("covariance", 0.0, True, 100.0),
            ("identity", 0.0, False, 1e4),
        ),
        "root": (True, False),
        "C": (300.0, 100.0, 1e3, 3e3),
        "n_neighbors": (20, 5, 10, 30),
        "shrink": (0.1, 0.3, 0.03),
        "prior": (None, "identity"),
    },
)
_ALL = (
    Method("euclid", "Euclid", _nothing, PLAIN | {"space": "identity"}, search=SIZES),
    Method(
        "whitened",
        "PCA, whitened",
        _nothing,
        PLAIN | {"space": "covariance", "shrink": 0.0},
        search=SIZES,
    ),
    Method(
        "within",
        "PCA, whitened within people",
        _nothing,
        PLAIN | {"space": "within"},
        search=SIZES | {"shrink": (0.1, 0.3, 0.03)},
    ),
    Method("ldml", "LDML", _by("ldml", _pairs), search={"n_dimensions": (100, 50, 200)}),
    Method(
        "itml",
        "ITML",
        _by("itml_pairs", _pairs),
        given={"max_iter": 100},
        search={"gamma": (1.0, 0.1, 10.0), "n_dimensions": (100, 200, 400)},
    ),
    Method(
        "lmnn",
        "LMNN",
        _by("lmnn", _labels),
        given={"n_neighbors": 1, "learn_rate": 1e-3},
        search={"n_dimensions": (50, 100), "scale": (3.0, 10.0)},
    ),
    Method(
        "lmnn_matrix",
        "LMNN, solved for M",
        _by("lmnn_matrix", _mined_triplets),
        given={"pull": 1 / 3, "max_iter": 10_000},
        search={"C": (1e3, 1e2, 1e4), "n_dimensions": (200, 100, 400)},
    ),
    # above 200 dimensions a fit takes minutes
    Method(
        "boost",
        "BoostMetric",
        _by("boost", _triplets("C")),
        search={"C": (1e3, 1e2, 1e4), "n_dimensions": (100, 200)},
    ),
    # as the paper says: descriptors as they are, PCA and nothing else
    Method(
        "frob_paper",
        "FrobMetric, the paper's recipe",
        _by("frob", _triplets("C")),
        PLAIN | {"root": False, "space": "identity", "shrink": 0.0},
        search={"C": (1e4, 1e3, 1e5), "n_neighbors": (5, 30)},
    ),
    FROB,
)
#: All methods by name, in the order of the page.
METHODS = {method.name: method for method in _ALL}


# Rules


def score(W, split, pairs, neighbors=NEIGHBORS):
    """Return scores of pairs by each rule, from images W in the learned space.

    The higher, the more alike. The mean of the known images of the split is the origin of cosines,
    and their mean squared distance from it the unit of distances. Marginalised k-NN counts
    neighbours among the known images. The more images are known, the rarer do neighbours of two
    images show one person: the probability is multiplied by their number, or a threshold from fewer
    images would be too high.
    """
    W = W - W[split.known].mean(axis=0)
    size = np.sqrt(np.square(W[split.known]).sum(axis=1).mean())
    W = W / size if size else W
    first, second = W[pairs.index[:, 0]], W[pairs.index[:, 1]]
    scores = {
        "distance": -np.square(first - second).sum(axis=1),
        "cosine": (normalize(first) * normalize(second)).sum(axis=1),
    }
    for k in neighbors:
        model = MarginalizedKNN(n_neighbors=k).fit(W[split.known], split.identity)
        scores[f"{COUNTING}{k}"] = len(split.known) * model.pair_score(W[pairs.index])
    return scores


def decide(scores, same, held_out, held_out_same):
    """Evaluate a rule with the best threshold for pairs that were not learned from.

    Return the "accuracy", the share of test pairs decided right; the "area" below their ROC; the
    "threshold", from which on scores are called one person; and "held_out", the share of held-out
    training pairs decided right.
    """
    threshold, _ = best_threshold(held_out, np.where(held_out_same, 1, -1))
    return {
        "accuracy": float(np.mean((scores >= threshold) == same)),
        "area": float(roc_auc_score(same, scores)),
        "threshold": threshold,
        "held_out": float(np.mean((held_out >= threshold) == held_out_same)),
    }
