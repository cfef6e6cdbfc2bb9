"""Time and memory of learning maps of embeddings, and weights of fields, at full size.

Short texts by a small encoder are lifted to 1,536 random Fourier features, which stand in for the
vectors of a large one. Records of many fields are drawn, with answers by hidden weights. Each row
is measured in a process of its own, for its memory.
"""

import time
from itertools import product

import numpy as np

from frobmetric.embeddings import EmbeddingAdapter, learn_query_map, learn_structured_map

from ..data.embeddings import INTENT_NAMES, load_intents
from ..harness.benchmark import Benchmark, Options
from ..harness.timing import in_new_process, peak_memory

TOL = 1e-3
#: Number of queries, and how many near and far documents each of them compares.
QUERY_SIZES = ((2_000, 5, 10), (10_000, 2, 5))
#: Weights of the loss: about the best one for new queries, and ten times more.
QUERY_CS = (1e3, 1e4)
N_DOCUMENTS, N_FEATURES = 10_000, 1_536
#: Sizes of the small version, of drawn vectors.
QUICK_SIZES, QUICK_DOCUMENTS, QUICK_FEATURES = ((60, 2, 5),), 300, 32
#: Queries whose nearest documents are searched at a time.
BLOCK = 500
#: Fields of a record, features of a field, records, and answers that compare them.
FIELD_SIZES, QUICK_FIELD_SIZES = (50, 4, 20_000, 1_000_000), (6, 2, 200, 2_000)
#: Weights of the loss for fields: from weights near one to weights that only fit the answers.
FIELD_CS = (1e3, 1e4, 1e5, 1e6)
FIELD_TOL = 1e-6
#: Labelled samples of a fit as a user calls it; the larger encoder has 512 features.
N_LABELS, QUICK_LABELS = 10_000, 200


def texts(folder):
    """Return the vectors and intents of all texts, in random order."""
    parts = [load_intents(name, "wordllama", folder=folder) for name in INTENT_NAMES]
    starts = np.cumsum([0, *(part.y.max() + 1 for part in parts)])
    y = np.concatenate([part.y + start for part, start in zip(parts, starts, strict=False)])
    order = np.random.default_rng(0).permutation(len(y))
    return np.vstack([part.X for part in parts])[order], y[order]


