"""FrobMetric: a Mahalanobis metric from labels or triplets, with its certificate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

from sklearn.utils.validation import check_is_fitted

from ..backends import is_sharded
from ..checks.parameters import Rule, check_parameters, choice
from ..checks.samples import SampleReader
from ..core.solution import Certificate
from ..learning.journal import journal_of
from ..learning.learn import learn
from ..learning.options import RunOptions
from ..learning.parameters import LABEL_RULES
from ..learning.problem import KERNEL_RULES, PROBLEM_RULES
from ..learning.prove import certify_samples
from ..learning.samples import Samples
from ..learning.sharded.samples import ShardedSamples
from ..model.fitted import Fitted
from ..model.recipe import Recipe
from ..model.units import UNITS
from ..runtime.checkpoint import SECONDS
from ..search.mining import NEIGHBORS
from .base import FrobeniusEstimator, if_linear


class FrobMetric(FrobeniusEstimator):
    """Large-margin metric learning from triplets with Frobenius regularisation.

    Learns d^2(a, b) = (a - b).T M (a - b) with the positive semidefinite M that minimises

        |M - prior|_F^2 / 2 + C sum_r w_r (loss(far_r - near_r) + pull near_r)

    where near_r and far_r are the squared distances of the anchor of triplet r to its two others,
    and the weights w_r sum to one; the paper's problem has neither prior nor pull. The problem is
    convex and is solved in its dual; every fit carries a certificate of how far it can be from the
    optimum.

    The data are first centred and divided by one number, `scale_`, so that their mean squared
    norm is one: `C` means the same for every data set, and the learned distances are the same for
    X and 1000 X (differences below 2^-32 of that norm count as rounding). The certificate is that
    of the problem of these samples: centred, scaled, rounded and in their span. `components_` and
    all distances are in the units of X, in which a satisfied triplet has d^2(far) - d^2(near) >= 1.

    Parameters
    ----------
    n_neighbors : int, default=3
        With labels: number of nearest samples of the same class that each sample is compared with.
    n_impostors : int, default=None
        With labels: the same number for samples of other classes, by default as many.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        With labels: kind of the search for neighbours; "auto" is approximate from 200,000 samples
        on if faiss is installed (extra ann), and otherwise exact. The certificate then holds for
        the triplets that were found.
    C : float, default=1000
        Weight of the triplets against the regulariser.
    units : {"auto", "raw", "deviation", "within"}, default="auto"
        Units of the features. "deviation" divides each feature by its standard deviation, "within"
        by its standard deviation within classes, and "raw" leaves them as they are. "auto" takes
        those in which the fewest training samples are misclassified by their nearest others (at
        most 2,000 are tried). A prior by name other than "identity" sets the units itself; a prior
        matrix and a kernel take raw features.
    n_components : int or "rank", default=None
        Number of leading directions of the metric to keep, by default all; "rank" keeps those that
        are not zero.
    loss : {"hinge", "smoothed_hinge", "squared_hinge"}, default="hinge"
        Loss of a triplet as a function of its margin far_r - near_r.
    prior : {"identity", "diagonal", "within", "shrunk", "discriminant", "covariance"}, ndarray or \
            None, default=None
        Metric to stay close to, by default zero. A matrix, (n_features, n_features), is positive
        semidefinite and in the units of X. "identity" is the Euclidean metric in the chosen units,
        "diagonal" the same in units of the deviations within classes. "within" is the inverse
        covariance within classes (as in RCA), "shrunk" the same of a covariance half way to its
        diagonal, "discriminant" that of "within" where class means differ (as in LDA), "covariance"
        the inverse covariance of all samples. The data are first mapped to the space in which a
        prior by name is Euclidean, and neighbours are searched there; its multiple is that for
        which the triplets that it satisfies have a mean margin of one.
    pull : float, default=0
        Weight of the distances of near pairs. LMNN has 1 / `n_impostors` and a large `C`.
    kernel : {"linear", "rbf", "polynomial", "precomputed"}, default="linear"
        Kernel whose feature space the metric is learned in; with "precomputed" the data are its
        values with the training samples. That holds for X in `fit` and in `transform`.
    gamma : float, default=None
        Parameter of the kernels exp(-gamma |a - b|^2) and (gamma a.b + coef0)^degree, by default
        1 / (number of features * variance of the data).
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial kernel.
    n_directions : int, default=None
        Number of leading directions of the data to work in, besides those of a prior matrix. None
        is all; with sparse X or a kernel at most 500, and a warning if that loses variance.
    n_passes : int, default=2
        With labels: number of searches for neighbours, each under the metric learned before; the
        triplets of all of them count. At most 30: the work grows with the square of the number.
    targets : {"classes", "values"}, default="classes"
        What the labels are: classes, or values of a regression. For values, near samples are the
        nearest of the quarter of all samples with the nearest values, and impostors the nearest of
        those beyond three eighths; fifths of the values stand for classes in units and priors, and
        the search is exact.
    tol : float, default=1e-3
        Relative duality gap at which a solve ends.
    max_iter : int, default=1000
        Largest number of steps of a solve, each with at most one eigen-decomposition.
    solver : {"auto", "active_set", "lbfgsb", "newton", "quasi_newton", "smoothing"}, default="auto"
        Method that solves the problem. Its name is one of `frobmetric.solvers.FROBENIUS_SOLVERS`.
    keep_dual : bool, default=False
        Keep dual variables and triplets in the model, so that `certify` can prove the result again.
        They are `dual_coef_` and `triplets_`.
    n_jobs : int, default=None
        Limit on threads, by default that of the numerical libraries.
    verbose : int, default=0
        Number of steps between two lines of progress; 0 writes none.
    callback : callable, default=None
        Function called with each `Step`; a true result ends the fit.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        L.T with M = L L.T, leading directions first; rows beyond the rank are zero. With a kernel
        the columns belong to the training samples.
    certificate_ : Certificate
        Certificate of the metric before truncation to `n_components`.
    status_ : str
        Reason why the last solve ended; "optimal" if certified to `tol`.
    history_ : list of Step
        Steps of the last solve that evaluated all triplets: primal, dual, gap, rank and seconds.
    rank_ : int
        Rank of the metric before truncation.
    n_iter_ : int
        Number of steps of the last solve, including steps on a part of the triplets.
    n_triplets_ : int
        Number of triplets learned from.
    mining_recall_ : MiningRecall
        Share of the true neighbours that an approximate search found, near and far, with
        intervals; of the pass with the smallest one. Absent if all searches were exact.
    scale_ : float
        Number that the centred data were divided by, before and after the map of a prior by name.
    units_ : str
        Units of the features that were used: "raw", "deviation" or "within".
    feature_weight_ : ndarray of shape (n_features,)
        Number that each feature was multiplied by; only if `units_` is not "raw".
    prior_factor_ : ndarray of shape (n_coordinates, rank)
        Map of the features, or directions, to the space in which a prior by name is Euclidean.
    unit_ : float
        Number that samples are divided by in an update: that of the first fit.
    prior_components_ : ndarray of shape (rank, n_features)
        After `partial_fit`: components of the metric before the update.
    n_directions_ : int
        Number of directions of the data that the fit worked in.
    kept_variance_ : float
        Share of the variance of the data in those directions.
    X_fit_ : ndarray or CSR matrix of shape (n_samples, n_features)
        Training samples, with the kernels "rbf" and "polynomial".
    gamma_ : float
        Value of gamma, with these kernels.
    dual_coef_ : ndarray of shape (n_triplets,)
        Dual variables in the order of `triplets_`; only with `keep_dual`.
    triplets_ : set of triplets
        Triplets learned from, rows by `triplets_.to_array()`; only with `keep_dual`.
    point_rows_, point_weight_ : ndarrays of shape (n_distinct,)
        First row of each kind of equal rows of one class, and the sum of their weights; only with
        `keep_dual`, and if there were equal rows or weights.
    n_unlabeled_ : int
        Number of rows without a label, if there were any.
    n_features_in_, feature_names_in_ : int and ndarray of str
        Number of the features of X, and their names if they have names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric import FrobMetric
    >>> X, y = load_iris(return_X_y=True)
    >>> metric = FrobMetric().fit(X, y)
    >>> metric.certificate_.relative_gap <= 1e-3
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {
        **LABEL_RULES,
        "neighbors": choice(NEIGHBORS),
        **PROBLEM_RULES,
        **KERNEL_RULES,
        "units": choice(["auto", *UNITS]),
        "targets": choice(["classes", "values"]),
    }
    n_unlabeled_ = Fitted[int]("source.n_unlabeled")

    def __init__(
        self,
        *,
        n_neighbors: int = 3,
        n_impostors: int | None = None,
        neighbors: str = "auto",
        C: float = 1000.0,
        units: str = "auto",
        n_components: int | str | None = None,
        loss: str = "hinge",
        prior: Any = None,
        pull: float = 0.0,
        kernel: str = "linear",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        n_directions: int | None = None,
        n_passes: int = 2,
        targets: str = "classes",
        tol: float = 1e-3,
        max_iter: int = 1000,
        solver: str = "auto",
        keep_dual: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.n_neighbors, self.n_impostors, self.n_passes = n_neighbors, n_impostors, n_passes
        self.neighbors = neighbors
        self.C, self.units, self.n_components, self.loss = C, units, n_components, loss
        self.prior, self.pull, self.n_directions = prior, pull, n_directions
        self.kernel, self.gamma, self.degree, self.coef0 = kernel, gamma, degree, coef0
        self.tol, self.max_iter, self.solver = tol, max_iter, solver
        self.targets, self.keep_dual, self.n_jobs = targets, keep_dual, n_jobs
        self.verbose, self.callback = verbose, callback

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        triplets: Any = None,
        triplet_weight: Any = None,
        checkpoint: Any = None,
        checkpoint_seconds: float = SECONDS,
    ) -> Self:
        """Learn the metric from class labels, from triplets, or from both together.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            A sparse matrix is not made dense.
        y : array-like of shape (n_samples,), optional
            Class labels, or values with `targets="values"`. If labels are numbers, -1 is no label
            where there are two other classes: such rows count for scale, units and prior only.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows of X; 2 is the same as the row twice, and 0 as the row left out.
            Equal rows of one class are one sample with the sum of their weights, and a triplet that
            is found from the labels has the weight of its anchor.
        triplets : array-like of shape (n_triplets, 3) or MinedTriplets, optional
            Rows (anchor, near, far) of row numbers of X. Beside y, each counts as much as one of
            the triplets that are found from the labels.
        triplet_weight : array-like of shape (n_triplets,), optional
            Weights of the rows of `triplets`; a weight of 2 is the same as the triplet twice.
        checkpoint : str or Path, optional
            File in which the fit keeps its state while it runs. If the file exists, the fit of the
            same data and parameters that wrote it goes on where it was ended; the file of another
            fit, and a damaged one, raise ValueError. It is removed when the fit is complete.
        checkpoint_seconds : float, default=30
            Seconds between two states that are written, besides those after each search for
            neighbours and each pass.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        recipe, options, reader = self._recipe(), self._options(), self._reader()
        samples = samples_of(recipe, options, reader, X, y, sample_weight, triplets, triplet_weight)
        journal = journal_of(recipe, options, samples, checkpoint, checkpoint_seconds)
        return self._accept(learn(recipe, samples, options, journal))

    @if_linear
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        triplets: Any = None,
        triplet_weight: Any = None,
        checkpoint: Any = None,
        checkpoint_seconds: float = SECONDS,
    ) -> Self:
        """Update the metric with new samples: the metric learned before is the prior of this fit.

        The problem is that of `fit` for the new samples alone, with the metric as it stands for
        `prior`, in the unit of the first fit (`unit_`); the certificate is that of this problem.
        The larger `C`, the more the new samples count. Without an earlier fit this is `fit`. Only
        metrics with `kernel="linear"` can be updated.
        The parameters are those of `fit`.
        """
        if not self.__sklearn_is_fitted__():
            given = {"sample_weight": sample_weight}
            given |= {"triplets": triplets, "triplet_weight": triplet_weight}
            if checkpoint is not None:
                given |= {"checkpoint": checkpoint, "checkpoint_seconds": checkpoint_seconds}
            return self.fit(X, y, **{name: v for name, v in given.items() if v is not None})
        check_parameters(self, self._rules)
        recipe, options, reader = self._recipe(), self._options(), self._reader(of_fit=False)
        samples = samples_of(recipe, options, reader, X, y, sample_weight, triplets, triplet_weight)
        before = self.map_
        journal = journal_of(recipe, options, samples, checkpoint, checkpoint_seconds, before)
        return self._accept(learn(recipe, samples, options, journal, before))

    def certify(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, exact: bool = False
    ) -> Certificate:
        """Prove again how good the metric is, from the training data X and the kept dual variables.

        X has the rows of the last fit, all of them; their weights are kept with the triplets. With
        the labels y, and `sample_weight` if the fit had it, the triplets and what else depends on
        labels (prior, units) are compared with them; without, they are those of the model.
        Return the `Certificate`; raise `CertificateError` if these are other data or labels.
        With `exact` the interval is verified in exact arithmetic, and the certificate has the
        `proof`: `numpy.savez(path, **certificate.proof)` writes it for `frobmetric.verify`.
        """
        check_is_fitted(self)
        reader = self._reader(of_fit=False)
        return certify_samples(self.map_, reader, X, y, sample_weight, exact=exact)


def samples_of(
    recipe: Recipe,
    options: RunOptions,
    reader: SampleReader,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    triplets: Any = None,
    triplet_weight: Any = None,
) -> Samples | ShardedSamples:
    """Return the checked arguments of a fit, in memory or in shards."""
    given = sample_weight, triplets, triplet_weight
    if not is_sharded(X):
        return Samples.check(recipe, reader, X, y, *given)
    kinds = ("a fit with sample_weight", "a fit from triplets", "a fit from triplets")
    needs = [kind for kind, value in zip(kinds, given, strict=True) if value is not None]
    needs += [] if reader.before is None else ["an update"]
    if needs:
        raise ValueError(f"X is in shards, and {needs[0]} needs it in memory; give X as an array")
    return ShardedSamples.check(recipe, X, y, keep_dual=options.keep_dual)
