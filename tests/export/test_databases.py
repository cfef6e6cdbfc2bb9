"""Code for databases: run where a client runs in process, else checked for its form and numbers.

A ranking is compared with that of NumPy in double precision; the databases store single precision.
"""

import ast
import re
import sys
import types
import warnings

import numpy as np
import pytest

from frobmetric.export import dimension_snippet, search_snippet
from frobmetric.export.databases import DATABASES

SIZES = {"title": 6, "body": 10, "image": 4}
WEIGHTS = np.array([2.0, 0.5, 1.0])
N, LIMIT = 60, 20
METRICS = pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])


@pytest.fixture
def records(rng):
    """Vectors of each field, and a query: a dictionary of vectors."""
    stored = {name: rng.normal(size=(N, size)) for name, size in SIZES.items()}
    return stored, {name: rng.normal(size=size).tolist() for name, size in SIZES.items()}


def _compared(X, q, metric):
    q = np.asarray(q)
    if metric == "l2":
        return -np.sum((X - q) ** 2, axis=1)
    products = X @ q
    if metric == "cosine":
        return products / (np.linalg.norm(X, axis=1) * np.linalg.norm(q))
    return products


def _best(stored, query, metric, weights=WEIGHTS):
    scores = sum(
        w * _compared(stored[n], query[n], metric) for w, n in zip(weights, SIZES, strict=True)
    )
    return np.argsort(-scores)[:LIMIT].tolist()


def _joined(stored, metric):
    """One vector for each record, as the comment in the code says."""
    parts = []
    for X in stored.values():
        if metric == "cosine":
            X = X / np.linalg.norm(X, axis=1, keepdims=True)
        parts.append(X)
        if metric == "l2":
            parts.append(-0.5 * np.sum(X**2, axis=1, keepdims=True))
    return np.hstack(parts)


def _run(code, client, query):
    space = {"client": client, "query": query}
    exec(code, space)
    return list(space["hits"])


def _code(database, metric="cosine", weights=WEIGHTS, candidates=N):
    options = {"names": list(SIZES), "metric": metric, "limit": LIMIT, "candidates": candidates}
    return search_snippet(database, weights, **options)


# qdrant, in memory


def _qdrant(vectors, metric):
    qdrant_client = pytest.importorskip("qdrant_client", reason="runs the code for qdrant")
    models, client = qdrant_client.models, qdrant_client.QdrantClient(":memory:")
    distance = {"cosine": "Cosine", "dot": "Dot", "l2": "Euclid"}[metric]
    config = {
        n: models.VectorParams(size=X.shape[1], distance=distance) for n, X in vectors.items()
    }
    client.create_collection("items", vectors_config=config)
    points = [
        models.PointStruct(id=i, vector={name: X[i].tolist() for name, X in vectors.items()})
        for i in range(N)
    ]
    client.upsert("items", points)
    return client


@METRICS
def test_qdrant_ranks_fields_as_numpy_does(metric, records):
    stored, query = records
    found = _run(_code("qdrant", metric), _qdrant(stored, metric), query)
    assert found == _best(stored, query, metric)


@METRICS
def test_qdrant_does_not_prefer_records_that_a_field_did_not_find(metric, records):
    """With few candidates the first is still among the best of all."""
    stored, query = records
    found = _run(_code("qdrant", metric, candidates=LIMIT), _qdrant(stored, metric), query)
    scores = [set(_best(stored, query, metric, np.eye(3)[k])) for k in range(3)]
    in_all = set.intersection(*scores)
    if metric == "l2" and in_all:
        assert set(found[: len(in_all)]) == in_all
    assert len(found) == LIMIT


@METRICS
def test_qdrant_ranks_by_weighted_dimensions(metric, rng):
    X, q, w = rng.normal(size=(N, 8)), rng.normal(size=8), rng.uniform(size=8)
    both = np.ones(8) if metric == "dot" else np.sqrt(w)
    expected = _compared(X * both, q * (w if metric == "dot" else both), metric)
    client = _qdrant({"embedding": X * both}, metric)
    found = _run(dimension_snippet("qdrant", w, metric=metric, limit=LIMIT), client, q.tolist())
    assert found == np.argsort(-expected)[:LIMIT].tolist()


# milvus, by milvus-lite


