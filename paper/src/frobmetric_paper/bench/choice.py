"""Which learner to choose: all learners of labels under `compare`, on real data of many kinds.

A part is a set. Each learner chooses its options on the training part within a budget; errors are
those of 3-NN on the test part, in percent.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.stats import rankdata

from frobmetric import compare

from ..data import many
from ..harness import page
from ..harness.benchmark import Benchmark, Options

SETS = ["iris", "wine", "breast_cancer", "digits", "balance", "letters", "usps", "pendigits"]
SETS += [
    "spam",
    "yale",
    "msr_action3d",
    "r8",
    "banking77",
    "imbalanced",
    "many_classes",
    "few_samples",
]
#: Seconds that each learner has to choose its options and to fit.
BUDGET = 5.0
EUCLID = ("raw", "scaled")
LABELS = {"raw": "Euclid raw", "scaled": "Euclid scaled", "lda": "LDA"}
#: Errors that are so many points apart count as different.
MARGIN = 1.0
#: Learners of the small version.
QUICK_LEARNERS = ["FrobMetric", "Covariance", "RCA"]


def measure_set(name, options):
    """Return errors, seconds and proofs of each learner in each split."""
    results, size = {}, None
    for seed in range(options.choose(options.repeat, 1)):
        split = many.load(name, seed=seed, folder=options.folder)
        size = split.size
        learned = compare(
            options.choose(None, QUICK_LEARNERS),
            split.X_train,
            split.y_train,
            X_test=split.X_test,
            y_test=split.y_test,
            budget=BUDGET,
            random_state=seed,
        )
        for row in learned.rows:
            results.setdefault(row.key, []).append(_result(row))
    return {"size": size, "results": results}


def _result(row):
    error = None if row.losses is None else 100 * float(np.mean(row.losses))
    return {
        "error": error,
        "seconds": row.seconds,
        "total": row.total_seconds,
        "proven": bool(row.is_proven),
        "convex": bool(row.is_convex),
        "ending": row.ending,
        "reason": row.reason,
    }


def choice_page(parts):
    """Return a table of learners over all sets, and one of the best learners of each set."""
    names = list(next(iter(parts.values()))["results"])
    errors = np.array([[_mean_error(part, name) for name in names] for part in parts.values()])
    euclid = errors[:, [names.index(each) for each in EUCLID]].min(axis=1)
    ranks = np.mean([rankdata(np.where(np.isnan(row), np.inf, row)) for row in errors], axis=0)
    order = np.argsort(ranks, kind="stable")
    rows = [_line(names[i], errors[:, i], ranks[i], euclid, parts) for i in order]
    header = ["", "mean rank", "mean error", "better", "worse", "no answer", "fit s", "in all s"]
    n_splits = len(next(iter(parts.values()))["results"][names[0]])
    return {
        "learners": page.table([*header, "proven"], rows),
        "sets": _table_of_sets(parts, names, errors),
        "n_sets": len(parts),
        "n_splits": n_splits,
        "budget": f"{BUDGET:g}",
        "margin": f"{MARGIN:g}",
    }


def _mean_error(part, name):
    values = [each["error"] for each in part["results"].get(name, [{"error": None}])]
    return np.nan if None in values else np.mean(values)


def _line(name, errors, rank, euclid, parts):
    runs = [run for part in parts.values() for run in part["results"].get(name, [])]
    done = [run for run in runs if run["error"] is not None]
    fits = [run["seconds"] for run in done if run["seconds"] is not None]
    proven = f"{sum(run['proven'] for run in done)} of {len(done)}"
    return [
        LABELS.get(name, name),
        f"{rank:.1f}",
        "–" if np.isnan(errors).any() else f"{errors.mean():.1f}",
        str(np.sum(errors < euclid - MARGIN)),
        str(np.sum(errors > euclid + MARGIN)),
        str(len(runs) - len(done)),
        f"{np.median(fits):.2g}" if fits else "–",
        f"{np.median([run['total'] for run in runs]):.2g}",
        proven if any(run["convex"] and run["proven"] for run in done) else "–",
    ]


def _table_of_sets(parts, names, errors):
    rows = []
    for (name, part), row in zip(parts.items(), errors, strict=True):
        euclid = " / ".join(f"{row[names.index(each)]:.1f}" for each in EUCLID)
        learned = [i for i in np.argsort(row) if names[i] not in EUCLID and not np.isnan(row[i])]
        best = ", ".join(f"{names[i]} {row[i]:.1f}" for i in learned[:4])
        size = part["size"]
        counts = [str(size[key]) for key in ("training", "features", "classes")]
        rows.append([name, many.SETS[name].kind, *counts, euclid, best])
    header = ["set", "kind", "n", "D", "classes", "Euclid raw / scaled", "lowest errors"]
    return page.table(header, rows, texts=("kind", "lowest errors"))


BENCHMARK = Benchmark(
    parts={name: partial(measure_set, name) for name in SETS},
    page=choice_page,
    options=Options(repeat=2),
)
