"""Weights of fields and of dimensions as code that searches with them in a vector database.

The code for qdrant, milvus, weaviate and typesense is Python for their clients, that for pgvector
is SQL. Rankings by the code for qdrant (in memory), milvus (milvus-lite) and pgvector (PostgreSQL)
are tested to be those of NumPy. For weaviate and typesense, which need a server of their own, only
the form of the code and the vectors and weights in it are tested.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..checks.arguments import check_count
from ..embeddings.fields import check_names, check_weights

#: Scores in qdrant of a record that is not among the candidates: the lowest possible, or far.
NOT_FOUND = {"cosine": "-1.0", "dot": "-1e6", "l2": "1e6"}
#: Name of the one vector that holds all fields of a record, one after the other.
JOINED = "fields"


@dataclass(frozen=True)
class Search:
    """Request to a database: collection, distance, number of results, and weights by field."""

    collection: str
    metric: str
    limit: int
    candidates: int
    weights: dict[str, str]

    @property
    def used(self) -> dict[str, str]:
        """Weights that are not zero."""
        return {name: weight for name, weight in self.weights.items() if float(weight)}


def search_snippet(
    database: str,
    weights: ArrayLike,
    *,
    names: Sequence[str],
    metric: str = "cosine",
    collection: str = "items",
    limit: int = 10,
    candidates: int = 1000,
) -> str:
    """Return code that searches records by several vectors, one for each field, with weights.

    The ranking is that of sum_b w_b s_b, where s_b compares the vectors of field b: the cosine,
    the inner product ("dot"), or minus the squared Euclidean distance ("l2"). If all vectors of a
    field have unit length, the three rank alike, and rank as the learned distance does.

    Qdrant and milvus search each field on its own and add up the scores of what they found. The
    ranking is exact if `candidates` is at least the number of records. A record that is missing
    from the list of one field is ranked too low in qdrant; in milvus that field counts as zero.

    By default milvus weighs normalised scores, which changes the ranking of "dot" and "l2"; the
    code turns that off. Typesense cannot weigh several vectors, and milvus counts a record that is
    missing from a list as one of distance zero. For typesense, and for "l2" in milvus, all fields
    are therefore stored in one vector, "fields", that is searched by inner product: the vectors of
    the fields one after the other, for "l2" each followed by minus half its squared length. The
    weights are in the query only, so that other weights need no new index, and the ranking is
    exact.

    Parameters
    ----------
    database : {"milvus", "pgvector", "qdrant", "typesense", "weaviate"}
        Database.
    weights : array-like of shape (n_fields,)
        Weights of the fields, as `LearnedMap.weights`; the code has them divided by their sum.
    names : sequence of str
        Names of the fields, which are those of the vectors in the database.
    metric : {"cosine", "dot", "l2"}, default="cosine"
        Comparison of two vectors of a field. The index of the database must have the same one
        (for weaviate "l2-squared", for one vector of all fields the inner product).
    collection : str, default="items"
        Name of the collection or table.
    limit : int, default=10
        Number of results.
    candidates : int, default=1000
        Number of records to find for each field before the weighing, in qdrant and milvus.

    Returns
    -------
    str
        Code. It takes `client` and `query`, a dictionary of one vector for each field, and sets
        `hits`, the ids from the best on. For pgvector it is SQL with a parameter for each field.

    Examples
    --------
    >>> from frobmetric.export import search_snippet
    >>> print(search_snippet("pgvector", [1.6, 0.4], names=["title", "body"]))
    SELECT id,
           0.8 * ("title" <=> %(title)s::vector)
           + 0.2 * ("body" <=> %(body)s::vector) AS distance
    FROM "items" ORDER BY distance LIMIT 10;
    """
    weights = check_weights(weights)
    _check(database, metric, collection, limit, candidates)
    names = check_names(names, len(weights))
    for name in names:
        check_identifier(name, "names")
    if not weights.any():
        raise ValueError("all weights are zero, so every record is as good as any other")
    shares = zip(names, weights / weights.sum(), strict=True)
    written = {name: f"{share:.6g}" for name, share in shares}
    return DATABASES[database].by_field(Search(collection, metric, limit, candidates, written))


def dimension_snippet(
    database: str,
    weights: ArrayLike,
    *,
    metric: str = "l2",
    field: str = "embedding",
    collection: str = "items",
    limit: int = 10,
) -> str:
    """Return code that searches records by one vector with a weight for each dimension.

    For "l2" and "cosine" both sides are scaled by the roots of the weights: the code scales the
    query, and the stored vectors have to be scaled once, as a comment says. The ranking of "l2" is
    that of the learned distance. For "dot" only the query changes: its ranking is that of
    sum_k w_k q_k x_k, which is the one of the learned distance only if sum_k w_k x_k^2 is the same
    for all records.

    Parameters
    ----------
    database : {"milvus", "pgvector", "qdrant", "typesense", "weaviate"}
        Database; typesense has no "l2".
    weights : array-like of shape (n_dimensions,)
        Weights of the dimensions, as `LearnedMap.weights`.
    metric : {"l2", "cosine", "dot"}, default="l2"
        Comparison of two vectors, as in the index of the database.
    field : str, default="embedding"
        Name of the vector in the database.
    collection : str, default="items"
        Name of the collection or table.
    limit : int, default=10
        Number of results.

    Returns
    -------
    str
        Code. It takes `client` and `query`, the vector, and sets `hits`, the ids from the best on.
        For pgvector it computes the parameter of the SQL statement in its last line.

    Examples
    --------
    >>> from frobmetric.export import dimension_snippet
    >>> print(dimension_snippet("qdrant", [4.0, 1.0], metric="dot"))
    # the stored vectors stay as they are; the index compares by dot
    scale = [4, 1]
    vector = [float(x) * s for x, s in zip(query, scale)]
    result = client.query_points("items", query=vector, using="embedding", limit=10)
    hits = [point.id for point in result.points]
    """
    weights = check_weights(weights)
    _check(database, metric, collection, limit, limit)
    check_identifier(field, "field")
    if database == "typesense" and metric == "l2":
        raise ValueError(
            "typesense compares vectors by 'cosine' or by inner product ('dot'), not by 'l2'; give "
            "one of these"
        )
    stored = "# the stored vectors stay as they are"
    if metric != "dot":
        weights, stored = np.sqrt(weights), "# multiply the stored vectors by `scale`, once"
    lines = [
        f"{stored}; the index compares by {metric}",
        f"scale = [{', '.join(f'{weight:.6g}' for weight in weights)}]",
        "vector = [float(x) * s for x, s in zip(query, scale)]",
    ]
    search = Search(collection, metric, limit, limit, {})
    return _lines(*lines, DATABASES[database].by_vector(search, field))


def _joined(database: str, search: Search) -> str:
    """Return code that searches in one vector of all fields, by inner product."""
    weights = ", ".join(f'"{name}": {weight}' for name, weight in search.weights.items())
    content = "their vectors, one after the other"
    if search.metric == "cosine":
        content = "their vectors of unit length, one after the other"
    if search.metric == "l2":
        content = "their vectors, each followed by -0.5 * (sum of its squares)"
    lines = [
        f'# the vector "{JOINED}" of a record, searched by inner product, has of these fields',
        f"# {content}",
        f"weights = {{{weights}}}",
        "vector = []",
        "for name, weight in weights.items():",
        *(["    length = sum(x * x for x in query[name]) ** 0.5"] * (search.metric == "cosine")),
        "    vector += [weight * float(x)"
        f"{' / length' * (search.metric == 'cosine')} for x in query[name]]",
        *(["    vector.append(weight)"] * (search.metric == "l2")),
    ]
    one = Search(search.collection, "dot", search.limit, search.candidates, {})
    return _lines(*lines, DATABASES[database].by_vector(one, JOINED))


def _qdrant_vector(search: Search, field: str) -> str:
    return (
        f'result = client.query_points("{search.collection}", query=vector, using="{field}", '
        f"limit={search.limit})\nhits = [point.id for point in result.points]"
    )


def _qdrant_fields(search: Search) -> str:
    """Return the sum of the scores as a formula; distances are factors twice, to be squared."""
    sign, times = ("-", 2) if search.metric == "l2" else ("", 1)
    prefetch, terms, defaults = [], [], []
    for k, (name, weight) in enumerate(search.used.items()):
        prefetch.append(
            f'    models.Prefetch(query=query["{name}"], using="{name}", '
            f"limit={search.candidates}),"
        )
        factors = [f"{sign}{weight}", *[f'"$score[{k}]"'] * times]
        terms.append(f"    models.MultExpression(mult=[{', '.join(factors)}]),")
        defaults.append(f'"$score[{k}]": {NOT_FOUND[search.metric]}')
    return _lines(
        "from qdrant_client import models",
        "",
        "prefetch = [",
        *prefetch,
        "]",
        "terms = [",
        *terms,
        "]",
        f"defaults = {{{', '.join(defaults)}}}  # of records that the search in a field misses",
        "total = models.SumExpression(sum=terms)",
        "formula = models.FormulaQuery(formula=total, defaults=defaults)",
        "result = client.query_points(",
        f'    "{search.collection}", prefetch=prefetch, query=formula, limit={search.limit}',
        ")",
        "hits = [point.id for point in result.points]",
    )


#: Names of the comparisons in milvus.
MILVUS_METRICS = {"cosine": "COSINE", "dot": "IP", "l2": "L2"}


def _milvus_vector(search: Search, field: str) -> str:
    kind = MILVUS_METRICS[search.metric]
    return _lines(
        "result = client.search(",
        f'    "{search.collection}", data=[vector], anns_field="{field}",',
        f'    limit={search.limit}, search_params={{"metric_type": "{kind}"}},',
        ")",
        'hits = [hit["id"] for hit in result[0]]',
    )


def _milvus_fields(search: Search) -> str:
    if search.metric == "l2":
        return _joined("milvus", search)
    kind = MILVUS_METRICS[search.metric]
    requests = [
        f'    AnnSearchRequest(data=[query["{name}"]], anns_field="{name}", '
        f'param={{"metric_type": "{kind}"}}, limit={search.candidates}),'
        for name in search.used
    ]
    return _lines(
        "from pymilvus import AnnSearchRequest, WeightedRanker",
        "",
        "requests = [",
        *requests,
        "]",
        f"ranker = WeightedRanker({', '.join(search.used.values())}, norm_score=False)",
        f'result = client.hybrid_search("{search.collection}", requests, ranker, '
        f"limit={search.limit})",
        'hits = [hit["id"] for hit in result[0]]',
    )


def _weaviate_vector(search: Search, field: str) -> str:
    return _lines(
        f'collection = client.collections.use("{search.collection}")',
        "result = collection.query.near_vector(",
        f'    near_vector=vector, target_vector="{field}", limit={search.limit}',
        ")",
        "hits = [record.uuid for record in result.objects]",
    )


def _weaviate_fields(search: Search) -> str:
    """Return the search with manual weights, which are those of the distances as they are."""
    vectors = ", ".join(f'"{name}": query["{name}"]' for name in search.used)
    weights = ", ".join(f'"{name}": {weight}' for name, weight in search.used.items())
    return _lines(
        "from weaviate.classes.query import TargetVectors",
        "",
        f'collection = client.collections.use("{search.collection}")',
        "result = collection.query.near_vector(",
        f"    near_vector={{{vectors}}},",
        f"    target_vector=TargetVectors.manual_weights({{{weights}}}),",
        f"    limit={search.limit},",
        ")",
        "hits = [record.uuid for record in result.objects]",
    )


def _typesense_vector(search: Search, field: str) -> str:
    return _lines(
        "numbers = ', '.join(map(str, vector))",
        "result = client.multi_search.perform({'searches': [{",
        f"    'collection': '{search.collection}', 'q': '*', 'per_page': {search.limit},",
        f"    'vector_query': f'{field}:([{{numbers}}], k: {search.limit})',",
        "}]}, {})",
        "hits = [hit['document']['id'] for hit in result['results'][0]['hits']]",
    )


#: Operators of pgvector; that of the inner product gives minus it.
OPERATORS = {"cosine": "<=>", "dot": "<#>", "l2": "<->"}


def _pgvector_vector(search: Search, field: str) -> str:
    order = f'"{field}" {OPERATORS[search.metric]} %(vector)s::vector'
    return (
        f"sql = 'SELECT id FROM \"{search.collection}\" ORDER BY {order} LIMIT {search.limit}'\n"
        'hits = [row[0] for row in client.execute(sql, {"vector": str(vector)}).fetchall()]'
    )


def _pgvector_fields(search: Search) -> str:
    power = " ^ 2" * (search.metric == "l2")
    terms = [
        f'{weight} * ("{name}" {OPERATORS[search.metric]} %({name})s::vector){power}'
        for name, weight in search.used.items()
    ]
    total = "\n       + ".join(terms)
    return (
        f"SELECT id,\n       {total} AS distance\n"
        f'FROM "{search.collection}" ORDER BY distance LIMIT {search.limit};'
    )


@dataclass(frozen=True)
class Database:
    """Code of a database for a search by one vector of a name, and by one for each field."""

    by_vector: Callable[[Search, str], str]
    by_field: Callable[[Search], str]


#: Databases by name.
DATABASES = {
    "milvus": Database(_milvus_vector, _milvus_fields),
    "pgvector": Database(_pgvector_vector, _pgvector_fields),
    "qdrant": Database(_qdrant_vector, _qdrant_fields),
    "typesense": Database(_typesense_vector, lambda search: _joined("typesense", search)),
    "weaviate": Database(_weaviate_vector, _weaviate_fields),
}


def _lines(*lines: str) -> str:
    return "\n".join(lines)


def _check(database: str, metric: str, collection: str, limit: int, candidates: int) -> None:
    if not isinstance(database, str) or database not in DATABASES:
        raise ValueError(
            f"database={database!r:.80} is not known; choose one of {sorted(DATABASES)}"
        )
    if not isinstance(metric, str) or metric not in OPERATORS:
        raise ValueError(f"metric={metric!r:.80} is not known; choose one of {sorted(OPERATORS)}")
    check_identifier(collection, "collection")
    check_count(limit, name="limit")
    check_count(candidates, name="candidates", at_least=limit)


def check_identifier(value: str, name: str) -> None:
    """Refuse names that would have to be quoted in code."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):
        raise ValueError(
            f"{name} has {value!r}; expected letters, digits and underscores, no digit first, "
            "because it becomes part of code"
        )
