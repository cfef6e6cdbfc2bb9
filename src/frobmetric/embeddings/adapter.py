"""EmbeddingAdapter: a linear map of embeddings, learned from feedback, that cannot hurt."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from ..checks.parameters import (
    CALLABLE,
    FLAG,
    MATRIX,
    NONE,
    NUMBERS,
    POSITIVE,
    WHOLE,
    InvalidParameterError,
    Rule,
    check_parameters,
    choice,
    integer,
)
from ..checks.samples import DTYPES, SampleReader, check_classification_targets, validate_data
from ..core.points import Array
from ..core.solution import Certificate, Step
from ..core.warning import warn_user
from ..evaluation.paired import PairedDifference
from ..evaluation.ranking import Measure
from ..model.fitted import Fitted, detail
from ..model.linear_map import Features, LinearMap, Run, Source
from ..model.shell import MapShell
from ..runtime.environment import limit_threads
from ..solvers.monitor import Reporter
from .abilities import as_feedback, compare_task
from .choice import as_strengths, measure_strengths
from .feedback.base import Cleaning, Feedback, TooFewExamplesError
from .length import components
from .maps import LearnedMap
from .pairwise import PairwiseMethods, digests_of
from .path import MapLearner
from .report import AdapterReport
from .structure import STRUCTURES

#: Largest number of comparisons that the final map is learned from.
MAX_ROWS = 100_000
#: Run of an embedding that stays as it is.
UNCHANGED = Run(1, "optimal", ())
SHARE = Rule(
    "a number between 0 and 1, both excluded",
    lambda value: isinstance(value, float | np.floating) and bool(0 < value < 1),
)
IS_MEASURE = Rule("the name of a measure", lambda value: isinstance(value, str))


class EmbeddingAdapter(PairwiseMethods, MapShell):
    """Linear map of embeddings, learned from feedback; the unchanged embedding is its prior.

    The strength C of the feedback against the prior is chosen on held-out objects: samples, or
    queries, or the objects of pairs. The unchanged embedding takes part. A map is returned only if
    it is better on held-out objects, with an interval that lies above zero; otherwise `transform`
    returns the vectors as they are, and `report_` says so in one sentence.

    The learning problem is convex, and `certificate_` states how far the map can be from its best
    one: see `learn_structured_map` (both sides) and `learn_query_map` (queries only).

    Parameters
    ----------
    side : {"both", "query"}, default="both"
        What is mapped: documents and queries alike, or queries only, so that an index of documents
        stays as it is. The latter needs `unit_length`.
    structure : str or sequence, default="full"
        Structure of the map of both sides: "full", "diagonal", "low_rank_plus_diagonal", or blocks
        of features, as in `learn_structured_map`.
    unit_length : bool, default=True
        Scale vectors to unit length before and after the map, so that Euclidean distance, cosine
        and inner product rank alike. A zero vector stays zero. Without it, distances are Euclidean.
    strength : float or "auto", default="auto"
        Weight C of the feedback. "auto" chooses it; a number is taken as it is, without any test on
        held-out objects. To test one value, give "auto" and `strengths=[value]`.
    strengths : sequence of float, default=None
        Strengths to choose from, besides 0; None is 30, 100, 300, 1000 and 3000.
    n_components : int, default=None
        Number of leading directions of the mapped vectors to keep; all if None. Vectors become
        shorter after the choice, which is about full length: see `quality_by_length`. With
        `side="query"` documents are shortened too, and nothing else.
    cv : int, default=5
        Number of folds.
    scoring : str, default=None
        Measure on held-out objects, such as "nDCG@10", "recall@5", "MRR", "accuracy", "AUC" or
        "Spearman"; None is that of the feedback.
    confidence : float, default=0.95
        Coverage of the interval of the gain.
    tol : float, default=1e-3
        Relative duality gap at which the final solve ends.
    max_iter : int, default=1000
        Largest number of steps of a solve.
    random_state : int, default=0
        Seed of the folds, and of the comparisons that are drawn where there are many.
    n_jobs : int, default=None
        Limit on threads, by default that of the numerical libraries.
    verbose : int, default=0
        Number of steps of the final solve between two lines of progress; 0 writes none. Folds of
        the choice have a line each.
    callback : callable, default=None
        Function called with each step of the final solve; a true result ends it.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Map of documents: `transform` is X @ components_.T, at unit length if asked for.
    query_components_ : ndarray of shape (n_components, n_features)
        Map of queries; equal to `components_` if both sides are mapped.
    changed_ : bool
        Whether the embedding is changed.
    strength_ : float
        Chosen strength, 0 if the embedding is unchanged.
    report_ : AdapterReport
        Gain on held-out objects with its interval, in one sentence, and the scores of all
        strengths.
    certificate_ : Certificate
        Proof of optimality of the learning problem. Of an unchanged embedding, whose C is 0, the
        gap is 0.
    status_ : str
        Reason why the final solve ended: "optimal" if certified to `tol`.
    n_iter_ : int
        Number of steps of the final solve; 1 if the embedding is unchanged.
    history_ : list of Step
        Steps of the final solve.
    kept_share_ : float
        Share of the mean squared length of the mapped vectors in the components; 1 if all.
    truncation_bound_ : float
        Upper bound on what `n_components` changes in any squared distance between vectors of unit
        length, before the result is scaled to unit length; 0 if all are kept.
    weights_ : ndarray or None
        Weights of the features or blocks, for structures that have them.
    threshold_, promise_ : float and Promise
        Largest distance of pairs that `predict` calls similar, after `promise_threshold`,
        `calibrate_threshold` or `set_threshold`; and what the first of them promises.
    cleaning_ : Cleaning or None
        Examples that were merged or dropped; None if none were left.
    n_features_in_, feature_names_in_ : int and ndarray of str
        Number of the features of X, and their names if they have names.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric import EmbeddingAdapter
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(200) % 4
    >>> X = rng.normal(size=(200, 12))
    >>> X[:, :4] = np.eye(4)[y] + 0.5 * X[:, :4]
    >>> adapter = EmbeddingAdapter().fit(X, y)
    >>> adapter.changed_
    True
    >>> adapter.transform(X).shape
    (200, 12)
    """

    query_components_ = Fitted[Array]("query_components")
    certificate_ = Fitted[Certificate]("certificate")
    status_ = Fitted[str]("run.status")
    n_iter_ = Fitted[int]("run.n_iter")
    history_ = Fitted[list[Step]](lambda learned: list(learned.run.history))
    report_ = Fitted[AdapterReport]("choice")
    strength_ = Fitted[float]("choice.strength")
    changed_ = Fitted[bool]("choice.is_changed")
    kept_share_ = Fitted[float](detail("kept_share_"))
    truncation_bound_ = Fitted[float](detail("truncation_bound_"))
    weights_ = Fitted[Array](detail("weights_"), may_be_none=True)
    cleaning_ = Fitted[Cleaning](detail("cleaning_"), may_be_none=True)

    _needs: ClassVar[dict[str, type]] = {
        "certificate": Certificate,
        "run": Run,
        "choice": AdapterReport,
        "query_components": np.ndarray,
    }
    _details: ClassVar[dict[str, Any]] = {
        "kept_share_": float,
        "truncation_bound_": float,
        "weights_": np.ndarray | None,
        "cleaning_": Cleaning | None,
        "confidence": float,
    }
    _rules: ClassVar[dict[str, Rule]] = {
        "side": choice(["both", "query"]),
        "structure": choice(STRUCTURES) | MATRIX,
        "unit_length": FLAG,
        "strength": POSITIVE | choice(["auto"]),
        "strengths": NUMBERS | NONE,
        "n_components": integer(1) | NONE,
        "cv": integer(2),
        "scoring": IS_MEASURE | NONE,
        "confidence": SHARE,
        "tol": POSITIVE,
        "max_iter": integer(1),
        "random_state": integer(0),
        "n_jobs": WHOLE | NONE,
        "verbose": integer(0) | FLAG,
        "callback": CALLABLE | NONE,
    }

    def __init__(
        self,
        *,
        side: str = "both",
        structure: Any = "full",
        unit_length: bool = True,
        strength: float | str = "auto",
        strengths: ArrayLike | None = None,
        n_components: int | None = None,
        cv: int = 5,
        scoring: str | None = None,
        confidence: float = 0.95,
        tol: float = 1e-3,
        max_iter: int = 1000,
        random_state: int = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.side, self.structure, self.unit_length = side, structure, unit_length
        self.strength, self.strengths, self.n_components = strength, strengths, n_components
        self.cv, self.scoring, self.confidence = cv, scoring, confidence
        self.tol, self.max_iter, self.random_state = tol, max_iter, random_state
        self.n_jobs, self.verbose, self.callback = n_jobs, verbose, callback

    def fit(self, X: Any, y: Any) -> Self:
        """Choose a strength on held-out objects, and learn the map from all feedback.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Vectors: embeddings of documents, or of all objects.
        y : array-like of shape (n_samples,) or Feedback
            Class labels, or feedback such as `RelevantDocuments` or `SimilarPairs`.

        Returns
        -------
        self
        """
        self._check_parameters()
        X, feedback, features = self._check_data(X, y)
        learner, cleaning, learned = self._learner(), None, None
        vectors = learner.vectors(X)
        with limit_threads(self.n_jobs):
            try:
                feedback, cleaning = feedback.cleaned(vectors)
                report = self._choose(learner, feedback, vectors)
                if report.is_changed:
                    learned = self._learn(learner, feedback, vectors, report.strength)
            except TooFewExamplesError as error:
                report = self._report(feedback, 0.0, str(error))
        if not report.is_changed:
            warn_user(report.line())
        source = Source(points=digests_of(X, feedback.queries))
        found = self._map_of(vectors, features, learned, report, cleaning)
        return self._accept(replace(found, source=source))

    def transform(self, X: Any) -> np.ndarray:
        """Map documents, for an index of Euclidean distances, cosines or inner products.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        return self.map_.transform(validate_data(self, X, reset=False, dtype=DTYPES))

    def transform_query(self, X: Any) -> np.ndarray:
        """Map queries; the same as `transform` unless only queries are mapped.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries, n_components)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=DTYPES)
        return self.map_.transform(X, of_queries=True)

    def check(self, X: Any, y: Any) -> PairedDifference:
        """Compare a task on other vectors before and after, to see that no ability fell.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Vectors of the same encoder.
        y : array-like of shape (n_samples,) or Feedback
            Labels, or feedback on these vectors. Samples with labels search each other.

        Returns
        -------
        PairedDifference
            Scores before and after with an interval; `verdict` is "hurt" if they fell.
        """
        check_is_fitted(self)
        return compare_task(self, X, y)

    def _check_parameters(self):
        check_parameters(self, self._rules)
        if self.side == "query" and not self.unit_length:
            raise InvalidParameterError(
                "side='query' compares by inner products, which rank as distances do at unit "
                "length only; give unit_length=True, or side='both'"
            )
        is_full = isinstance(self.structure, str) and self.structure == "full"
        if self.side == "query" and not is_full:
            raise InvalidParameterError(
                f"structure={self.structure!r} is that of a map of both sides; with side='query' "
                "give 'full'"
            )
        if self.scoring is not None:
            Measure.parse(self.scoring)

    def _check_data(self, X, y):
        """Return the vectors, the feedback, and number and names of the features, checked."""
        reader = SampleReader(type(self).__name__, get_tags(self))
        if hasattr(y, "comparisons"):
            X, _, features = reader.read(X, order="C")
        else:
            X, y, features = reader.read(X, y, order="C", ensure_min_samples=2)
            if y.dtype.kind == "f":  # identities may be many, so others are not questioned
                check_classification_targets(y)
        if self.n_components is not None and self.n_components > X.shape[1]:
            raise InvalidParameterError(
                f"n_components={self.n_components} is larger than the {X.shape[1]} features of X"
            )
        return X, as_feedback(y), features

    def _learner(self):
        names = ("side", "structure", "unit_length", "max_iter", "random_state")
        return MapLearner(**{name: getattr(self, name) for name in names})

    def _choose(self, learner, feedback, X):
        """Return the report of the choice; a given strength is not tested."""
        if not isinstance(self.strength, str):
            return self._report(
                feedback, float(self.strength), "the strength was given, not tested"
            )
        measure = str(Measure.parse(self.scoring or feedback.measure))
        options = {"n_folds": self.cv, "measure": measure}
        listener = _write_line if self.verbose else None
        strengths = as_strengths(self.strengths)
        scores = measure_strengths(learner, feedback, X, strengths, listener=listener, **options)
        return AdapterReport.of(scores, measure, feedback.unit, confidence=self.confidence)

    def _report(self, feedback: Feedback, strength: float, reason: str) -> AdapterReport:
        measure = str(Measure.parse(self.scoring or feedback.measure))
        return AdapterReport(strength, measure, feedback.unit, self.cv, reason=reason)

    def _learn(self, learner, feedback, X, strength):
        """Return the map of this strength from all feedback, to the final tolerance."""
        callback = Reporter(self.verbose, self.callback) if self.verbose else self.callback
        options = {"tol": self.tol, "max_rows": MAX_ROWS, "callback": callback}
        return next(learner.path(feedback, X, [strength], **options))

    def _map_of(
        self,
        vectors: Array,
        features: tuple[int, Any],
        learned: LearnedMap | None,
        report: AdapterReport,
        cleaning: Cleaning | None,
    ) -> LinearMap:
        """Return the map of both sides that the estimator keeps."""
        anchor_map = candidate_map = np.eye(vectors.shape[1])
        certificate, run, weights = Certificate(0.0, 0.0, 0.0, 0.0, 0.0), UNCHANGED, None
        if learned is not None:
            anchor_map, candidate_map = learned.anchor_map, learned.candidate_map
            certificate, weights, solution = learned.certificate, learned.weights, learned.solution
            run = Run(solution.n_iter, solution.status, tuple(solution.history), self.tol)
        of_documents, of_queries, details = components(
            vectors, anchor_map, candidate_map, self.n_components
        )
        more = {"weights_": weights, "cleaning_": cleaning, "confidence": self.confidence}
        return LinearMap(
            of_documents,
            Features(*features, unit_length=self.unit_length),
            certificate,
            run,
            choice=report,
            query_components=of_queries,
            details=details | more,
        )

    def _repr_mimebundle_(self, **options):
        """Return what a notebook shows: scikit-learn's diagram, and the report of a fit."""
        bundle = super()._repr_mimebundle_(**options)
        if "text/html" in bundle and self.__sklearn_is_fitted__():
            bundle["text/html"] += self.report_._repr_html_()
        return bundle

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _write_line(text):
    sys.stdout.write(f"{text}\n")
