"""Similarity of shoes as people see it: a metric from 283,770 comparisons of 85 shoes.

Folds are over shoes: all three shoes of a test comparison are new, and comparisons that mix are
left out. C and prior are chosen on folds over the training shoes alone. The split by comparison has
an ordinal embedding beside it, which places every shoe that it has seen and no other.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from frobmetric import TripletFrobMetric
from frobmetric.evaluation import ObjectSplit, accuracy_difference, comparison_accuracy

from ..data.pairs import load_comparisons
from ..harness.benchmark import Benchmark, Options
from ..harness.timing import timed

GRID = [{"C": C, "prior": prior} for prior in (None, "identity") for C in (1e2, 1e3, 1e4)]
GRID_OF_SEEN = [*GRID, {"C": 1e5, "prior": None}]
SIZES = (100, 300, 1000, 3000, 10_000, 30_000, None)
#: Ordinal embeddings: dimensions, and how strongly places are drawn to the centre.
EMBEDDINGS = [(d, pull) for d in (2, 5, 10, 20) for pull in (1e-3, 1e-2, 3e-2, 1e-1, 3e-1)]
#: Largest number of comparisons by which settings are chosen on the split by comparison.
MOST_FOR_CHOICE = 30_000
UNIT = "learned, rows of unit length"


def load(options):
    """Return the features, those of unit length, and the triplets; few for the small version."""
    data = load_comparisons("zappos", folder=options.folder)
    triplets = data.triplets
    if options.is_quick:
        triplets = np.random.default_rng(0).permutation(triplets)[:20_000]
    return data.X, data.X / np.linalg.norm(data.X, axis=1, keepdims=True), triplets


def is_right(points, triplets):
    """Return for each triplet whether the nearer point is nearer."""
    square = np.sum(points**2, axis=1)
    distance = square[:, None] + square - 2 * points @ points.T
    anchor, near, far = triplets.T
    return distance[anchor, near] < distance[anchor, far]


def predict(X, train, test, setting):
    """Return whether a learned metric is right on other triplets, its seconds and its gap."""
    metric = TripletFrobMetric(preprocessor=X, n_components="rank", **setting)
    seconds, _ = timed(lambda: metric.fit(train))
    return is_right(X @ metric.components_.T, test), seconds, metric.certificate_.relative_gap


def choose_setting(X, triplets, seed, grid):
    """Return the setting that is best on folds over the shoes of these triplets."""
    folds = list(ObjectSplit(4, random_state=seed).split(triplets))

    def accuracy(setting):
        return np.mean([predict(X, triplets[a], triplets[b], setting)[0].mean() for a, b in folds])

    return max(grid, key=accuracy)


def predict_unseen(options, seed):
    """Return for each method whether it is right on new shoes, the triplets, and the folds."""
    X, unit, triplets = load(options)
    points = {"Euclid": X, "Euclid, rows of unit length": unit, "learned": X, UNIT: unit}
    right, tested, folds = {name: [] for name in points}, [], []
    for train, test in ObjectSplit(5, random_state=seed).split(triplets):
        known, new = triplets[train], triplets[test]
        tested.append(new)
        for name, rows in points.items():
            if name.startswith("Euclid"):
                right[name].append(is_right(rows, new))
                continue
            setting = choose_setting(rows, known, seed, options.choose(GRID, GRID[1:2]))
            answer, seconds, gap = predict(rows, known, new, setting)
            right[name].append(answer)
            sizes = {"n_train": len(known), "n_test": len(new), "accuracy": answer.mean()}
            folds.append({"points": name, **setting, **sizes, "seconds": seconds, "gap": gap})
    joined = {name: np.concatenate(parts) for name, parts in right.items()}
    return joined, np.concatenate(tested), folds


def measure_unseen(options):
    """Return accuracies with intervals over shoes, and gains over Euclid."""
    right, tested, folds = predict_unseen(options, 0)

    def plain(value, low, high):
        text = f"{100 * value:.1f} % ({100 * low:.1f} ... {100 * high:.1f})"
        return {"value": value, "low": low, "high": high, "text": text}

    accuracies, gains = {}, {}
    for name, values in right.items():
        found = comparison_accuracy(values, objects=tested)
        accuracies[name] = plain(found.value, found.low, found.high)
        if name != "Euclid":
            gain = accuracy_difference(values, right["Euclid"], objects=tested)
            gains[name] = plain(gain.estimate, *gain.interval)
    return {"accuracies": accuracies, "gains": gains, "folds": folds}


def measure_seeds(options):
    """Return the gains over Euclid with other divisions into folds."""
    seeds, gains = list(range(1, options.choose(options.repeat, 2))), {UNIT: [], "learned": []}
    for seed in seeds:
        right, *_ = predict_unseen(options, seed)
        for name, values in gains.items():
            values.append(right[name].mean() - right["Euclid"].mean())
    return {"seeds": seeds, "gain": gains[UNIT], "plain_gain": gains["learned"]}


def measure_curve(options):
    """Return accuracies on new shoes by the number of comparisons learned from."""
    _, X, triplets = load(options)
    rng, setting = np.random.default_rng(0), {"C": 1e3, "prior": None}
    folds = [(rng.permutation(a), b) for a, b in ObjectSplit(5, random_state=0).split(triplets)]
    rows = []
    for size in options.choose(SIZES, SIZES[:2]):
        fits = [predict(X, triplets[a[:size]], triplets[b], setting) for a, b in folds]
        n = int(np.mean([len(train[:size]) for train, _ in folds]))
        seconds = [fit[1] for fit in fits]
        rows.append({"accuracy": [fit[0].mean() for fit in fits], "seconds": seconds, "n": n})
    return rows


def place(triplets, n, dimensions, pull, seed=0):
    """Return an ordinal embedding: places of n objects of largest logistic likelihood."""
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
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200})
    return found.x.reshape(n, dimensions)


def measure_by_comparison(options):
    """Return accuracies on new comparisons of known shoes, and Euclid's on all."""
    plain, X, triplets = load(options)
    order, rows = np.random.default_rng(0).permutation(triplets), []
    test, train = order[: len(order) // 5], order[len(order) // 5 :]
    grid, embeddings = options.choose((GRID_OF_SEEN, EMBEDDINGS), (GRID[:1], EMBEDDINGS[:2]))
    for size in options.choose(SIZES, SIZES[:2]):
        known = train[:size]
        few = known[:MOST_FOR_CHOICE]
        inner, held = few[len(few) // 5 :], few[: len(few) // 5]
        setting = max(grid, key=lambda each: predict(X, inner, held, each)[0].mean())
        where = max(embeddings, key=lambda e: is_right(place(inner, len(X), *e), held).mean())
        metric = predict(X, known, test, setting)[0].mean()
        embedding = is_right(place(known, len(X), *where), test).mean()
        rows.append({"n": len(known), "metric": metric, "embedding": embedding})
        rows[-1]["chosen"] = [setting, where]
    return {"euclid": is_right(plain, triplets).mean(), "rows": rows}


def draw(parts, path):
    """Draw accuracies over the number of comparisons."""
    if not {"unseen", "curve", "by_comparison"} <= set(parts):
        return
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    curve, seen = parts["curve"], parts["by_comparison"]["rows"]
    accuracy = 100 * np.array([row["accuracy"] for row in curve])
    spread = accuracy.std(axis=1, ddof=1) / np.sqrt(accuracy.shape[1])
    n, style = [row["n"] for row in curve], {"marker": "o", "label": "learned metric"}
    left.errorbar(n, accuracy.mean(axis=1), spread, capsize=2, **style)
    left.set(title="shoes never seen", ylabel="comparisons predicted, %")
    n = [row["n"] for row in seen]
    right.plot(n, [100 * row["metric"] for row in seen], **style)
    embedding = [100 * row["embedding"] for row in seen]
    right.plot(n, embedding, marker="s", label="ordinal embedding")
    right.set(title="comparisons never seen, of shoes that were")
    euclid = parts["unseen"]["accuracies"]["Euclid"]["value"], parts["by_comparison"]["euclid"]
    for axes, level in zip((left, right), euclid, strict=True):
        axes.axhline(100 * level, color="grey", ls="--", label="Euclid")
        axes.set(xscale="log", xlabel="comparisons learned from")
        axes.legend(loc="lower right")
    figure.savefig(path, dpi=110)


def shoes_page(parts):
    """Return the tables of all parts."""
    values = {}
    if unseen := parts.get("unseen"):
        gains = {name: gain["text"] for name, gain in unseen["gains"].items()}
        values["unseen"] = [
            {"name": name, "text": accuracy["text"], "gain": gains.get(name)}
            for name, accuracy in unseen["accuracies"].items()
        ]
    if seeds := parts.get("seeds"):
        values["seeds"] = ", ".join(map(str, seeds["seeds"]))
        for name in ("gain", "plain_gain"):
            values[name] = ", ".join(f"{100 * value:.1f}" for value in seeds[name])
    values["curve"] = [
        row | {"right": np.mean(row["accuracy"]), "fit": np.median(row["seconds"])}
        for row in parts.get("curve", [])
    ]
    if seen := parts.get("by_comparison"):
        values |= {"by_comparison": seen["rows"], "euclid": f"{seen['euclid']:.1%}"}
    return values


PARTS = {
    "unseen": measure_unseen,
    "seeds": measure_seeds,
    "curve": measure_curve,
    "by_comparison": measure_by_comparison,
}
BENCHMARK = Benchmark(parts=PARTS, page=shoes_page, draw=draw, options=Options(repeat=5))
