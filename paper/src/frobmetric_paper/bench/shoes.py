"""What people find similar in shoes: a metric from 283,770 comparisons, judged on shoes never seen.

    python benchmarks/shoes.py [--folder DIR] [--seeds 5]

85 shoes have 4,096 features each. Folds are over shoes: all three shoes of a test comparison are
new, and comparisons that mix are left out. C and prior are chosen on folds over the training shoes
alone. Then a learning curve, and the same on a split by comparison, beside an ordinal embedding,
which has a place for every shoe that it has seen and for no other. Writes
benchmarks/results/shoes.json, shoes.md and shoes.png.
"""

import argparse
import json
import time
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from frobmetric import ObjectSplit, TripletFrobMetric, accuracy_difference, comparison_accuracy

from ..data.pairs import load_comparisons
from .record import as_markdown, run_record

RESULTS = Path(__file__).parents[3] / "results"
GRID = [{"C": C, "prior": prior} for prior in (None, "identity") for C in (1e2, 1e3, 1e4)]
GRID_OF_SEEN = [*GRID, {"C": 1e5, "prior": None}]
SIZES = (100, 300, 1000, 3000, 10_000, 30_000, None)
#: Of the ordinal embedding: dimensions, and how strongly places are drawn to the centre.
EMBEDDINGS = [(d, pull) for d in (2, 5, 10, 20) for pull in (1e-3, 1e-2, 3e-2, 1e-1, 3e-1)]
#: On the split by comparison both choose on at most so many comparisons.
MOST_FOR_CHOICE = 30_000


def unit_rows(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def right(points, triplets):
    """Whether Euclid puts near before far, for each triplet."""
    square = np.sum(points**2, axis=1)
    distance = square[:, None] + square - 2 * points @ points.T
    anchor, near, far = triplets.T
    return distance[anchor, near] < distance[anchor, far]


def learner(X, options):
    return TripletFrobMetric(preprocessor=X, n_components="rank", **options)


def predicted(X, train, test, options):
    """Whether the metric learned from some triplets is right on others; and its seconds, gap."""
    began = time.perf_counter()
    metric = learner(X, options).fit(train)
    seconds = time.perf_counter() - began
    return right(X @ metric.components_.T, test), seconds, metric.certificate_.relative_gap


def chosen(X, triplets, seed):
    """The options that are best on folds over the shoes of these triplets."""
    folds = list(ObjectSplit(4, random_state=seed).split(triplets))
    scores = [
        np.mean([predicted(X, triplets[a], triplets[b], options)[0].mean() for a, b in folds])
        for options in GRID
    ]
    return GRID[int(np.argmax(scores))]


def unseen(X, triplets, seed):
    """Predictions on shoes never seen, over five folds, by each method."""
    plain, unit = X, unit_rows(X)
    found = {
        "Euclid": [],
        "Euclid, rows of unit length": [],
        "learned": [],
        "learned, rows of unit length": [],
    }
    tested, details = [], []
    for train, test in ObjectSplit(5, random_state=seed).split(triplets):
        known, new = triplets[train], triplets[test]
        found["Euclid"].append(right(plain, new))
        found["Euclid, rows of unit length"].append(right(unit, new))
        for name, points in (("learned", plain), ("learned, rows of unit length", unit)):
            options = chosen(points, known, seed)
            answer, seconds, gap = predicted(points, known, new, options)
            found[name].append(answer)
            details.append(
                {
                    "points": name,
                    **options,
                    "n_train": len(known),
                    "n_test": len(new),
                    "seconds": seconds,
                    "gap": gap,
                    "accuracy": float(answer.mean()),
                }
            )
        tested.append(new)
    return (
        {name: np.concatenate(parts) for name, parts in found.items()},
        np.concatenate(tested),
        details,
    )


def curve(X, triplets, options, seed):
    """Accuracy on shoes never seen against the number of comparisons learned from."""
    rng, rows = np.random.default_rng(seed), {size: [] for size in SIZES}
    for train, test in ObjectSplit(5, random_state=seed).split(triplets):
        order = rng.permutation(train)
        for size in SIZES:
            answer, seconds, _ = predicted(X, triplets[order[:size]], triplets[test], options)
            rows[size].append((float(answer.mean()), seconds, len(order[:size])))
    return [
        {
            "n": int(np.mean([n for *_, n in found])),
            "accuracy": [a for a, *_ in found],
            "seconds": [s for _, s, _ in found],
        }
        for found in rows.values()
    ]


def place(triplets, n, dimensions, pull, seed=0):
    """An ordinal embedding: places of n objects of largest logistic likelihood."""
    near, far = (triplets[:, 0] * n + triplets[:, i] for i in (1, 2))

    def loss(flat):
        Y = flat.reshape(n, dimensions)
        square = np.sum(Y**2, axis=1)
        D = (square[:, None] + square - 2 * Y @ Y.T).ravel()
        gap = D[near] - D[far]
        slope = expit(gap) / len(triplets)
        W = (np.bincount(near, slope, n * n) - np.bincount(far, slope, n * n)).reshape(n, n)
        W = W + W.T
        gradient = 2 * (W.sum(axis=1)[:, None] * Y - W @ Y) + 2 * pull * Y / n
        return np.logaddexp(0, gap).mean() + pull * np.sum(Y**2) / n, gradient.ravel()

    start = 0.1 * np.random.default_rng(seed).normal(size=n * dimensions)
    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200}).x.reshape(
        n, dimensions
    )


