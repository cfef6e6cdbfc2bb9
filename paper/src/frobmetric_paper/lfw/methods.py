"""The methods that are compared on faces: what each is given, and what is chosen for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace

import numpy as np

from frobmetric.metric.triplets import mine_triplets

from ..rivals import boost, frob, lmnn, lmnn_matrix
from ..rivals.fitted import Fitted
from ..rivals.from_pairs import ITML, LDML
from ..rivals.rival import Rival, named
from .recipe import Recipe

#: Names of what a recipe says; all other parameters are the program's own.
IN_RECIPE = frozenset(item.name for item in fields(Recipe))

#: Triplets that a cell keeps, as rows of images.
N_EXAMPLES = 6


@dataclass(frozen=True)
class Setup:
    """What a method is run with.

    Attributes
    ----------
    recipe : Recipe
    parameters : dict
        Of the program, beside what the recipe says.
    """

    recipe: Recipe
    parameters: Mapping = field(default_factory=dict)

    def changed(self, values):
        """The same with other values: a dictionary of fields of the recipe and of parameters."""
        recipe = {name: value for name, value in values.items() if name in IN_RECIPE}
        own = {name: value for name, value in values.items() if name not in IN_RECIPE}
        return Setup(replace(self.recipe, **recipe), {**self.parameters, **own})

    @classmethod
    def from_texts(cls, recipe, parameters):
        """That of a task."""
        return cls(Recipe.from_text(recipe), json.loads(parameters))


@dataclass(frozen=True)
class Method:
    """A way to a space in which faces are compared.

    Attributes
    ----------
    name, label : str
    learn : callable
        (images, split, setup, limit, threads) -> Fitted, the map being one of their vectors.
    changes : mapping
        What its recipe has in place of the common one.
    given : mapping
        Parameters of its program that are not chosen.
    search : mapping
        What is chosen on View 1: name -> values, that to begin with first. Several names with
        spaces between them are chosen together.
    """

    name: str
    label: str
    learn: Callable
    changes: Mapping = field(default_factory=dict)
    given: Mapping = field(default_factory=dict)
    search: Mapping = field(default_factory=dict)

    @property
    def n_tries(self):
        """Setups that its search tries."""
        return 1 + sum(len(values) - 1 for values in self.search.values())

    def first(self, recipe):
        """The setup that its search begins with."""
        start = Setup(replace(recipe, **self.changes), self.given)
        for names, values in self.search.items():
            start = start.changed(named(names, values[0]))
        return start

    def map(self, images, split, setup, limit, threads):
        """The images in the learned space, and the `Fitted` that led there."""
        fitted = self.learn(images, split, setup, limit, threads)
        return fitted.transform(images.vectors(split, setup.recipe)), fitted


def _nothing(images, split, setup, limit, threads):
    """The vectors as they are: the recipe says all."""
    return Fitted(np.eye(images.vectors(split, setup.recipe).shape[1]), 0.0)


def _from_triplets(rival, names):
    """Learns from triplets; `names` are what its program takes of the recipe."""

    def learn(images, split, setup, limit, threads):
        own = {name: getattr(setup.recipe, name) for name in names} | dict(setup.parameters)
        triplets = images.triplets(split, setup.recipe)
        Z = images.vectors(split, setup.recipe)
        fitted = rival.fit(
            Z[split.known], triplets=triplets, parameters=own, limit=limit, threads=threads
        )
        rows = np.linspace(0, len(triplets) - 1, N_EXAMPLES).astype(int)
        shown = split.known[triplets[rows]].tolist()
        return replace(fitted, detail=fitted.detail | {"examples": shown})

    return learn


def _from_pairs(rival: Rival):
    def learn(images, split, setup, limit, threads):
        pairs, Z = split.known_pairs, images.vectors(split, setup.recipe)
        return rival.fit(
            Z[split.known],
            pairs=(pairs.index, pairs.same),
            parameters=dict(setup.parameters),
            limit=limit,
            threads=threads,
        )

    return learn


def _from_labels(rival: Rival):
    """Learns from the images of people who have several."""

    def learn(images, split, setup, limit, threads):
        rows, Z = split.has_another, images.vectors(split, setup.recipe)
        return rival.fit(
            Z[split.known][rows],
            split.identity[rows],
            parameters=dict(setup.parameters),
            limit=limit,
            threads=threads,
        )

    return learn


def _matrix_from_labels(rival: Rival):
    """Learns from triplets of the images of people who have several."""

    def learn(images, split, setup, limit, threads):
        rows, Z = split.has_another, images.vectors(split, setup.recipe)
        X, y = Z[split.known][rows], split.identity[rows]
        triplets = mine_triplets(X, y, n_neighbors=1, n_impostors=3, warn_small=False)
        own = {"C": setup.recipe.C} | dict(setup.parameters)
        return rival.fit(X, triplets=triplets, parameters=own, limit=limit, threads=threads)

    return learn


PLAIN = {"unit": False, "prior": None}
SIZES = {"n_dimensions": (400, 200, 100), "unit": (False, True)}
EUCLID = Method("euclid", "Euclid", _nothing, PLAIN | {"space": "identity"}, search=SIZES)
WHITENED = Method(
    "whitened",
    "PCA, whitened",
    _nothing,
    PLAIN | {"space": "covariance", "shrink": 0.0},
    search=SIZES,
)
WITHIN = Method(
    "within",
    "PCA, whitened within people",
    _nothing,
    PLAIN | {"space": "within"},
    search=SIZES | {"shrink": (0.1, 0.3, 0.03)},
)
# C means as much in one space as in another only after it was tried: each has its own first one
FROB = Method(
    "frob",
    "FrobMetric",
    _from_triplets(frob.RIVAL, ("C", "prior", "loss")),
    search={
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
# What the paper says: descriptors as they are, PCA and nothing else
PAPER = Method(
    "frob_paper",
    "FrobMetric, the paper's recipe",
    _from_triplets(frob.RIVAL, ("C",)),
    PLAIN | {"root": False, "space": "identity", "shrink": 0.0},
    search={"C": (1e4, 1e3, 1e5), "n_neighbors": (5, 30)},
)
# Above 200 dimensions a fit takes minutes
BOOST = Method(
    "boost",
    "BoostMetric",
    _from_triplets(boost.RIVAL, ("C",)),
    search={"C": (1e3, 1e2, 1e4), "n_dimensions": (100, 200)},
)
LDML_PAIRS = Method("ldml", "LDML", _from_pairs(LDML), search={"n_dimensions": (100, 50, 200)})
ITML_PAIRS = Method(
    "itml",
    "ITML",
    _from_pairs(ITML),
    given={"max_iter": 100},
    search={"gamma": (1.0, 0.1, 10.0), "n_dimensions": (100, 200, 400)},
)
LMNN = Method(
    "lmnn",
    "LMNN",
    _from_labels(lmnn.RIVAL),
    given={"n_neighbors": 1, "learn_rate": 1e-3},
    search={"n_dimensions": (50, 100), "scale": (3.0, 10.0)},
)
LMNN_MATRIX = Method(
    "lmnn_matrix",
    "LMNN, solved for M",
    _matrix_from_labels(lmnn_matrix.RIVAL),
    given={"pull": 1 / 3, "max_iter": 10_000},
    search={"C": (1e3, 1e2, 1e4), "n_dimensions": (200, 100, 400)},
)
#: All of them by name, in the order of the page.
METHODS = {
    method.name: method
    for method in (
        EUCLID,
        WHITENED,
        WITHIN,
        LDML_PAIRS,
        ITML_PAIRS,
        LMNN,
        LMNN_MATRIX,
        BOOST,
        PAPER,
        FROB,
    )
}
