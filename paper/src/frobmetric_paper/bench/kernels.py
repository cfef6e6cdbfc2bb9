"""Kernels and sparse data: what they gain where a linear metric of dense features cannot serve.

    OPENBLAS_NUM_THREADS=1 python benchmarks/kernels.py [--folder DIR] [--only rings balance r8]

Rings and Balance compare kernels with the linear metric; r8 learns from sparse tf-idf of 6,224
words in the span of a few leading directions. What is chosen (C, gamma, degree, the kind of tf-idf)
is chosen on a validation part that is no part of the test; the test error is that of the choice.
Writes benchmarks/results/kernels.json and kernels.md, keeping what they have of other parts.
"""

import argparse
import json
import time
import tracemalloc
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from scipy.stats import t as student
from sklearn.datasets import make_circles
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestCentroid

from frobmetric import FrobMetric
from frobmetric.neighbors import knn_predict

from ..data import labelled as datasets
from ..data.raw import load_word_counts
from .record import as_markdown, run_record

RESULTS = Path(__file__).parents[3] / "results"
RUNS = 10
GRID = (1e0, 1e2, 1e4)
#: Of gamma, in units of the default, which is one over the number of features and the variance.
GAMMAS = (0.1, 0.3, 1.0, 3.0)
#: What each kernel is tried with: not equally many settings.
KERNELS = {
    "linear": [{"C": C} for C in (1e-2, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6)],
    "rbf": [{"C": C, "gamma": gamma} for C, gamma in product(GRID, GAMMAS)],
    "polynomial": [{"C": C, "degree": degree} for C, degree in product(GRID, (2, 3))],
}
RING_SIZES = {"train": 60, "validation": 100, "test": 1000}
RANKS = (100, 200, 300)
#: Tf-idf for Euclid's error.
PLAIN = {
    "count": {},
    "1 + log": {"sublinear_tf": True},
    "count, not of unit norm": {"norm": None},
    "1 + log, not of unit norm": {"sublinear_tf": True, "norm": None},
}


def error(found, y):
    return 100 * float(np.mean(found != y))


def nearest_mean(Z, y, T):
    return NearestCentroid().fit(Z, y).predict(T)


def chosen(kernel, parts, rule, **options):
    """Validation and test error of the setting with the smallest validation error."""
    (X, y), (V, y_validation), (T, y_test) = parts
    unit, tried = 1 / (X.shape[1] * X.var()), []
    for setting in KERNELS[kernel]:
        given = setting | ({"gamma": setting["gamma"] * unit} if "gamma" in setting else {})
        metric = FrobMetric(kernel=kernel, **given, **options).fit(X, y)
        Z = metric.transform(X)
        tried.append((error(rule(Z, y, metric.transform(V)), y_validation), len(tried), metric))
    found, place, metric = min(tried)
    test = error(rule(metric.transform(X), y, metric.transform(T)), y_test)
    return {"validation": found, "test": test, **KERNELS[kernel][place]}


def compare(parts, rule, **options):
    """Every kernel on one split, and the features as they are."""
    (X, y), (V, y_validation), (T, y_test) = parts
    plain = {"validation": error(rule(X, y, V), y_validation), "test": error(rule(X, y, T), y_test)}
    kernels = {name: chosen(name, parts, rule, **options) for name in KERNELS}
    return {"features as they are": plain} | kernels


def rings(seed, n_noise=0):
    """Two rings with noise, in the first two features."""
    rng = np.random.default_rng(seed)
    n = sum(RING_SIZES.values())
    X, y = make_circles(n, factor=0.5, noise=0.1, random_state=seed)
    X = np.hstack([X, rng.normal(scale=0.5, size=(n, n_noise))])
    ends = np.cumsum(list(RING_SIZES.values()))[:-1]
    return list(zip(np.split(X, ends), np.split(y, ends), strict=True))


def measure_rings(folder):
    return {
        "rings: one direction, nearest class mean": [
            compare(rings(seed), nearest_mean, n_components=1) for seed in range(RUNS)
        ],
        "rings in 2 of 10 features: 3-NN": [
            compare(rings(seed, n_noise=8), knn_predict) for seed in range(RUNS)
        ],
    }


def measure_balance(folder):
    splits = (datasets.load("balance", seed=seed, folder=folder) for seed in range(RUNS))
    return {
        "balance: 3-NN": [
            compare(
                [(s.X_train, s.y_train), (s.X_validation, s.y_validation), (s.X_test, s.y_test)],
                knn_predict,
            )
            for s in splits
        ]
    }


def measure_r8(folder):
    """A row for each rank, and the Euclidean error."""
    data = load_word_counts("r8", folder=folder)
    inner, held = train_test_split(
        np.arange(len(data.y_train)), test_size=0.25, stratify=data.y_train, random_state=0
    )
    validation = [
        {
            "sublinear_tf": tf,
            "n_directions": rank,
            "C": C,
            "validation": fit_text(
                data.X_train[inner],
                data.y_train[inner],
                data.X_train[held],
                data.y_train[held],
                tf,
                rank,
                C,
            )["error"],
        }
        for tf, rank, C in product((False, True), RANKS, (1e2, 1e4, 1e6, 1e8))
    ]
    rows = []
    for rank in RANKS:
        best = min(
            (v for v in validation if v["n_directions"] == rank), key=lambda v: v["validation"]
        )
        rows.append(
            best
            | fit_text(
                data.X_train,
                data.y_train,
                data.X_test,
                data.y_test,
                best["sublinear_tf"],
                rank,
                best["C"],
                traced=True,
            )
        )
    return {
        "shape": data.X_train.shape,
        "stored": data.X_train.nnz,
        "tried": validation,
        "dense_megabytes": 8e-6 * np.prod(data.X_train.shape),
        "rows": rows,
        "euclid": {name: euclid_text(data, **options) for name, options in PLAIN.items()},
    }