def by_comparison(X, triplets, seed):
    """Accuracy on comparisons never seen, of shoes that were, against how many are learned from."""
    order = np.random.default_rng(seed).permutation(triplets)
    test, train = order[: len(order) // 5], order[len(order) // 5 :]
    rows = []
    for size in SIZES:
        known = train[:size]
        few = known[:MOST_FOR_CHOICE]
        inner, held = few[len(few) // 5 :], few[: len(few) // 5]
        options = max(GRID_OF_SEEN, key=lambda o: predicted(X, inner, held, o)[0].mean())
        where = max(EMBEDDINGS, key=lambda e: right(place(inner, len(X), *e), held).mean())
        rows.append(
            {
                "n": len(known),
                "metric": float(predicted(X, known, test, options)[0].mean()),
                "embedding": float(right(place(known, len(X), *where), test).mean()),
                "chosen": [options, where],
            }
        )
    return rows


def draw(result, path):
    mpl.use("agg")
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
    rows = result["curve"]
    n = [row["n"] for row in rows]
    mean = np.array([np.mean(row["accuracy"]) for row in rows])
    spread = np.array([np.std(row["accuracy"], ddof=1) for row in rows]) / np.sqrt(5)
    axes[0].errorbar(n, 100 * mean, 100 * spread, marker="o", capsize=2, label="learned metric")
    axes[0].axhline(
        100 * result["accuracies"]["Euclid"]["value"], color="grey", ls="--", label="Euclid"
    )
    axes[0].set(title="shoes never seen", ylabel="comparisons predicted, %")
    rows = result["by_comparison"]
    n = [row["n"] for row in rows]
    axes[1].plot(n, [100 * row["metric"] for row in rows], marker="o", label="learned metric")
    axes[1].plot(n, [100 * row["embedding"] for row in rows], marker="s", label="ordinal embedding")
    axes[1].axhline(100 * result["euclid_all"], color="grey", ls="--", label="Euclid")
    axes[1].set(title="comparisons never seen, of shoes that were")
    for ax in axes:
        ax.set(xscale="log", xlabel="comparisons learned from")
        ax.legend(loc="lower right")
    figure.savefig(path, dpi=110)


def as_table(result):
    lines = [
        "Shoes never seen, five folds over shoes, intervals of 95 % over shoes:",
        "",
        "| | right | better than Euclid by |",
        "|---|---|---|",
    ]
    for name, found in result["accuracies"].items():
        gain = result["gains"].get(name, "")
        lines.append(f"| {name} | {found['text']} | {gain and gain['text']} |")
    lines += [
        "",
        f"Other divisions into folds (seeds {result['seeds']}): the gain of the learned "
        "metric with rows of unit length over Euclid is "
        + ", ".join(f"{100 * g:.1f}" for g in result["gain_of_seed"])
        + " points; without "
        "that, " + ", ".join(f"{100 * g:.1f}" for g in result["plain_gain_of_seed"]) + ".",
        "",
        "Learning curve (same folds, C = 1e3, no prior, rows of unit length):",
        "",
        "| comparisons | right | fit |",
        "|---|---|---|",
    ]
    lines += [
        f"| {row['n']:,} | {np.mean(row['accuracy']):.1%} | {np.median(row['seconds']):.2f} s |"
        for row in result["curve"]
    ]
    lines += [
        "",
        "Split by comparison, all shoes seen (Euclid "
        f"{result['euclid_all']:.1%}; rows of unit length for the metric):",
        "",
        "| comparisons | learned metric | ordinal embedding |",
        "|---|---|---|",
    ]
    lines += [
        f"| {row['n']:,} | {row['metric']:.1%} | {row['embedding']:.1%} |"
        for row in result["by_comparison"]
    ]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    data = load_comparisons("zappos", folder=options.folder)
    found, tested, details = unseen(data.X, data.triplets, 0)
    texts = {name: comparison_accuracy(values, objects=tested) for name, values in found.items()}
    gains = {
        name: accuracy_difference(values, found["Euclid"], objects=tested)
        for name, values in found.items()
        if name != "Euclid"
    }
    result = {
        "accuracies": {
            k: {"value": a.value, "low": a.low, "high": a.high, "n": a.n, "text": str(a)}
            for k, a in texts.items()
        },
        "gains": {
            k: {"value": a.value, "low": a.low, "high": a.high, "text": str(a)}
            for k, a in gains.items()
        },
        "folds": details,
    }
    print(as_words(result), flush=True)
    result["curve"] = curve(unit_rows(data.X), data.triplets, {"C": 1e3, "prior": None}, 0)
    result["euclid_all"] = float(right(data.X, data.triplets).mean())
    result["by_comparison"] = by_comparison(unit_rows(data.X), data.triplets, 0)
    others = list(range(1, options.seeds))
    result["seeds"], result["gain_of_seed"], result["plain_gain_of_seed"] = others, [], []
    for seed in others:
        again, *_ = unseen(data.X, data.triplets, seed)
        euclid = again["Euclid"].mean()
        result["gain_of_seed"].append(again["learned, rows of unit length"].mean() - euclid)
        result["plain_gain_of_seed"].append(again["learned"].mean() - euclid)
        print(seed, result["gain_of_seed"][-1], flush=True)
    record = run_record()
    (RESULTS / "shoes.json").write_text(json.dumps({"run": record, **result}, indent=1))
    (RESULTS / "shoes.md").write_text(
        f"{as_table(result)}\n\n![Accuracy against the number of comparisons](shoes.png)\n\n"
        f"{as_markdown(record)}\n"
    )
    draw(result, RESULTS / "shoes.png")


def as_words(result):
    return {name: found["text"] for name, found in result["accuracies"].items()}


if __name__ == "__main__":
    main()
