"""Learned maps in other programs: what they make of the exported files, beside `transform`.

Each part is one program. Parts whose program is not installed say so on the page; torch may be in
another environment than the others, from which its parts are measured alone (``--only``).
"""

import functools
import json
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from frobmetric import FrobMetric
from frobmetric.export.formats import export, export_recall, exported_map, register_onnx

from ..data.labelled import load
from ..harness.benchmark import Benchmark, Options
from ..harness.timing import timed

#: Neighbours that vote, and the relative difference of distances that counts as none.
K, TIE = 3, 1e-6
#: Samples that the small version has of each data set.
FEW = 300


@dataclass(frozen=True, eq=False)
class Problem:
    """Training and test samples in single precision, and a metric learned in double precision."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    model: FrobMetric

    @property
    def samples(self):
        """All samples, those of the training part first."""
        return np.vstack([self.X, self.X_test])


@functools.cache
def problems(options):
    """Return a `Problem` by the name of its data."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0, stratify=y)
    usps = load("usps", folder=options.folder, pca=False)
    parts = {
        "digits": (X, y, X_test, y_test),
        "USPS": (usps.X_train, usps.y_train, usps.X_test, usps.y_test),
    }
    n = options.choose(None, FEW)
    found = {}
    for name, (X, y, X_test, y_test) in parts.items():
        X, X_test = (part[:n].astype(np.float32) for part in (X, X_test))
        model = FrobMetric().fit(X.astype(np.float64), y[:n])
        found[name] = Problem(X, y[:n], X_test, y_test[:n], model)
    return found


# Programs: a function of the model, a folder and samples that returns mapped samples


def with_npy(model, folder, X):
    """Return samples mapped by the matrix as npy."""
    export(model, folder / "map.npy", "npy")
    return X @ np.load(folder / "map.npy").T


def with_safetensors(model, folder, X):
    """Return samples mapped by the matrix as safetensors."""
    from safetensors.numpy import load_file

    export(model, folder / "map.safetensors", "safetensors")
    return X @ load_file(folder / "map.safetensors")["weight"].T


def with_onnx(model, folder, X):
    """Return samples mapped by a graph of onnx."""
    import onnxruntime

    export(model, folder / "map.onnx", "onnx")
    session = onnxruntime.InferenceSession(folder / "map.onnx")
    return session.run(["mapped"], {"X": X})[0]


def with_faiss(model, folder, X):
    """Return samples mapped by an index of faiss."""
    import faiss

    export(model, folder / "map.faiss", "faiss")
    index = faiss.read_index(str(folder / "map.faiss"))
    return faiss.downcast_VectorTransform(index.chain.at(0)).apply(X)


def with_duckdb(model, folder, X):
    """Return samples mapped by a function of DuckDB."""
    import duckdb

    export(model, folder / "map.sql", "sql")
    with closing(duckdb.connect()) as database:
        database.execute((folder / "map.sql").read_text())
        database.execute("CREATE TABLE items (id INTEGER, embedding FLOAT[])")
        rows = [[number, row.tolist()] for number, row in enumerate(X)]
        for start in range(0, len(rows), 500):
            places = ", ".join(["(?, ?)"] * len(rows[start : start + 500]))
            values = [value for row in rows[start : start + 500] for value in row]
            database.execute(f"INSERT INTO items VALUES {places}", values)
        found = database.execute("SELECT frobmetric_map(embedding) FROM items ORDER BY id")
        return np.array([row[0] for row in found.fetchall()])


def with_pgvector(model, folder, X):
    """Return samples mapped by a function of PostgreSQL with pgvector."""
    import pgserver
    import psycopg

    export(model, folder / "map.sql", "sql", dialect="pgvector")
    server = pgserver.get_server(folder / "data")
    try:
        with psycopg.connect(server.get_uri()) as client:
            client.execute("CREATE EXTENSION vector")
            client.execute((folder / "map.sql").read_text())
            client.execute(f"CREATE TABLE items (id integer, embedding vector({X.shape[1]}))")
            with client.cursor().copy("COPY items FROM STDIN") as copy:
                for number, row in enumerate(X):
                    copy.write_row([number, str(row.tolist())])
            query = "SELECT frobmetric_map(embedding)::text FROM items ORDER BY id"
            return np.array([json.loads(row[0]) for row in client.execute(query)])
    finally:
        server.cleanup()


def with_torch(model, folder, X):
    """Return samples mapped by the state of a layer of torch."""
    import torch

    export(model, folder / "map.pt", "torch")
    linear = torch.nn.Linear(X.shape[1], len(model.components_), bias=False)
    linear.load_state_dict(torch.load(folder / "map.pt", weights_only=True))
    with torch.no_grad():
        return linear(torch.from_numpy(X)).numpy()


def with_sentence_transformers(model, folder, X):
    """Return samples mapped by a module Dense of sentence-transformers."""
    import torch
    from sentence_transformers.models import Dense

    export(model, folder / "dense", "sentence-transformers")
    dense = Dense.load(str(folder / "dense"))
    with torch.no_grad():
        return dense({"sentence_embedding": torch.from_numpy(X)})["sentence_embedding"].numpy()