def euclid_text(data, **options):
    tfidf = TfidfTransformer(**options).fit(data.X_train)
    A, B = tfidf.transform(data.X_train), tfidf.transform(data.X_test)
    return error(knn_predict(A, data.y_train, B), data.y_test)


def fit_text(counts, y, other_counts, other_y, sublinear_tf, rank, C, traced=False):
    """The error on other documents, and what the fit took."""
    tfidf = TfidfTransformer(sublinear_tf=sublinear_tf).fit(counts)
    X, T = tfidf.transform(counts), tfidf.transform(other_counts)
    if traced:
        tracemalloc.start()
    started = time.perf_counter(), time.process_time()
    metric = FrobMetric(n_directions=rank, n_components="rank", C=C).fit(X, y)
    took = {"seconds": time.perf_counter() - started[0], "cpu": time.process_time() - started[1]}
    if traced:
        took["peak_megabytes"] = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
    found = knn_predict(metric.transform(X), y, metric.transform(T))
    return took | {
        "error": error(found, other_y),
        "rank": metric.rank_,
        "kept": metric.kept_variance_,
        "relative_gap": metric.certificate_.relative_gap,
        "n_triplets": metric.n_triplets_,
    }


def comparison_table(runs):
    """A row a kernel: mean errors, and the difference from linear, run by run."""
    lines = ["| | validation | test | test less linear's |", "|---|---|---|---|"]
    base = np.array([run["linear"]["test"] for run in runs])
    for name in runs[0]:
        test = np.array([run[name]["test"] for run in runs])
        validation = np.mean([run[name]["validation"] for run in runs])
        lines.append(f"| {name} | {validation:.2f} | {test.mean():.2f} | {paired(test - base)} |")
    return "\n".join(lines)


def paired(difference):
    """Mean and 95 % interval of Student."""
    if not difference.any():
        return ""
    half = student.ppf(0.975, len(difference) - 1) * difference.std(ddof=1)
    half /= np.sqrt(len(difference))
    return (
        f"{difference.mean():+.2f} ({difference.mean() - half:+.2f} to "
        f"{difference.mean() + half:+.2f})"
    )


def text_table(found):
    lines = [
        "| directions | variance in them | tf | C | validation | test | rank of M | gap | "
        "fit (s, CPU) | peak memory (MB) |",
        "|" + "---|" * 10,
    ]
    for row in found["rows"]:
        tf = "1 + log" if row["sublinear_tf"] else "count"
        lines.append(
            f"| {row['n_directions']} | {row['kept']:.1%} | {tf} | {row['C']:g} | "
            f"{row['validation']:.2f} | {row['error']:.2f} | {row['rank']} | "
            f"{row['relative_gap']:.1e} | {row['cpu']:.1f} | {row['peak_megabytes']:.0f} |"
        )
    euclid = ", ".join(f"{e:.2f} % ({name})" for name, e in found["euclid"].items())
    n, D = found["shape"]
    return "\n".join(lines) + (
        f"\n\nTraining: {n:,} documents of {D:,} words, {found['stored']:,} stored numbers; dense "
        f"it would be {found['dense_megabytes']:.0f} MB. Euclidean 3-NN on tf-idf: "
        f"{euclid}. Peak memory is what the fit itself allocated (tracemalloc)."
    )


HEADS = {
    "rings": "Two rings (make_circles, factor 0.5, noise 0.1; {train} training, {validation} "
    "validation and {test} test points; ten seeds). The first table keeps one direction "
    "and classifies by the nearest class mean, so that the metric itself has to separate "
    "the rings; the second adds eight features of noise (deviation 0.5) and classifies "
    "by 3-NN, for which removing the noise is enough.".format(**RING_SIZES),
    "balance": "Balance, ten random splits (training, validation, test), 3-NN. The splits are of "
    "one data set and overlap, so the interval is of the chance of the split alone.",
    "r8": "r8: sparse tf-idf (L2 norm), 3-NN; C and the kind of tf chosen on a quarter of the "
    "training documents, then all of them fitted. C was first chosen up to 1e6, where all "
    "three choices were at the edge (test errors 3.61, 3.47 and 3.24); the grid was then "
    "extended to 1e8, so the test part was looked at twice. The choice for 300 directions "
    "is at the edge again, and better on the validation part only.",
}
PARTS = {"rings": measure_rings, "balance": measure_balance, "r8": measure_r8}


def write(parts, records):
    (RESULTS / "kernels.json").write_text(json.dumps({"runs": records, "parts": parts}, indent=1))
    text = [
        "Error in %. Everything chosen is chosen on the validation part; intervals are of 95 "
        "%, of the differences run by run."
    ]
    for name in (name for name in PARTS if name in parts):
        text += [f"## {name}", HEADS[name]]
        if name == "r8":
            text.append(text_table(parts[name]))
        else:
            for title, runs in parts[name].items():
                text += [f"**{title}**", comparison_table(runs)]
        text.append(as_markdown(records[name]))
    (RESULTS / "kernels.md").write_text("\n\n".join(text) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", nargs="*", default=list(PARTS), choices=list(PARTS))
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UserWarning)  # a metric of zero is the error that it makes
    path = RESULTS / "kernels.json"
    kept = json.loads(path.read_text()) if path.exists() else {"runs": {}, "parts": {}}
    for name in options.only:
        kept["runs"][name] = run_record()  # before: the code that runs is the one of now
        kept["parts"][name] = PARTS[name](options.folder)
        write(kept["parts"], kept["runs"])
        print(name, "done", flush=True)


if __name__ == "__main__":
    main()
