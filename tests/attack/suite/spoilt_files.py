"""Spoilt files: damaged, foreign, too large when expanded, or no files at all."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import pickle
import shutil
import tempfile
import warnings
import zipfile
from functools import partial
from pathlib import Path

import numpy as np

from frobmetric import FrobMetric
from frobmetric.io import save

from . import choose

#: Bytes of a bomb when it is expanded.
BOMB = 1 << 30
SDPA = "1\n1\n2\n1.0\n0 1 1 2 3.0\n1 1 1 1 1.0\n1 1 2 2 1.0\n"
#: File that unpickling the object of an array would leave behind.
MARK = Path(tempfile.gettempdir(), "frobmetric_was_here")
NAMES = ("data", "a b", "-x", "ä", "x" * 200)


class Offers:
    """Whole files of each format, made once, from which spoilt ones are made."""

    def __init__(self, folder, rng):
        self.folder, self.rng = folder, rng
        self.good = dict(self._good())
        self.model = folder / "good.safetensors"
        self.model.write_bytes(self.good[".safetensors"])
        self._bombs: dict[str, bytes] = {}

    def _good(self):
        """Yield a whole file of each format, as bytes."""
        X, y = self.rng.normal(size=(40, 3)), np.arange(40) % 2
        X[:, 0] += 2 * y
        lines = [f"{a:.4f},{b:.4f},{c:.4f},k{k}" for (a, b, c), k in zip(X, y, strict=True)]
        text = "\n".join(["a,b,c,y", *lines]) + "\n"
        yield ".csv", text.encode()
        yield ".csv.gz", gzip.compress(text.encode())
        yield ".tsv", text.replace(",", "\t").encode()
        yield ".npy", _written(np.save, X)
        yield ".npz", _written(np.savez_compressed, X=X, y=y)
        yield ".parquet", _parquet({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y})
        yield ".dat-s", SDPA.encode()
        yield ".dat-s.gz", gzip.compress(SDPA.encode())
        yield ".dat-s.xz", lzma.compress(SDPA.encode())
        path = self.folder / "model"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            save(FrobMetric(keep_dual=True).fit(X, y), path)
        yield ".safetensors", path.read_bytes()
        path.unlink()

    def offer(self):
        """Return a spoilt file, and what was done to it."""
        suffix = choose(self.rng, sorted(self.good))
        kind = choose(self.rng, sorted(KINDS))
        path = self.folder / f"{choose(self.rng, NAMES)}{suffix}"
        KINDS[kind](self, path, suffix)
        return path, suffix, kind

    def clear(self, path):
        """Remove what an offer made."""
        for each in (path, path.with_name("other")):
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each)
            else:
                each.unlink(missing_ok=True)

    def bomb(self, suffix):
        """Return a small file that expands to a gigabyte."""
        if suffix not in self._bombs:
            self._bombs[suffix] = _make_bomb(suffix)
        return self._bombs[suffix]


def _written(write, *arrays, **named):
    file = io.BytesIO()
    write(file, *arrays, **named)
    return file.getvalue()


def _parquet(columns, **options):
    import pyarrow
    import pyarrow.parquet

    return _written(
        lambda file: pyarrow.parquet.write_table(pyarrow.table(columns), file, **options)
    )


def _make_bomb(suffix):
    """Return a bomb of a format; formats without compression get one of another."""
    zeros, size = bytes(1 << 20), BOMB >> 20
    match suffix:
        case ".dat-s.gz" | ".csv.gz" | ".csv" | ".tsv":
            parts = io.BytesIO()
            with gzip.GzipFile(fileobj=parts, mode="wb", compresslevel=1) as file:
                for _ in range(size):
                    file.write(b"1 " * (1 << 19))
            return parts.getvalue()
        case ".dat-s.xz":
            packer = lzma.LZMACompressor(preset=0)
            return b"".join(
                [*(packer.compress(b"1 " * (1 << 19)) for _ in range(size)), packer.flush()]
            )
        case ".parquet":
            return _parquet({name: np.zeros(1 << 24) for name in "abcd"})
        case _:
            parts = io.BytesIO()
            with (
                zipfile.ZipFile(parts, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
                archive.open("X.npy", "w") as file,
            ):
                shape = {"shape": (BOMB >> 3, 1), "fortran_order": False, "descr": "<f8"}
                np.lib.format.write_array_header_1_0(file, shape)
                for _ in range(size):
                    file.write(zeros)
            return parts.getvalue()


def _truncate(self, path, suffix):
    data = self.good[suffix]
    path.write_bytes(data[: self.rng.integers(len(data))])


def _damage(self, path, suffix):
    data = bytearray(self.good[suffix])
    for place in self.rng.integers(len(data), size=self.rng.integers(1, 9)):
        data[place] = self.rng.integers(256)
    path.write_bytes(data)


def _zero_a_part(self, path, suffix):
    data = bytearray(self.good[suffix])
    start, stop = sorted(self.rng.integers(len(data) + 1, size=2))
    data[start:stop] = bytes(stop - start)
    path.write_bytes(data)


def _foreign(self, path, suffix):
    others = [each for other, each in self.good.items() if other != suffix]
    others += [b"\x7fELF" + bytes(100), b"%PDF-1.4\n" + bytes(50), b"PK\x03\x04", b"\x1f\x8b\x08"]
    others += [pickle.dumps({"a": 1}), b"<html><body>not found</body></html>", b"\x93NUMPY\x01\x00"]
    path.write_bytes(choose(self.rng, others))


def _nothing(self, path, suffix):
    path.write_bytes(choose(self.rng, [b"", b"\n" * 50, b" ", b"\xef\xbb\xbf", b"\r\r\r", b"\0"]))


def _nul_bytes(self, path, suffix):
    data = self.good[suffix]
    place = self.rng.integers(len(data) + 1)
    path.write_bytes(data[:place] + bytes(self.rng.integers(1, 100)) + data[place:])


def _other_encoding(self, path, suffix):
    text = self.good[".csv"].decode().replace("k1", "kä€")
    path.write_bytes(text.encode(choose(self.rng, ["utf-16", "utf-32", "cp1252", "utf-7"])))


def _long_lines(self, path, suffix):
    cell = choose(self.rng, [b"1", b"a", b"1,", b'"', b"1 ", b"(", b"9" * 400 + b","])
    path.write_bytes(cell * ((20 << 20) // len(cell)))


def _wide(self, path, suffix):
    row = b",".join(b"%d" % k for k in range(200_000))
    path.write_bytes(b"\n".join([b",".join(b"c%d" % k for k in range(200_000)), row, row]))


def _loop(self, path, suffix):
    other = path.with_name("other")
    other.symlink_to(path)
    path.symlink_to(other)


def _dangling(self, path, suffix):
    path.symlink_to(path.with_name("nowhere"))


def _directory(self, path, suffix):
    path.mkdir()


def _fifo(self, path, suffix):
    os.mkfifo(path)


def _device(self, path, suffix):
    path.symlink_to(choose(self.rng, ["/dev/zero", "/dev/full", "/dev/tty", "/dev/stdin"]))


def _holes(self, path, suffix):
    with open(path, "wb") as file:
        file.write(self.good[suffix][: self.rng.integers(len(self.good[suffix]))])
        file.truncate(int(choose(self.rng, [1 << 30, 10 << 30, 1 << 40])))


def _bomb(self, path, suffix):
    path.write_bytes(self.bomb(suffix))


def _bomb_of_another(self, path, suffix):
    path.write_bytes(self.bomb(choose(self.rng, [".npz", ".dat-s.gz", ".dat-s.xz", ".parquet"])))


def _huge_shape(self, path, suffix):
    n = int(choose(self.rng, [10**5, 10**9, 10**18, -1]))
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({n}, {n}), }}"
    npy = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(64)
    tensors = f'{{"components":{{"dtype":"F64","shape":[{n},{n}],"data_offsets":[0,64]}}}}'
    tensors = len(tensors).to_bytes(8, "little") + tensors.encode() + bytes(64)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("X.npy", npy)
    sdpa = f"{abs(n)}\n1\n{n}\n1.0\n1 1 1 1 1.0\n".encode()
    of_blocks = f"1\n1\n{n}\n1.0\n1 1 1 1 1.0\n".encode()
    contents = {".npy": npy, ".npz": archive.getvalue(), ".safetensors": tensors, ".dat-s": sdpa}
    contents |= {".dat-s.gz": gzip.compress(of_blocks), ".dat-s.xz": lzma.compress(sdpa)}
    path.write_bytes(contents.get(suffix, of_blocks))


def _objects(self, path, suffix):
    array = np.array([[_Evil()]], dtype=object)
    data = _written(partial(np.save, allow_pickle=True), array)
    if suffix == ".npz":
        data = _written(np.savez, X=array)
    path.write_bytes(data)


class _Evil:
    """An object whose unpickling would leave a file behind."""

    def __reduce__(self):
        return (open, (str(MARK), "w"))


def _encrypted(self, path, suffix):
    data = bytearray(_written(np.savez, X=np.ones((3, 2))))
    data[6] |= 1
    data[data.rindex(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)


def _other_compression(self, path, suffix):
    data = bytearray(_written(np.savez, X=np.ones((3, 2))))
    data[8] = data[data.rindex(b"PK\1\2") + 10] = choose(self.rng, [1, 12, 97, 99])
    path.write_bytes(data)


def _odd_members(self, path, suffix):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("../../X.npy", "X.npy", "X.npy", "y", "\x1b[31m.npy"):
            good = self.rng.random() < 0.5
            file.writestr(name, self.good[".npy"] if good else b"no array")
    path.write_bytes(archive.getvalue())


def _odd_cells(self, path, suffix):
    cells = ["1e999", "nan", "-inf", "0x10", "١", "1_0", "--1", "1,5", "'1", "=1+1", "\x1b[2J", ""]
    rows = [[choose(self.rng, cells) for _ in range(3)] + ["k"] for _ in range(5)]
    separator = "\t" if suffix == ".tsv" else ","
    path.write_text("\n".join(separator.join(row) for row in [["a", "b", "c", "y"], *rows]))


def _nested(self, path, suffix):
    deep = b'{"__metadata__":' + b"[" * 100_000
    path.write_bytes(len(deep).to_bytes(8, "little") + deep)


KINDS = {
    function.__name__.strip("_").replace("_", " "): function
    for function in (
        *(
            _truncate,
            _damage,
            _zero_a_part,
            _foreign,
            _nothing,
            _nul_bytes,
            _other_encoding,
            _long_lines,
        ),
        *(
            _wide,
            _loop,
            _dangling,
            _directory,
            _fifo,
            _device,
            _holes,
            _bomb,
            _bomb_of_another,
            _huge_shape,
        ),
        *(_objects, _encrypted, _other_compression, _odd_members, _odd_cells, _nested),
    )
}
#: Kinds that no reader may take for data.
NEVER = ("nothing", "loop", "directory", "fifo", "device", "holes", "objects", "nested")
