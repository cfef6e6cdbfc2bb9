"""frobmetric's own learners: the paper's FrobMetric and BoostMetric, and the defaults of today."""

from __future__ import annotations

import numpy as np
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline

from frobmetric import BoostMetric, FrobMetric, FrobMetricCV, mine_triplets
from frobmetric.learning.coordinates import unit_mean_square
from frobmetric.model.sets import triplets_from_arrays

from ..harness.worker import Target
from .base import MetricBaseline

#: Options with which FrobMetric is the paper's method; the paper chooses C.
PAPER = {"units": "raw", "prior": None, "n_passes": 1, "C": 1e4}


def warm_up(name):
    """Learn from a few samples: the first call of compiled functions loads or compiles them."""
    X = np.random.default_rng(0).normal(size=(24, 2))
    y = np.arange(24) % 2
    for triplets in (mine_triplets(X, y), mine_triplets(X, y).to_array()):
        FrobMetric(**PAPER | {"C": 10.0}).fit(X, triplets=triplets)


def learn_frob(task):
    """Learn by FrobMetric, as in the paper where the parameters do not say otherwise."""
    return _fit(FrobMetric(**PAPER | task["parameters"]), task)


def learn_default(task):
    """Learn by FrobMetric without arguments."""
    model = FrobMetric()
    answer, detail = _fit(model, task)
    return answer, detail | {"chosen": {"units": model.units_}}


def learn_cv(task):
    """Learn by FrobMetricCV without arguments."""
    model = FrobMetricCV()
    answer, detail = _fit(model, task)
    return answer, detail | {"chosen": model.best_params_}


def classify_by_cv(task):
    """Learn by FrobMetricCV without arguments, and classify the queries by its rule."""
    model = FrobMetricCV().fit(task["X"], task["y"])
    queries = {name: X for name, X in task.items() if name.startswith("query.")}
    labels = {name.removeprefix("query."): model.predict(X) for name, X in queries.items()}
    chosen = model.best_params_ | {"rule": model.report_.rule}
    return labels, _certificate(model) | {"chosen": chosen}


def learn_boost(task):
    """Learn by BoostMetric."""
    return _fit(BoostMetric(**task["parameters"]), task)


def learn_frob_kernel(task):
    """Learn by FrobMetric in the space of a Gaussian kernel, of X or of X mapped by `first`."""
    options = {"first": "none", "gamma": 0.3} | task["parameters"]
    X, y, first = task["X"], task["y"], options.pop("first")
    L = np.eye(X.shape[1])
    if first != "none":
        L = FrobMetric(n_components="rank", **PAPER | FIRST[first]).fit(X, y).components_.T
    model = kernel_model(X @ L, options.pop("gamma"), seed=task["seed"], **options)
    nystroem, pca, metric = (step for _, step in model.fit(X @ L, y).steps)
    unit = np.sqrt(nystroem.gamma)
    arrays = {"first": L * unit, "points": nystroem.components_ * unit}
    arrays["L"] = nystroem.normalization_.T @ pca.components_.T @ metric.components_.T
    return arrays, _certificate(metric)


def kernel_model(X, gamma, *, n_points=2000, n_directions=300, seed=0, **options):
    """Return the pipeline that learns a metric in the space of a Gaussian kernel, not fitted yet.

    gamma is for samples of unit mean square, whatever the unit of X is. The features of the kernel
    are made of `n_points` samples, and `n_directions` of them are kept.
    """
    n_points = min(n_points, len(X))
    gamma = gamma / unit_mean_square(X)[1] ** 2
    return make_pipeline(
        Nystroem(gamma=gamma, n_components=n_points, random_state=seed),
        PCA(min(n_directions, n_points), svd_solver="covariance_eigh"),
        FrobMetric(**PAPER | {"n_components": "rank"} | options),
    )


def _fit(model, task):
    """Return L and the certificate of an estimator."""
    lists = {
        name.removeprefix("triplets."): array
        for name, array in task.items()
        if name.startswith("triplets.")
    }
    given = {"triplets": triplets_from_arrays(lists)} if lists else {}
    model.fit(task["X"], task.get("y"), **given)
    rank = max(1, model.rank_)
    return {"L": np.ascontiguousarray(model.components_[:rank].T)}, _certificate(model)


def _certificate(model):
    """Return the numbers of the certificate of an estimator."""
    certificate = model.certificate_
    return {
        "relative_gap": float(certificate.relative_gap),
        "primal": float(certificate.primal),
        "dual": float(certificate.dual),
        "rank": int(model.rank_),
        "status": model.status_,
        "steps": int(model.n_iter_),
        "n_triplets": int(model.n_triplets_),
    }