@pytest.fixture
def milvus(tmp_path):
    pytest.importorskip("milvus_lite", reason="runs the code for milvus")
    pymilvus = pytest.importorskip("pymilvus", reason="runs the code for milvus")
    clients = []

    def build(vectors, kind):
        client = pymilvus.MilvusClient(str(tmp_path / "items.db"))
        clients.append(client)
        schema = client.create_schema()
        schema.add_field("id", pymilvus.DataType.INT64, is_primary=True)
        index = client.prepare_index_params()
        for name, X in vectors.items():
            schema.add_field(name, pymilvus.DataType.FLOAT_VECTOR, dim=X.shape[1])
            index.add_index(name, index_type="FLAT", metric_type=kind)
        client.create_collection("items", schema=schema, index_params=index)
        rows = [{"id": i} | {n: X[i].tolist() for n, X in vectors.items()} for i in range(N)]
        client.insert("items", rows)
        return client

    yield build
    for client in clients:
        client.close()


@METRICS
def test_milvus_ranks_fields_as_numpy_does(metric, records, milvus):
    stored, query = records
    if metric == "l2":
        client = milvus({"fields": _joined(stored, metric)}, "IP")
    else:
        client = milvus(stored, {"cosine": "COSINE", "dot": "IP"}[metric])
    assert _run(_code("milvus", metric), client, query) == _best(stored, query, metric)


def test_milvus_ranks_by_weighted_dimensions(rng, milvus):
    X, q, w = rng.normal(size=(N, 8)), rng.normal(size=8), rng.uniform(size=8)
    client = milvus({"embedding": X * np.sqrt(w)}, "L2")
    found = _run(dimension_snippet("milvus", w, limit=LIMIT), client, q.tolist())
    assert found == np.argsort(((X - q) ** 2) @ w)[:LIMIT].tolist()


# pgvector, in a PostgreSQL of its own


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    pgserver = pytest.importorskip("pgserver", reason="runs the code for pgvector")
    psycopg = pytest.importorskip("psycopg", reason="runs the code for pgvector")
    with warnings.catch_warnings(action="ignore"):  # about a folder of the user's session
        server = pgserver.get_server(tmp_path_factory.mktemp("postgres"))
    with psycopg.connect(server.get_uri(), autocommit=True) as client:
        client.execute("CREATE EXTENSION vector")
        yield client
    server.cleanup()


def _fill(client, vectors):
    columns = ", ".join(f'"{name}" vector({X.shape[1]})' for name, X in vectors.items())
    client.execute(f"DROP TABLE IF EXISTS items; CREATE TABLE items (id int, {columns})")
    places = ", ".join(["%s"] * (len(vectors) + 1))
    rows = [[i, *(str(X[i].tolist()) for X in vectors.values())] for i in range(N)]
    client.cursor().executemany(f"INSERT INTO items VALUES ({places})", rows)


@pytest.mark.slow
@METRICS
def test_pgvector_ranks_fields_as_numpy_does(metric, records, postgres):
    stored, query = records
    _fill(postgres, stored)
    parameters = {name: str(vector) for name, vector in query.items()}
    found = [row[0] for row in postgres.execute(_code("pgvector", metric), parameters)]
    assert found == _best(stored, query, metric)


@pytest.mark.slow
@METRICS
def test_pgvector_ranks_by_weighted_dimensions(metric, rng, postgres):
    X, q, w = rng.normal(size=(N, 8)), rng.normal(size=8), rng.uniform(size=8)
    both = np.ones(8) if metric == "dot" else np.sqrt(w)
    expected = _compared(X * both, q * (w if metric == "dot" else both), metric)
    _fill(postgres, {"order": X * both})  # a word of SQL
    code = dimension_snippet("pgvector", w, metric=metric, field="order", limit=LIMIT)
    assert _run(code, postgres, q.tolist()) == np.argsort(-expected)[:LIMIT].tolist()


# typesense and weaviate: servers that are not run here


class _Typesense:
    """A stand-in that ranks one stored vector by inner product, as the documentation says."""

    def __init__(self, X):
        self.X = X
        self.multi_search = self

    def perform(self, request, common):
        assert common == {}
        (search,) = request["searches"]
        numbers, k = re.fullmatch(r"fields:\(\[(.*)\], k: (\d+)\)", search["vector_query"]).groups()
        scores = self.X @ np.array([float(x) for x in numbers.split(",")])
        best = np.argsort(-scores)[: int(k)].tolist()
        return {"results": [{"hits": [{"document": {"id": i}} for i in best]}]}