#: Program -> package that has to be there, and what reads the file.
PROGRAMS: dict[str, tuple[str, Callable]] = {
    "npy": ("numpy", with_npy),
    "safetensors": ("safetensors", with_safetensors),
    "onnx": ("onnxruntime", with_onnx),
    "faiss": ("faiss", with_faiss),
    "duckdb": ("duckdb", with_duckdb),
    "pgvector": ("pgserver", with_pgvector),
    "torch": ("torch", with_torch),
    "sentence-transformers": ("sentence_transformers", with_sentence_transformers),
}
#: Distributions of packages of another name.
DISTRIBUTIONS = {"faiss": "faiss-cpu", "sentence_transformers": "sentence-transformers"}


def missing(package):
    """Return why a package cannot be used, or an empty text."""
    try:
        import_module(package)
    except ImportError as error:
        return str(error)
    return ""


def measure(program, options):
    """Return a line for each data set, or the reason why there is none."""
    package, read = PROGRAMS[program]
    if reason := missing(package):
        return {"reason": reason}
    lines = []
    for data, problem in problems(options).items():
        with tempfile.TemporaryDirectory() as folder:
            work = functools.partial(read, problem.model, Path(folder), problem.samples)
            seconds, mapped = timed(work)
        line = {
            "data": data,
            "version": f"{package} {version(DISTRIBUTIONS.get(package, package))}",
        }
        lines.append(line | {"seconds": seconds} | compare(problem, mapped))
    return {"lines": lines}


def compare(problem, mapped):
    """Return how far mapped samples are from `transform`, and their predictions by neighbours."""
    expected = problem.samples.astype(np.float64) @ problem.model.components_.T
    n = len(problem.X)
    exact, is_tie = predict(expected[:n], problem.y, expected[n:])
    found, _ = predict(np.asarray(mapped[:n], dtype=np.float64), problem.y, mapped[n:])
    return {
        "difference": relative_difference(mapped, expected),
        "same": 100 * float(np.mean((found == exact)[~is_tie])),
        "ties": int(is_tie.sum()),
        "error": 100 * float(np.mean(found != problem.y_test)),
    }


def relative_difference(mapped, expected):
    """Return the largest difference of a component, relative to the length of its row."""
    lengths = np.linalg.norm(expected, axis=1, keepdims=True)
    return float(np.max(np.abs(mapped - expected) / lengths))


def predict(points, y, queries):
    """Return labels by the nearest points, and whether another order of near ones is as good."""
    search = NearestNeighbors(n_neighbors=K + 1, algorithm="brute").fit(points)
    near, index = search.kneighbors(np.asarray(queries, dtype=np.float64))
    labels = [np.bincount(row).argmax() for row in y.astype(np.intp)[index[:, :K]]]
    return np.array(labels), near[:, K] - near[:, K - 1] <= TIE * near[:, K]


def measure_pipeline(options):
    """Return a line for each data set of a whole pipeline that skl2onnx converts."""
    for package in ("skl2onnx", "onnxruntime"):
        if reason := missing(package):
            return {"reason": reason}
    register_onnx()
    lines = []
    for data, problem in problems(options).items():
        pipeline = make_pipeline(StandardScaler(), FrobMetric(), KNeighborsClassifier(K))
        pipeline.fit(problem.X, problem.y)
        labels = run_graph(pipeline, problem.X_test)
        seconds, mapped = timed(lambda steps=pipeline[:-1], X=problem.X_test: run_graph(steps, X))
        exact = problem.X_test.astype(np.float64)
        points = [pipeline[:-1].transform(part) for part in (problem.X.astype(np.float64), exact)]
        is_tie = predict(points[0], problem.y, points[1])[1]
        line = {"data": data, "version": f"skl2onnx {version('skl2onnx')}", "seconds": seconds}
        line["difference"] = relative_difference(mapped, points[1])
        line["same"] = 100 * float(np.mean((labels == pipeline.predict(exact))[~is_tie]))
        lines.append(line | {"ties": int(is_tie.sum())})
    return {"lines": lines}


def run_graph(pipeline, X):
    """Return the first output of a pipeline as a graph of onnx."""
    import onnxruntime
    import skl2onnx

    graph = skl2onnx.to_onnx(pipeline, X[:1], target_opset=17)
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    return session.run(None, {"X": X})[0]


def measure_precision(options):
    """Return a line for each data set and precision of the weights."""
    lines = []
    for data, problem in problems(options).items():
        for dtype in ("float32", "float16", "int8"):
            weights = exported_map(problem.model, dtype)
            width = {"float32": 4, "float16": 2, "int8": 1}[dtype]
            size = weights.size * width + (4 * len(weights) if dtype == "int8" else 0)
            line = {"data": data, "dtype": dtype, "size": size}
            recall = export_recall(problem.model, problem.X_test, dtype=dtype)
            line |= {"recall": 100 * recall}
            lines.append(line | compare(problem, problem.samples @ weights.T))
    return {"lines": lines}


def page(parts):
    """Return the lines of all programs, and those that were not measured."""
    lines = [
        {"program": program, **line}
        for program, found in parts.items()
        if program != "precision"
        for line in found.get("lines", ())
    ]
    reasons = [f"{name}: {found['reason']}" for name, found in parts.items() if "reason" in found]
    values = {"lines": lines, "precision": parts.get("precision", {}).get("lines", [])}
    if reasons:
        values["missing"] = f"Not measured, as something is not installed: {'; '.join(reasons)}."
    return values


BENCHMARK = Benchmark(
    parts={
        **{program: functools.partial(measure, program) for program in PROGRAMS},
        "onnx in a pipeline": measure_pipeline,
        "precision": measure_precision,
    },
    page=page,
    options=Options(repeat=1),
)
