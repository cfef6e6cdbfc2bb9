"""Embeddings of real texts by two encoders: intents, abstracts with queries, scored sentences."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from . import NpzFile, as_folder, check_values, find

#: Dimensions of the encoders.
ENCODERS = {"wordllama": 256, "use": 512}


@dataclass(frozen=True, eq=False)
class Intents:
    """Vectors of short texts, each with an intent."""

    name: str
    X: NDArray  # float32 (n_texts, n_features), rows of unit length
    y: NDArray  # int64 (n_texts,)
    is_test: NDArray  # bool (n_texts,)


@dataclass(frozen=True, eq=False)
class Collection:
    """Vectors of documents and of queries, and which documents are relevant to which query."""

    documents: NDArray  # float32 (n_documents, n_features)
    queries: NDArray  # float32 (n_queries, n_features)
    # rows (query, document, grade); grade 1 to 4 is relevant. One document of each query has -1:
    # called not relevant, but most likely the one that the query was written from
    relevance: NDArray


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """Vectors of sentences, and pairs of them whose similarity people scored from 0 to 5."""

    X: NDArray  # float32 (n_sentences, n_features)
    pairs: NDArray  # int64 (n_pairs, 2)
    score: NDArray  # float64 (n_pairs,)
    year: NDArray  # int64 (n_pairs,)
    is_test: NDArray  # bool (n_pairs,)


def load_intents(name, encoder, *, folder=None) -> Intents:
    """Load texts with intents, of `INTENT_NAMES`, by an encoder of `ENCODERS`."""
    path, arrays = _read(find(name, _INTENTS), folder)
    X, y = _vectors(arrays, encoder, path), arrays["label"].astype(np.int64)
    return Intents(name, X, y, _is_test(arrays["split"], path))


def load_cranfield(encoder, *, folder=None) -> Collection:
    """Load abstracts and queries about aerodynamics, by an encoder of `ENCODERS`."""
    path, arrays = _read(_CRANFIELD, folder)
    vectors = (_vectors(arrays, name, path) for name in (encoder, f"query_{encoder}"))
    return Collection(*vectors, arrays["rel"].astype(np.int64))


def load_sts(encoder, *, folder=None) -> ScoredPairs:
    """Load the scored sentence pairs of 2012 to 2014, by an encoder of `ENCODERS`."""
    path, arrays = _read(_STS, folder)
    check_values(np.isfinite(arrays["score"]), arrays["score"], "score", path, "finite numbers")
    return ScoredPairs(
        _vectors(arrays, encoder, path),
        arrays["pairs"].astype(np.int64),
        arrays["score"].astype(np.float64),
        arrays["year"].astype(np.int64),
        _is_test(arrays["split"], path),
    )


def has_embeddings(folder=None) -> bool:
    """Return whether all files are in the folder."""
    place = _place(folder)
    return all(file.is_present(place) for file in (*_INTENTS.values(), _CRANFIELD, _STS))


def _place(folder) -> Path | None:
    found = as_folder(folder)
    return None if found is None else found / "embeddings"


def _read(file, folder):
    return file.read(_place(folder))


def _vectors(arrays, key, path):
    """Return vectors as float32 at unit length, which float16 keeps only roughly."""
    find(key.removeprefix("query_"), ENCODERS)
    X = arrays[key].astype(np.float32)
    check_values(np.isfinite(X), X, key, path, "finite numbers")
    length = np.linalg.norm(X, axis=1, keepdims=True)
    check_values(length > 0, length, f"length of {key}", path, "vectors other than zero")
    return X / length


def _is_test(split, path):
    check_values(np.isin(split, ("train", "test")), split, "split", path, "'train' or 'test'")
    return split == "test"


def _shapes(n, *, prefix="", **more):
    vectors = {f"{prefix}{name}": (n, n_features) for name, n_features in ENCODERS.items()}
    return vectors | more


#: Types of the vectors that are not integers.
_KINDS = {"split": "U", "score": "f"}
_INTENTS = {
    name: NpzFile(f"{name}.npz", _shapes(n, label=(n,), split=(n,)), kinds=_KINDS)
    for name, n in (("banking77", 13_083), ("hwu64", 11_036))
}
_CRANFIELD = NpzFile(
    "cranfield.npz", _shapes(1398) | _shapes(225, prefix="query_") | {"rel": (1836, 3)}
)
_PAIR_SHAPES = {"pairs": (9092, 2), "score": (9092,), "year": (9092,), "split": (9092,)}
_STS = NpzFile("sts_2012_2014.npz", _shapes(14_551) | _PAIR_SHAPES, kinds=_KINDS)

INTENT_NAMES = tuple(_INTENTS)