@METRICS
def test_one_vector_of_all_fields_ranks_as_the_fields_do(metric, records):
    stored, query = records
    client = _Typesense(_joined(stored, metric))
    assert _run(_code("typesense", metric), client, query) == _best(stored, query, metric)


class _Weaviate:
    """A stand-in that ranks by the weighted sum of distances, as the documentation says."""

    def __init__(self, stored, metric):
        self.stored, self.metric = stored, metric
        self.collections = self.query = self

    def use(self, name):
        assert name == "items"
        return self

    def near_vector(self, near_vector, target_vector, limit):
        scores = sum(
            weight * _compared(self.stored[name], near_vector[name], self.metric)
            for name, weight in target_vector.items()
        )
        best = np.argsort(-scores)[:limit].tolist()
        return types.SimpleNamespace(objects=[types.SimpleNamespace(uuid=i) for i in best])


@METRICS
def test_weaviate_gets_the_weights_of_the_fields(metric, records, monkeypatch):
    stored, query = records
    for name in ("weaviate", "weaviate.classes", "weaviate.classes.query"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    kinds = types.SimpleNamespace(manual_weights=dict)
    monkeypatch.setattr(
        sys.modules["weaviate.classes.query"], "TargetVectors", kinds, raising=False
    )
    found = _run(_code("weaviate", metric), _Weaviate(stored, metric), query)
    assert found == _best(stored, query, metric)


def test_pgvector_adds_up_weighted_distances():
    sql = _code("pgvector", "l2")
    terms = re.findall(r'([\d.]+) \* \("(\w+)" <-> %\((\w+)\)s::vector\) \^ 2', sql)
    assert [(name, parameter) for _, name, parameter in terms] == [(n, n) for n in SIZES]
    np.testing.assert_allclose([float(w) for w, *_ in terms], WEIGHTS / WEIGHTS.sum(), rtol=1e-5)
    assert sql.endswith(f'FROM "items" ORDER BY distance LIMIT {LIMIT};')
    assert "<=>" in _code("pgvector", "cosine")
    assert "<#>" in _code("pgvector", "dot")


# all of them


@METRICS
@pytest.mark.parametrize("database", DATABASES)
def test_code_is_valid(database, metric):
    code = _code(database, metric)
    if database != "pgvector":
        assert ast.parse(code).body
    if (database, metric) != ("typesense", "l2"):
        assert ast.parse(dimension_snippet(database, [1.0, 2.0], metric=metric)).body


@pytest.mark.parametrize("database", DATABASES)
def test_fields_of_weight_zero_are_not_searched(database):
    code = _code(database, weights=[1.0, 0.0, 3.0])
    # a vector of all fields has its place for them, so that other weights need no new index
    assert ("body" in code) == (database == "typesense")
    assert "title" in code
    assert "0.75" in code


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="database='oracle' is not known"):
        search_snippet("oracle", [1.0], names=["a"])
    with pytest.raises(ValueError, match="metric='l1' is not known"):
        search_snippet("qdrant", [1.0], names=["a"], metric="l1")
    with pytest.raises(ValueError, match="part of code"):
        search_snippet("pgvector", [1.0], names=["a; DROP TABLE items"])
    with pytest.raises(ValueError, match="part of code"):
        search_snippet("qdrant", [1.0], names=["a"], collection='"')
    with pytest.raises(ValueError, match="all weights are zero"):
        search_snippet("qdrant", [0.0, 0.0], names=["a", "b"])
    for weights in ([-1.0], [np.nan], [np.inf]):
        with pytest.raises(ValueError, match="finite and not negative"):
            search_snippet("qdrant", weights, names=["a"])
    with pytest.raises(ValueError, match="2 entries, 1 of them different"):
        search_snippet("qdrant", [1.0, 1.0], names=["a", "a"])
    with pytest.raises(ValueError, match="candidates"):
        search_snippet("qdrant", [1.0], names=["a"], limit=10, candidates=5)
    with pytest.raises(ValueError, match="not by 'l2'"):
        dimension_snippet("typesense", [1.0])