def drawn_texts(n):
    """Return vectors of unit length around ten means, in place of texts."""
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=n)
    X = rng.standard_normal((10, 16))[y] + rng.standard_normal((n, 16))
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def lifted(X, n_features):
    """Return random Fourier features of a Gaussian kernel, rows of unit length."""
    rng = np.random.default_rng(0)
    phases = X @ rng.standard_normal((X.shape[1], n_features // 2))
    return np.hstack([np.cos(phases), np.sin(phases)]) / np.sqrt(n_features // 2)


def compared_documents(A, y_A, B, y_B, n_near, n_far):
    """Return rows (query, near, query, far): the nearest of its intent and the nearest others."""
    rows = []
    for start in range(0, len(A), BLOCK):
        scores = A[start : start + BLOCK] @ B.T
        is_same = y_A[start : start + BLOCK, None] == y_B
        near = np.argsort(np.where(is_same, -scores, np.inf), axis=1)[:, :n_near]
        far = np.argsort(np.where(is_same, np.inf, -scores), axis=1)[:, :n_far]
        for query, (some, others) in enumerate(zip(near, far, strict=True), start):
            rows += [(query, b, query, d) for b, d in product(some, others)]
    return np.array(rows)


def query_problem(task):
    """Return queries, documents and the rows that compare them."""
    n_queries, n_documents = task["n_queries"], task["n_documents"]
    n = n_queries + n_documents
    X, y = texts(task["folder"]) if task["folder"] else drawn_texts(n)
    Z = lifted(X[:n], task["n_features"])
    A, B, y_A, y_B = Z[:n_queries], Z[n_queries:], y[:n_queries], y[n_queries:n]
    return A, B, compared_documents(A, y_A, B, y_B, task["n_near"], task["n_far"])


def learn_queries(task):
    """Learn a map of queries in a worker: seconds, peak memory, gap."""
    A, B, index = query_problem(task)
    before = time.process_time(), time.perf_counter()
    learned = learn_query_map(A, B, index, None, C=task["C"], tol=TOL)
    cpu, wall = time.process_time() - before[0], time.perf_counter() - before[1]
    row = {"n_queries": len(A), "n_documents": len(B), "n_features": A.shape[1], "C": task["C"]}
    row |= {"n_rows": len(index), "seconds": wall, "cpu_seconds": cpu}
    row |= {"gigabytes": peak_memory() / 2**30, "steps": learned.solution.n_iter}
    wrong = {"wrong_before": wrong_share(A, B, index)}
    wrong["wrong_after"] = wrong_share(A @ learned.anchor_map, B, index)
    return {}, {"row": row | wrong | {"gap": learned.certificate.relative_gap}}


def wrong_share(A, B, index):
    """Return the share of rows whose first score is not the larger one."""
    a, near, _, far = index.T
    blocks = np.array_split(np.arange(len(index)), max(1, len(index) // 5000))
    margins = [np.einsum("ri,ri->r", A[a[r]], B[near[r]] - B[far[r]]) for r in blocks]
    return float(np.mean(np.concatenate(margins) <= 0))


def measure_queries(options):
    """Return a row for each size and C."""
    rows, sizes = [], options.choose(QUERY_SIZES, QUICK_SIZES)
    for (n_queries, n_near, n_far), C in product(sizes, QUERY_CS):
        task = {
            "folder": options.choose(str(options.folder), ""),
            "n_queries": n_queries,
            "n_documents": options.choose(N_DOCUMENTS, QUICK_DOCUMENTS),
            "n_features": options.choose(N_FEATURES, QUICK_FEATURES),
            "n_near": n_near,
            "n_far": n_far,
            "C": C,
        }
        rows.append(in_new_process(f"{__name__}:learn_queries", task, options)["row"])
        options.store(rows)
    return rows


def field_problem(n_fields, size, n_records, n_answers):
    """Return records, answers to "which is closer to a, b or d?" with errors, and true weights.

    A third of the fields do not count. About one answer in seven is wrong.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_records, n_fields * size))
    weights = rng.gamma(0.5, 2.0, n_fields) * (np.arange(n_fields) % 3 > 0)
    index = rng.integers(0, n_records, (n_answers, 4))
    index[:, 2] = index[:, 0]
    near, far = (weighted_distances(X, pair, np.repeat(weights, size)) for pair in halves(index))
    margins = far - near
    errors = rng.logistic(size=n_answers) * margins.std() / 4
    is_turned = margins + errors < 0
    return X, np.where(is_turned[:, None], index[:, [2, 3, 0, 1]], index), weights


def halves(index):
    """Return the two pairs of each row."""
    return index[:, :2], index[:, 2:]


def weighted_distances(X, pairs, weights):
    """Return weighted squared distances of pairs, some pairs at a time."""
    blocks = np.array_split(pairs, max(1, len(pairs) // 20_000))
    return np.concatenate([((X[pair[:, 0]] - X[pair[:, 1]]) ** 2) @ weights for pair in blocks])


def learn_fields(task):
    """Learn weights of fields in a worker: seconds in all, and of the solver alone."""
    n_fields, size, *_ = task["sizes"]
    X, index, weights = field_problem(*task["sizes"])
    options = {"structure": [size] * n_fields, "C": task["C"], "tol": FIELD_TOL}
    learn_structured_map(X, index[:100], None, **options)  # numba loads its loops
    before = time.process_time(), time.perf_counter()
    learned = learn_structured_map(X, index, None, **options)
    cpu, wall = time.process_time() - before[0], time.perf_counter() - before[1]
    row = {"n_fields": n_fields, "n_features": X.shape[1], "n_rows": len(index), "C": task["C"]}
    row |= {"seconds": wall, "solver_seconds": learned.solution.history[-1].seconds}
    row |= {"cpu_seconds": cpu, "gigabytes": peak_memory() / 2**30}
    row |= {"steps": learned.solution.n_iter, "gap": learned.certificate.relative_gap}
    return {}, {"row": row | {"correlation": float(np.corrcoef(weights, learned.weights)[0, 1])}}


def measure_structure(options):
    """Return a row for each C."""
    rows = []
    for C in FIELD_CS:
        task = {"sizes": options.choose(FIELD_SIZES, QUICK_FIELD_SIZES), "C": C}
        rows.append(in_new_process(f"{__name__}:learn_fields", task, options)["row"])
        options.store(rows)
    return rows


def fit_adapter(task):
    """Fit an adapter to labels without any option, in a worker: seconds of the whole call."""
    n = task["n_labels"]
    if task["folder"]:
        intents = load_intents("banking77", "use", folder=task["folder"])
        X, y = intents.X[:n], intents.y[:n]
    else:
        X, y = drawn_texts(n)
    before = time.process_time(), time.perf_counter()
    adapter = EmbeddingAdapter().fit(X, y)
    cpu, wall = time.process_time() - before[0], time.perf_counter() - before[1]
    row = {"n_samples": len(X), "n_features": X.shape[1], "n_classes": len(np.unique(y))}
    row |= {"seconds": wall, "cpu_seconds": cpu, "gigabytes": peak_memory() / 2**30}
    row |= {"strength": adapter.strength_, "gap": adapter.certificate_.relative_gap}
    return {}, {"row": row | {"report": str(adapter.report_)}}


def measure_fit(options):
    """Return the best of some runs of the same fit."""
    folder = options.choose(str(options.folder), "")
    task = {"folder": folder, "n_labels": options.choose(N_LABELS, QUICK_LABELS)}
    runs = [
        in_new_process(f"{__name__}:fit_adapter", task, options)["row"]
        for _ in range(options.choose(options.repeat, 1))
    ]
    return [min(runs, key=lambda row: row["seconds"])]


def speed_page(parts):
    """Return the rows of each part."""
    return {f"{name}_rows": rows for name, rows in parts.items()}


BENCHMARK = Benchmark(
    parts={"query": measure_queries, "structure": measure_structure, "fit": measure_fit},
    page=speed_page,
    options=Options(threads=2),
)
