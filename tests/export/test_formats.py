"""Exported maps, read by the programs that they are for."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from frobmetric import LMNN, FrobMetric
from frobmetric.export.formats import FORMATS, export, export_recall, exported_map, register_onnx

X, y = (part[:400] for part in load_digits(return_X_y=True))
SINGLE = X.astype(np.float32)


@pytest.fixture(scope="module")
def model():
    return FrobMetric().fit(X, y)


@pytest.fixture
def expected(model):
    return X @ model.components_.T


def check(mapped, expected):
    scale = np.linalg.norm(expected, axis=1, keepdims=True)
    assert np.abs((mapped - expected) / scale).max() <= 1e-6


def test_npy(model, expected, tmp_path):
    export(model, tmp_path / "map.npy", "npy")
    weights = np.load(tmp_path / "map.npy")
    assert weights.dtype == np.float32
    check(SINGLE @ weights.T, expected)


def test_safetensors(model, expected, tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    export(model, tmp_path / "map.safetensors", "safetensors")
    tensors = safetensors.load_file(tmp_path / "map.safetensors")
    assert set(tensors) == {"weight"}
    check(SINGLE @ tensors["weight"].T, expected)


def test_int8_has_a_scale_of_each_component(model, tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    export(model, tmp_path / "map.safetensors", "safetensors", dtype="int8")
    tensors = safetensors.load_file(tmp_path / "map.safetensors")
    assert tensors["weight"].dtype == np.int8
    read = tensors["weight"] * tensors["scale"].astype(float)[:, None]
    np.testing.assert_array_equal(read, exported_map(model, "int8"))
    error = np.abs(read - model.components_)
    assert (error <= 0.500001 * tensors["scale"][:, None]).all()


def test_onnx(model, expected, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    export(model, tmp_path / "map.onnx", "onnx")
    session = runtime.InferenceSession(tmp_path / "map.onnx")
    check(session.run(["mapped"], {"X": SINGLE})[0], expected)


@pytest.mark.parametrize("learner", [FrobMetric(), LMNN()])
def test_onnx_of_a_pipeline(learner):
    runtime, skl2onnx = pytest.importorskip("onnxruntime"), pytest.importorskip("skl2onnx")
    register_onnx()
    pipeline = make_pipeline(StandardScaler(), learner, KNeighborsClassifier(3))
    pipeline.fit(SINGLE[:300], y[:300])
    content = skl2onnx.to_onnx(pipeline, SINGLE[:1], target_opset=17).SerializeToString()
    session = runtime.InferenceSession(content)
    labels = session.run(None, {"X": SINGLE[300:]})[0]
    np.testing.assert_array_equal(labels, pipeline.predict(SINGLE[300:]))


def test_faiss_maps_what_it_stores_and_what_it_searches(model, expected, tmp_path):
    faiss = pytest.importorskip("faiss")
    export(model, tmp_path / "map.faiss", "faiss")
    index = faiss.read_index(str(tmp_path / "map.faiss"))
    check(faiss.downcast_VectorTransform(index.chain.at(0)).apply(SINGLE), expected)
    index.add(SINGLE)
    distances = np.square(expected[:20, None] - expected).sum(axis=2)
    np.testing.assert_array_equal(index.search(SINGLE[:20], 5)[1], distances.argsort()[:, :5])


def test_duckdb(model, expected, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    export(model, tmp_path / "map.sql", "sql", dtype="float64")
    database = duckdb.connect()
    database.execute((tmp_path / "map.sql").read_text())
    database.execute("CREATE TABLE items (id INTEGER, embedding DOUBLE[])")
    database.executemany("INSERT INTO items VALUES (?, ?)", [[i, X[i].tolist()] for i in range(50)])
    rows = database.execute("SELECT frobmetric_map(embedding) FROM items ORDER BY id").fetchall()
    check(np.array([row[0] for row in rows]), expected[:50])
    order = "list_distance(frobmetric_map(embedding), frobmetric_map($query))"
    found = database.execute(
        f"SELECT id FROM items ORDER BY {order} LIMIT 5", {"query": X[60].tolist()}
    ).fetchall()
    distances = np.square(expected[:50] - expected[60]).sum(axis=1)
    assert [row[0] for row in found] == distances.argsort()[:5].tolist()


def test_pgvector(model, expected, tmp_path):
    pgserver, psycopg = pytest.importorskip("pgserver"), pytest.importorskip("psycopg")
    export(model, tmp_path / "map.sql", "sql", dialect="pgvector", name="my_map")
    server = pgserver.get_server(tmp_path / "data")
    try:
        with psycopg.connect(server.get_uri()) as client:
            client.execute("CREATE EXTENSION vector")
            client.execute((tmp_path / "map.sql").read_text())
            query = "SELECT my_map(%s::vector)::text"
            rows = [client.execute(query, [str(row.tolist())]).fetchone()[0] for row in X[:5]]
    finally:
        server.cleanup()
    # pgvector prints its single precision with few digits
    mapped = np.array([json.loads(row) for row in rows])
    check(mapped, expected[:5])


def test_torch(model, expected, tmp_path):
    torch = pytest.importorskip("torch")
    export(model, tmp_path / "map.pt", "torch")
    linear = torch.nn.Linear(64, len(model.components_), bias=False)
    linear.load_state_dict(torch.load(tmp_path / "map.pt", weights_only=True))
    check(linear(torch.from_numpy(SINGLE)).detach().numpy(), expected)


def test_sentence_transformers_folder(model, tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    export(model, tmp_path / "dense", "sentence-transformers")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["dense"]
    config = json.loads((tmp_path / "dense" / "config.json").read_text())
    assert (config["in_features"], config["bias"]) == (64, False)
    tensors = safetensors.load_file(tmp_path / "dense" / "model.safetensors")
    np.testing.assert_array_equal(tensors["linear.weight"], model.components_.astype(np.float32))
    with pytest.raises(FileExistsError, match="give the name of a new folder"):
        export(model, tmp_path / "dense", "sentence-transformers")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_sentence_transformers_reads_it(model, expected, tmp_path):
    pytest.importorskip("sentence_transformers")
    import torch
    from sentence_transformers.models import Dense

    export(model, tmp_path / "dense", "sentence-transformers")
    dense = Dense.load(str(tmp_path / "dense"))
    given = {"sentence_embedding": torch.from_numpy(SINGLE)}
    check(dense(given)["sentence_embedding"].detach().numpy(), expected)


def test_recall_falls_with_the_precision(model):
    recalls = [export_recall(model, X, dtype=dtype) for dtype in ("float64", "float16", "int8")]
    assert recalls[0] == 1
    assert recalls[0] >= recalls[1] >= recalls[2] > 0.9


def test_recall_is_that_of_a_plain_count(model):
    def neighbors(components):
        mapped = X @ components.T
        distances = np.square(mapped[:, None] - mapped).sum(axis=2)
        np.fill_diagonal(distances, np.inf)
        return distances.argsort(axis=1)[:, :3]

    pairs = zip(neighbors(model.components_), neighbors(exported_map(model, "int8")), strict=True)
    share = np.mean([len(set(a) & set(b)) / 3 for a, b in pairs])
    assert export_recall(model, X, dtype="int8", n_neighbors=3) == pytest.approx(share, abs=1e-3)


@pytest.mark.parametrize("to", sorted(FORMATS))
def test_a_kernel_is_no_matrix(to, tmp_path):
    kernel = FrobMetric(kernel="rbf").fit(X[:60], y[:60])
    with pytest.raises(ValueError, match="expected kernel='linear'"):
        export(kernel, tmp_path / "out", to)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("to", "options", "message"),
    [
        ("pickle", {}, "to='pickle' is not known; choose one of"),
        ("npy", {"dtype": "int8"}, "dtype='int8' is not possible in npy; choose one of"),
        ("sql", {"dialect": "oracle"}, "dialect='oracle' is not known; choose one of"),
        ("sql", {"name": "a b"}, "name has 'a b'; expected letters"),
    ],
)
def test_mistakes(model, to, options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        export(model, tmp_path / "out", to, **options)
    assert list(tmp_path.iterdir()) == []


def test_weights_beyond_the_precision_are_refused(model, tmp_path):
    with pytest.raises(ValueError, match="are beyond float16; choose float32"):
        export(FrobMetric().fit(X / 1e9, y), tmp_path / "out", "npy", dtype="float16")
