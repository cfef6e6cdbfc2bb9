"""Files of models that are taken apart, changed and sealed again."""

import json

import numpy as np
import pytest

from frobmetric.io.sealed import SEAL, seal_of

pytest.importorskip("safetensors", reason="models are safetensors files")
from safetensors import safe_open
from safetensors.numpy import save_file

__all__ = ["changed", "contents", "leaves", "name_of", "part_at", "save_file", "write"]
#: Parts of the header that are JSON.
PARTS = ("output", "parameters", "value")


def contents(path):
    """Return tensors and header of a file, with parts of the header that are JSON as values."""
    with safe_open(path, framework="np") as file:
        header, names = file.metadata(), list(file.keys())
        tensors = {name: np.array(file.get_tensor(name)) for name in names}
    return tensors, header | {part: json.loads(header[part]) for part in PARTS}


def write(path, tensors, header, *, seal=None):
    """Write a file, sealed again unless a seal is given; texts in the header stay as they are."""
    texts = {k: v if isinstance(v, str) else json.dumps(v) for k, v in header.items()}
    tensors = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    save_file(tensors, path, texts | {SEAL: seal or seal_of(tensors, texts)})


def leaves(tree, at=()):
    """Yield the places of all values in JSON that are no mappings and no lists."""
    if isinstance(tree, dict | list) and not (isinstance(tree, dict) and set(tree) == {"array"}):
        for key in tree if isinstance(tree, dict) else range(len(tree)):
            yield from leaves(tree[key], (*at, key))
    else:
        yield at


def part_at(tree, place):
    """Return the value at a place."""
    for key in place:
        tree = tree[key]
    return tree


def changed(tree, place, value):
    """Return a copy of JSON with another value at a place."""
    tree = json.loads(json.dumps(tree))
    part_at(tree, place[:-1])[place[-1]] = value
    return tree


def name_of(place):
    """Return the dotted name of a place, without kinds and numbers."""
    kinds = {"tuple", "mapping", "texts", "array", "float"}
    keys = [k for k in place if isinstance(k, str) and not k[0].isupper() and k not in kinds]
    return ".".join(keys)
