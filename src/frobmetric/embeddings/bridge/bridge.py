"""EncoderBridge: queries of a new encoder search the index of an old one, with a trust score."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ...checks.parameters import (
    FLAG,
    NONE,
    NOT_NEGATIVE,
    POSITIVE,
    SEED,
    Rule,
    check_parameters,
    choice,
    integer,
)
from ...checks.samples import DTYPES, SampleReader, validate_data
from ...core.solution import Certificate
from ...model.fitted import Fitted
from ...model.shell import FittedShell
from .choice import Bridge, BridgeReport
from .encoder_map import EncoderMap
from .learn import learn_bridge
from .paired import BridgeRecipe, FitData, as_old_vectors
from .trust import OldIndex, TrustScore

SHARE = Rule("a share, at least 0 and below 1", lambda v: NOT_NEGATIVE.is_met(v) and v < 1)


class EncoderBridge(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FittedShell):
    """Map from the space of a new encoder to that of an old one, for searching an old index.

    Learned from texts that both encoders have embedded. With features f of a new vector it
    minimises

        Σ_i |y_i - W f_i|² / 2 + penalty |W - prior|² / 2 + weight Σ_t max(0, target_t - score_t),

    where a triplet t is a query, a true old neighbour of it and a wrong old vector near the mapped
    query, and score_t how much nearer the mapped query is to the true one. The features are the
    vector itself, or besides a copy for its cell of k-means, which makes a map for each cell. All
    is chosen by the recall of held-out pairs: the strength of the penalty along the whole path in
    closed form, and whether local maps and the triplets find more.

    A part of the pairs takes no part in all this. On it the score of `trust` is calibrated. A fit
    leaves one value, `map_`, which does not depend on parameters that change later.

    Parameters
    ----------
    n_maps : int, default=8
        Number of local maps that are tried beside one common map; 1 tries none.
    strength : float, default=None
        Penalty, relative to the mean squared singular value of the new vectors. None chooses.
    neighbor_weight : float, default=None
        Weight of the triplets of a pair, relative to its squared error; 0 for none. None chooses.
    prior : {"zero", "rotation", "identity"}, default="zero"
        Map that the penalty pulls to: none; the best rotation (orthogonal Procrustes), for
        encoders that differ by little else; the identity, padded with zeros, for two versions of
        one encoder.
    n_neighbors : int, default=10
        Number of neighbours whose recall is measured.
    unit_length : bool, default=True
        Whether vectors are scaled to unit length, before and after mapping: search by cosine. If
        not, search is by Euclidean distance. A zero vector stays zero.
    calibration : float, default=0.2
        Share of the pairs that are kept for `trust` and `report_`; 0 for neither.
    good_recall : float, default=0.5
        Recall below which a query is bad, for `trust`.
    tol : float, default=1e-3
        Relative duality gap at which the fit with triplets ends.
    max_iter : int, default=500
        Largest number of steps of a fit with triplets.
    random_state : int or RandomState, default=None
        Seed of k-means, of the calibration pairs and of the held-out pairs.

    Attributes
    ----------
    map_ : EncoderMap
        The value of the fit, of which the other attributes are read-only parts.
    bridge_ : Bridge
        Map of scaled vectors: cells, coefficients and setting.
    index_ : OldIndex
        Scaled old vectors in which recall is measured.
    new_scale_, old_scale_ : float
        Numbers that new and old vectors are divided by; 1 with `unit_length`.
    certificate_ : Certificate
        Duality gap of the problem above, for the chosen setting. With triplets the objective is
        counted from that of the ridge map.
    report_ : BridgeReport
        What was chosen, and the recall on the calibration pairs; `print` shows it.
    trust_ : TrustScore
        Score and calibration of `trust`; absent if `calibration` is 0.
    status_ : str
        Reason why the fit ended; "optimal" if certified to `tol`.
    n_iter_ : int
        Number of steps of the solver; 1 for the closed form.
    n_features_in_ : int
        Number of features of the new vectors.
    feature_names_in_ : ndarray of str
        Names of the features, if X has them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from frobmetric.embeddings import EncoderBridge
    >>> X, _ = load_digits(return_X_y=True)
    >>> old, new = X[:, ::2], np.tanh(X[:, :48] / 16)
    >>> bridge = EncoderBridge(n_maps=1, random_state=0).fit(new[:600], old[:600], index=old[600:])
    >>> bridge.transform(new[1000:]).shape
    (797, 32)
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_maps": integer(1),
        "strength": POSITIVE | NONE,
        "neighbor_weight": NOT_NEGATIVE | NONE,
        "prior": choice(["zero", "rotation", "identity"]),
        "n_neighbors": integer(1),
        "unit_length": FLAG,
        "calibration": SHARE,
        "good_recall": Rule("in (0, 1]", lambda v: POSITIVE.is_met(v) and v <= 1),
        "tol": POSITIVE,
        "max_iter": integer(1),
        "random_state": SEED | NONE,
    }

    map_: EncoderMap
    _needs: ClassVar[dict[str, type]] = {
        "bridge": Bridge,
        "index": OldIndex,
        "report": BridgeReport,
    }
    bridge_ = Fitted[Bridge]("bridge")
    index_ = Fitted[OldIndex]("index")
    new_scale_ = Fitted[float]("new_scale")
    old_scale_ = Fitted[float]("old_scale")
    certificate_ = Fitted[Certificate]("bridge.certificate")
    report_ = Fitted[BridgeReport]("report")
    trust_ = Fitted[TrustScore]("trust")
    status_ = Fitted[str]("bridge.status")
    n_iter_ = Fitted[int]("bridge.n_iter")

    def __init__(
        self,
        *,
        n_maps: int = 8,
        strength: float | None = None,
        neighbor_weight: float | None = None,
        prior: str = "zero",
        n_neighbors: int = 10,
        unit_length: bool = True,
        calibration: float = 0.2,
        good_recall: float = 0.5,
        tol: float = 1e-3,
        max_iter: int = 500,
        random_state: Any = None,
    ) -> None:
        self.n_maps = n_maps
        self.strength = strength
        self.neighbor_weight = neighbor_weight
        self.prior = prior
        self.n_neighbors = n_neighbors
        self.unit_length = unit_length
        self.calibration = calibration
        self.good_recall = good_recall
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, index: Any = None) -> Self:
        """Learn the map from pairs of vectors of the same texts.

        Parameters
        ----------
        X : array-like of shape (n_pairs, n_new)
            Vectors of the new encoder.
        y : array-like of shape (n_pairs, n_old)
            Vectors of the old encoder, of the same texts.
        index : array-like of shape (n_index, n_old), optional
            Old vectors to be searched, or a sample of them: recall is measured in it, and wrong
            neighbours are taken from it. Without it, the old vectors of the pairs that are fitted
            take its place; they lie less dense than those of a large index. A vector that equals
            the old vector of a pair is not counted as a neighbour of that pair.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        recipe = BridgeRecipe(**self.get_params(deep=False))
        reader = SampleReader(type(self).__name__, get_tags(self))
        return self._store(learn_bridge(recipe, FitData.check(reader, recipe, X, y, index)))

    def transform(self, X: Any) -> np.ndarray:
        """Map new vectors to the old space.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_new)

        Returns
        -------
        ndarray of shape (n_samples, n_old)
            At unit length with `unit_length`, in the precision of X.
        """
        check_is_fitted(self)
        return self.map_.transform(validate_data(self, X, reset=False, dtype=DTYPES))

    def predict(self, X: Any) -> np.ndarray:
        """Return `transform(X)`: the predicted old vectors."""
        return self.transform(X)

    def trust(self, X: Any) -> np.ndarray:
        """Return how far the mapped vectors can be trusted, in [0, 1].

        It is 1 - p with the conformal p-value of "this query is bad", which means that its recall
        is below `good_recall`. Among new queries that are exchangeable with the calibration pairs,
        the share of those that are bad and have a trust of at least 1 - alpha is at most alpha in
        expectation, for every alpha and without any assumption on the score. The expectation is
        over calibration pairs and queries together; queries of another kind than the pairs are
        not covered.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_new)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.map_.confidence(validate_data(self, X, reset=False, dtype=DTYPES))

    def predict_trusted(self, X: Any, *, alpha: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
        """Return mapped vectors, and which of them are trusted at the level alpha.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_new)
        alpha : float in (0, 1)
            Largest expected share of queries that are trusted and bad; see `trust`.

        Returns
        -------
        mapped : ndarray of shape (n_samples, n_old)
        is_trusted : boolean ndarray of shape (n_samples,)
            Embed the others with the old encoder.
        """
        if not (POSITIVE.is_met(alpha) and alpha < 1):
            raise ValueError(f"alpha is {alpha!r}; expected a number above 0 and below 1")
        # as the p-value itself: 1 - (1 - p) rounds
        return self.transform(X), self.trust(X) >= 1 - alpha - 1e-12

    def score(self, X: Any, y: Any) -> float:
        """Return the mean recall of mapped queries in the index of the fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_new)
        y : array-like of shape (n_samples, n_old)
            Old vectors of the same texts: their neighbours are the true ones.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=DTYPES)
        old = as_old_vectors(y)
        check_consistent_length(X, old)
        return float(self.map_.recall(X, old).mean())

    @property
    def _n_features_out(self) -> int:
        return int(self.bridge_.coefficients.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output, tags.target_tags.single_output = True, False
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