def _baseline(name, label, function="learn_frob", learns_from="triplets", **more):
    return MetricBaseline(
        name=name,
        label=label,
        target=Target(f"{__name__}:{function}", ("frobmetric",)),
        learns_from=learns_from,
        **more,
    )


# The search begins at relevant component analysis and includes discriminant analysis: the limits
# of a small C. On validation parts digits want no prior, Balance and Wine "within", Yale faces
# "discriminant", and each another C. Passes help where the first neighbours are poor: with three
# of them Balance falls from 6.6 to 4.3 %, letters from 2.69 to 2.47 %. More neighbours help MNIST:
# 1.81 % with 3 + 3, 1.77 % with 10 + 10, 1.71 % with 20 + 10.
PRIORS_AND_CS = (
    *(("within", C) for C in (1e-2, 1e2, 1e4, 1e6)),
    *(("discriminant", C) for C in (1e-2, 1e3, 1e5)),
    *((None, C) for C in (1e1, 1e3, 1e4, 1e5, 1e6)),
)
#: Metrics that map the samples before the kernel, by name.
FIRST = {
    "plain": {"C": 1e5, "n_passes": 2, "n_neighbors": 10},
    "within": {"C": 1e6, "n_passes": 2, "prior": "within"},
}

BASELINES = (
    # LMNN solved for M instead of L, as in a footnote of the paper: FrobMetric with a pull term,
    #     |M|^2 / 2 + C (pull * mean of d^2(anchor, near) + mean hinge loss).
    # LMNN weighs the sum over pairs and the sum over triplets equally. A pair has as many triplets
    # as impostors, three, so means are weighed 1 to 3; LMNN has no regulariser: the limit of a
    # large C. On Wine, whose features differ most in size, 1e6 is not there yet: 18.5 % of two
    # validation parts are wrong with 1e6, 7.4 % with 1e8. On Iris and Balance 1e8 does not
    # converge in 1,000 steps; the remark then says so.
    _baseline(
        "lmnn_matrix",
        "LMNN, solved for M",
        search={"C": (1e6, 1e8, 1e5, 1e4), "pull": (1 / 3, 0.1, 1.0), "max_iter": (10_000,)},
    ),
    # Validation errors: 49, 28.8, 27.5 and 27.6 % of 800 letters with C from 1e2 to 1e5; 38, 7.4,
    # 7.4 and 2.5 % on Wine with C from 1e3 to 1e6; 0 % on Iris with 1e3. With 1e1 the metric is
    # zero on letters and USPS. On Iris, Wine and Balance neither the logistic nor the exponential
    # loss has a C with which it is better than the hinge.
    _baseline(
        "boost",
        "BoostMetric",
        "learn_boost",
        paper_name="BoostMetric",
        search={"C": (1e4, 1e3, 1e5, 1e2, 1e6)},
    ),
    # as in the paper: the triplets are given, C is chosen
    _baseline(
        "frob", "FrobMetric", paper_name="FrobMetric", search={"C": (1e4, 1e3, 1e5, 1e2, 1e1, 1e6)}
    ),
    _baseline(
        "frob_tuned",
        "FrobMetric, tuned",
        learns_from="labels",
        search={
            "prior C": PRIORS_AND_CS,
            "n_passes": (2, 1, 3),
            "n_neighbors n_impostors": ((3, 3), (10, 10), (20, 10)),
        },
    ),
    # Validation errors by 3-NN with a linear metric, and with the kernel of X and of X mapped by a
    # metric: 2.5, 2.2 and 1.9 % on letters; 1.8, 1.4 and 1.3 % on three splits of USPS; 3.4, 2.6
    # and 2.9 % of 5,000 images of MNIST, learned from 10,000.
    _baseline(
        "frob_kernel",
        "FrobMetric, kernel",
        "learn_frob_kernel",
        learns_from="labels",
        search={
            "first gamma": (("none", 0.3), ("within", 0.3), ("plain", 0.3), ("within", 1.0)),
            "C": (1e5, 1e6, 1e4),
            "n_neighbors": (10, 3),
            "n_passes": (2,),
        },
    ),
    # without arguments: nothing is chosen on the validation part
    _baseline("frob_default", "FrobMetric, default", "learn_default", learns_from="labels"),
    _baseline("frob_cv", "FrobMetricCV, default", "learn_cv", learns_from="labels"),
    _baseline(
        "frob_cv_rule",
        "FrobMetricCV, its rule",
        "classify_by_cv",
        learns_from="labels",
        answers="classes",
    ),
)
