"""Tables in blocks, compressed, and on the standard streams."""

import gzip
import io
import sys

import numpy as np
import pytest

from frobmetric.app.tables import reading as tables
from frobmetric.app.tables.reading import BlockSizes, Table, read_table, reading_blocks
from frobmetric.app.tables.writing import write_table, writing_blocks

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(500, 3)), np.arange(500) % 3
FORMATS = [".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".npy", ".npz"]


SMALL = BlockSizes(text=4000, numbers=8 * 4 * 100)


@pytest.mark.parametrize("suffix", FORMATS)
def test_blocks_are_the_table(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    write_table(path, Table(X, None if suffix == ".npy" else Y, ["a", "b", "c"]))
    target = None if suffix in (".npy", ".npz") else "label"
    with reading_blocks(path, target, sizes=SMALL) as blocks:
        parts, shares = zip(*blocks, strict=True)
    assert len(parts) > 3
    np.testing.assert_array_equal(np.concatenate([part.X for part in parts]), X)
    assert shares[-1] == 1
    assert list(shares) == sorted(shares)
    if suffix != ".npy":
        np.testing.assert_array_equal(np.concatenate([part.y for part in parts]).astype(int), Y)


@pytest.mark.parametrize("suffix", FORMATS)
def test_blocks_are_written_as_one_table(tmp_path, suffix):
    whole, path = tmp_path / f"whole{suffix}", tmp_path / f"t{suffix}"
    labels = None if suffix == ".npy" else Y
    write_table(whole, Table(X, labels))
    with writing_blocks(path) as write:
        for rows in (slice(0, 200), slice(200, 201), slice(201, 500)):
            write(Table(X[rows], None if labels is None else labels[rows]))
    target = None if suffix in (".npy", ".npz") else "label"
    found, expected = read_table(path, target), read_table(whole, target)
    np.testing.assert_array_equal(found.X, expected.X)
    assert (found.y is None) == (labels is None)
    if suffix in (".csv", ".tsv", ".npy"):
        assert path.read_bytes() == whole.read_bytes()


def write_rows(write):
    write(Table(X))
    np.concatenate([X, Y])


def test_nothing_is_written_if_a_block_fails(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")
    with pytest.raises(ValueError, match="all the input"), writing_blocks(path) as write:
        write_rows(write)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_line_of_a_mistake_in_a_later_block(tmp_path):
    lines = [*(f"{i},{i}" for i in range(3000)), "1,oops", "2,2"]
    (tmp_path / "t.csv").write_text("a,b\n" + "\n".join(lines))
    with (
        pytest.raises(ValueError, match=r"t.csv, line 3002, column 'b': 'oops' is text"),
        reading_blocks(tmp_path / "t.csv") as blocks,
    ):
        assert sum(len(table.X) for table, _ in blocks)


def test_labels_of_several_blocks_are_texts(tmp_path):
    lines = [*(f"{i},{i % 3}" for i in range(3000)), "1,x"]
    (tmp_path / "t.csv").write_text("a,b\n" + "\n".join(lines))
    with reading_blocks(tmp_path / "t.csv", "b") as blocks:
        kinds = {table.y.dtype.kind for table, _ in blocks}
    assert kinds == {"U"}


def test_gzip_files_that_are_damaged_or_expand_without_limit(tmp_path, monkeypatch):
    path = tmp_path / "t.csv.gz"
    write_table(path, Table(X))
    whole = path.read_bytes()
    path.write_bytes(whole[:-200])
    with pytest.raises(ValueError, match=r"t.csv.gz is damaged"):
        read_table(path)
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"t.csv.gz is damaged"):
        read_table(path)
    monkeypatch.setattr(tables, "EXPANDED", 1000)
    monkeypatch.setattr("frobmetric.runtime.environment.EXPANDED", 1000)
    path.write_bytes(gzip.compress(b"a\n" + b"1\n" * 10**6))
    with pytest.raises(ValueError, match="would expand to"):
        read_table(path)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".npy", ".npz"])
def test_standard_input_of_any_format(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"t{suffix}"
    write_table(path, Table(X))
    content = io.TextIOWrapper(io.BytesIO(path.read_bytes()))
    monkeypatch.setattr(sys, "stdin", content)
    np.testing.assert_array_equal(read_table("-").X, X)


def test_a_mistake_in_the_standard_input(monkeypatch):
    for text, message in (("a,b\n1,x\n", r"^stdin, line 2, column 'b'"), ("", "^stdin is empty")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        with pytest.raises(ValueError, match=message):
            read_table("-")


def test_standard_output(capsysbinary):
    write_table("-", Table(np.array([[1.5, 2]]), np.array(["x"]), ["a", "b"]))
    assert capsysbinary.readouterr().out == b"a,b,label\n1.5,2.0,x\n"
