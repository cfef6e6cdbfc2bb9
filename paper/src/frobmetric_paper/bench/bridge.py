"""Change of encoder: queries of one encoder search an index of another, beside re-embedding them.

A part is a set of texts with a direction. Two thousand texts are pairs to learn from, others are
queries, and the old vectors of all others are the index. A query's true neighbours are those of its
own old vector: what re-embedding finds.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.neural_network import MLPRegressor

from frobmetric.embeddings import EncoderBridge
from frobmetric.plotting import TrustDisplay
from frobmetric.search.exact import NeighborSearch

from ..harness.benchmark import Benchmark, Options
from ..harness.timing import timed

#: Files of texts, and how the page calls them.
SETS = {"banking77": "BANKING77", "hwu64": "HWU64", "sts_2012_2014": "STS 2012-2014"}
#: Keys of the encoders in a file, and how the page calls them.
ENCODERS = {"wordllama": "WordLlama", "use": "USE"}
N_PAIRS, N_QUERIES, K = 2000, 1000, 10
#: Levels of trust that are checked.
ALPHAS = (0.05, 0.1, 0.2)
#: Estimators by the names of their rows. Without calibration all pairs are fitted.
BRIDGES = {
    "rotation": {"n_maps": 1, "neighbor_weight": 0, "prior": "rotation", "strength": 1e6},
    "one map": {"n_maps": 1, "neighbor_weight": 0},
    "one map, neighbours protected": {"n_maps": 1},
    "8 local maps": {"neighbor_weight": 0},
    "EncoderBridge": {},
}
#: Settings of kernel ridge regression, of which the best on held-out pairs is taken.
KERNELS = tuple((gamma, alpha) for gamma in (1.0, 2.0) for alpha in (0.03, 0.1))


class Texts:
    """Vectors of some texts by a new and an old encoder: pairs, queries and index."""

    def __init__(self, options, name, new, old, seed):
        with np.load(options.path("embeddings", f"{name}.npz")) as file:
            _, rows = np.unique(file["texts"], return_index=True)
            rows = np.random.default_rng(seed).permutation(rows)
            rows = rows[: options.choose(len(rows), 700)]
            self.new, self.old = (
                _at_unit_length(file[key][rows].astype(np.float32)) for key in (new, old)
            )
            self.label = file["label"][rows] if "label" in file else None
        n_pairs = options.choose(N_PAIRS, 200)
        ends = [n_pairs, n_pairs + options.choose(N_QUERIES, 100)]
        numbers = np.arange(len(rows))
        self.pairs, self.queries, self.index = np.split(numbers, ends)
        self.search = NeighborSearch(self.old[self.index])
        self.true = self.search.nearest(self.old[self.queries], K)

    def measure(self, mapped):
        """Return the recall of each query, and measures by labels: any right, share right."""
        found = self.search.nearest(mapped, K)
        result = {"recall": recalls(found, self.true)}
        if self.label is not None:
            is_right = self.label[self.index][found] == self.label[self.queries][:, None]
            result |= {"hit": is_right.any(axis=1), "precision": is_right.mean(axis=1)}
        return result


def recalls(found, true):
    """Return the share of the true neighbours of each query that were found."""
    return np.any(found[:, :, None] == true[:, None, :], axis=1).mean(axis=1)


def _at_unit_length(X):
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)


# Maps: texts -> mapped queries


def map_by_bridge(texts, **parameters):
    """Return the queries mapped by an estimator that fits all pairs, and its certified gap."""
    model = EncoderBridge(calibration=0.0, random_state=0, **parameters)
    pairs = texts.pairs
    model.fit(texts.new[pairs], texts.old[pairs], index=texts.old[texts.index])
    detail = {"setting": str(model.report_.setting), "gap": model.certificate_.relative_gap}
    return model.transform(texts.new[texts.queries]), detail


def map_by_kernel(texts):
    """Return the queries mapped by kernel ridge regression, with options by held-out pairs."""
    held, rest = np.split(texts.pairs, [len(texts.pairs) // 4])
    true = texts.search.nearest(texts.old[held], K)

    def fit(rows, gamma, alpha):
        mean = texts.old[rows].mean(axis=0)
        model = KernelRidge(kernel="rbf", gamma=gamma, alpha=alpha)
        model.fit(texts.new[rows], texts.old[rows] - mean)
        return lambda X: _at_unit_length(model.predict(X) + mean)

    def value(setting):
        found = texts.search.nearest(fit(rest, *setting)(texts.new[held]), K)
        return recalls(found, true).mean()

    best = max(KERNELS, key=value)
    text = f"gamma {best[0]:g}, alpha {best[1]:g}"
    return fit(texts.pairs, *best)(texts.new[texts.queries]), {"setting": text, "gap": None}


def map_by_network(texts, *, max_iter):
    """Return the queries mapped by a network of one hidden layer, stopped early."""
    model = MLPRegressor(
        hidden_layer_sizes=(1024,), early_stopping=True, max_iter=max_iter, random_state=0
    )
    model.fit(texts.new[texts.pairs], 10 * texts.old[texts.pairs])
    detail = {"setting": f"1,024 hidden units, {model.n_iter_} epochs", "gap": None}
    return _at_unit_length(model.predict(texts.new[texts.queries])), detail


def maps(options):
    """Return the maps by the names of their rows."""
    bridges = {name: partial(map_by_bridge, **given) for name, given in BRIDGES.items()}
    network = partial(map_by_network, max_iter=options.choose(40, 5))
    return bridges | {"kernel ridge": map_by_kernel, "neural network": network}


# Parts


def measure_trust(texts):
    """Return trust and recall of each query with the default estimator."""
    pairs = texts.pairs
    model = EncoderBridge(random_state=0)
    model.fit(texts.new[pairs], texts.old[pairs], index=texts.old[texts.index])
    new = texts.new[texts.queries]
    recall = texts.measure(model.transform(new))["recall"]
    row = {"trust": model.trust(new), "recall": recall, "good_recall": model.good_recall}
    return {name: np.round(value, 5).tolist() for name, value in row.items()}


def measure_direction(name, new, old, options):
    """Return for each seed the measures of every map, and the trust of each query."""

    def measure(seed):
        texts = Texts(options, name, new, old, seed)
        run = {"n_index": len(texts.index), "rows": {}}
        run["re-embedding"] = _means(texts.measure(texts.old[texts.queries]))
        for label, method in maps(options).items():
            seconds, (mapped, detail) = timed(partial(method, texts))
            run["rows"][label] = _means(texts.measure(mapped)) | detail | {"seconds": seconds}
        run["trust"] = measure_trust(texts)
        return run

    return options.runs(options.choose(options.repeat, 1), measure)


def _means(measures):
    """Return mean and standard error over queries of each measure."""
    return {
        name: [float(np.mean(values)), float(np.std(values) / np.sqrt(len(values)))]
        for name, values in measures.items()
    }


# Page


def mean_of(runs, *keys):
    """Return the mean over seeds of a measure, and its standard error over queries."""
    values = []
    for run in runs:
        for key in keys:
            run = run.get(key) if isinstance(run, dict) else None
        values.append(run)
    if any(value is None for value in values):
        return None, None
    means, errors = np.array(values, dtype=float).T
    return float(means.mean()), float(np.sqrt(np.sum(errors**2)) / len(errors))


def map_rows(title, runs):
    """Return the rows of a set and direction: recalls in percent with their intervals."""
    reference = {name: mean_of(runs, "re-embedding", name)[0] for name in ("hit", "precision")}
    rows = []
    for label in runs[0]["rows"]:
        mean, error = mean_of(runs, "rows", label, "recall")
        half = 196 * error
        row = {"set": title, "map": label, "recall": f"{100 * mean:.1f} ± {half:.1f}"}
        for name, of_old in reference.items():
            value, _ = mean_of(runs, "rows", label, name)
            ratio = None if value is None else f"{100 * value:.1f} ({100 * value / of_old:.1f})"
            row[name] = ratio
        row["seconds"] = float(np.mean([run["rows"][label]["seconds"] for run in runs]))
        row["setting"] = runs[0]["rows"][label]["setting"]
        gaps = [run["rows"][label]["gap"] for run in runs]
        rows.append(row | {"gap": None if gaps[0] is None else max(gaps)})
    return rows


def trust_rows(title, runs):
    """Return for each level how many queries are trusted, and how good they are."""
    rows = []
    for alpha in ALPHAS:
        shares = []
        for run in runs:
            trust, recall = (np.array(run["trust"][name]) for name in ("trust", "recall"))
            is_trusted, is_bad = trust >= 1 - alpha - 1e-5, recall < run["trust"]["good_recall"]
            good = recall[is_trusted].mean() if is_trusted.any() else np.nan
            all_recall = np.where(is_trusted, recall, 1.0).mean()
            both = np.mean(is_trusted & is_bad)
            shares.append([is_trusted.mean(), both, good, recall.mean(), all_recall])
        names = ("trusted", "both", "good", "all", "mixed")
        row = dict(zip(names, 100 * np.nanmean(shares, axis=0), strict=True))
        rows.append({"set": title, "alpha": alpha} | row)
    return rows


def title_of(part):
    """Return the title of a part: the set, the new encoder and the old one."""
    name, new, old = part.split("/")
    return f"{SETS[name]}, {ENCODERS[new]} → {ENCODERS[old]}"


def bridge_page(parts):
    """Return the rows of all tables."""
    titled = {title_of(part): runs for part, runs in parts.items() if runs}
    some = next(iter(titled.values()), [])
    return {
        "n_seeds": str(len(some)),
        "maps": [row for title, runs in titled.items() for row in map_rows(title, runs)],
        "trust": [row for title, runs in titled.items() for row in trust_rows(title, runs)],
    }


def draw(parts, path):
    """Draw the curves of trust of all parts."""
    curves = {}
    for part, runs in parts.items():
        trust, recall = (
            np.concatenate([run["trust"][name] for run in runs]) for name in ("trust", "recall")
        )
        curves[title_of(part)] = (trust, recall)
    TrustDisplay.from_scores(curves).figure_.savefig(path, dpi=110)


def _parts():
    first, second = ENCODERS
    for name in SETS:
        for new, old in ((first, second), (second, first)):
            yield f"{name}/{new}/{old}", partial(measure_direction, name, new, old)


BENCHMARK = Benchmark(parts=dict(_parts()), page=bridge_page, draw=draw, options=Options(repeat=3))
