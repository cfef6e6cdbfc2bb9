"""Sealed files: tensors and texts in a safetensors file, with one checksum over all of them.

The seal is the SHA-256 of every text of the header and of name, type, shape and numbers of every
tensor. It finds damage and edits. It is no signature: who can write a file can seal it again, and
then only `certify`, which needs the training data, finds what was changed.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from ..checks.text import brief
from ..core.points import Array
from ..runtime.environment import check_file, replacing, require

#: Name of the format, and the version of it that this code reads and writes.
FORMAT, FORMAT_VERSION = "frobmetric", 4
#: Field of the header with the seal.
SEAL = "seal"


def write_sealed(path: str | Path, tensors: dict[str, Array], header: dict[str, str]) -> None:
    """Write tensors and texts with their seal, whole or not at all."""
    safetensors = require("safetensors.numpy", "cli")
    content = {key: np.ascontiguousarray(value) for key, value in tensors.items()}
    header = {"format": FORMAT, "format_version": str(FORMAT_VERSION)} | header
    header[SEAL] = seal_of(content, header)
    with replacing(path) as file:
        file.write(safetensors.save(content, header))


def read_sealed(path: Path) -> tuple[dict[str, Array], dict[str, str]]:
    """Return tensors and texts of a file, whose format and seal are checked and left out."""
    check_file(path, "a model saved by frobmetric")
    tensors, header = _read(path)
    _check_version(path, header)
    if header.get(SEAL) != seal_of(tensors, header):
        raise ValueError(
            f"{path} was changed or damaged after it was saved: its seal, a checksum of all that "
            "it holds, is not the one expected; get the file again, or fit again"
        )
    own = ("format", "format_version", SEAL)
    return tensors, {key: text for key, text in header.items() if key not in own}


def seal_of(tensors: dict[str, Array], header: dict[str, str]) -> str:
    """Return the checksum of all texts but the seal, and of all tensors."""
    digest = sha256()
    for key in sorted(header):
        if key != SEAL:
            digest.update(_encode([key, header[key]]))
    for name in sorted(tensors):
        array = tensors[name]
        digest.update(_encode([name, array.dtype.name, array.shape]))
        digest.update(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
    return digest.hexdigest()


def _encode(values: list[Any]) -> bytes:
    """Return a text that ends where the next begins, so that no two contents are written alike."""
    return json.dumps(values).encode()


def _read(path: Path) -> tuple[dict[str, Array], dict[str, str]]:
    """Return what a safetensors file holds."""
    safetensors = require("safetensors", "cli")
    try:
        with safetensors.safe_open(path, framework="np") as file:
            keys, header = file.keys(), file.metadata() or {}
            tensors = {key: file.get_tensor(key) for key in keys}
    except (safetensors.SafetensorError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(
            f"{path} is damaged, or not a model saved by frobmetric: {brief(error)}"
        ) from error
    if header.get("format") != FORMAT:
        raise ValueError(f"{path} is a safetensors file, but not a model saved by frobmetric")
    return tensors, header


def _check_version(path: Path, header: dict[str, str]) -> None:
    """Raise ValueError unless this code reads this version of the format."""
    version = header.get("format_version", "")
    if not (version.isascii() and version.isdecimal() and len(version) < 10):
        raise ValueError(f"{path} has format version {version!r:.40}; expected a number")
    if int(version) == FORMAT_VERSION:
        return
    author = f"format version {version}, frobmetric {header.get('frobmetric_version', '?')}"
    advice = "upgrade it" if int(version) > FORMAT_VERSION else "fit the model again"
    raise ValueError(
        f"{path} has another format ({author:.80}); this frobmetric reads version "
        f"{FORMAT_VERSION} only: {advice}"
    )
