"""Tables in every format; what is wrong with one is said by line and column."""

import gzip
import io
import sys

import numpy as np
import pytest

from frobmetric.app.tables.reading import Table, read_table, read_triplets, reading_blocks
from frobmetric.app.tables.writing import write_table
from frobmetric.backends import RowFile
from frobmetric.io import text
from frobmetric.metric import FrobMetric

SUFFIXES = [".csv", ".tsv", ".parquet", ".npy", ".npz"]
GOOD = "height,width,label\n1.5,2,cat\n3,4e0,dog\n-1,.5,cat\n"


@pytest.fixture
def csv_file(tmp_path):
    def write(text, name="data.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_text(text, encoding=encoding)
        return path

    return write


def parquet(path, columns):
    arrow = pytest.importorskip("pyarrow", reason="parquet needs pyarrow")
    import pyarrow.parquet

    pyarrow.parquet.write_table(arrow.table(columns), path)
    return path


def test_csv(csv_file):
    table = read_table(csv_file(GOOD), target="label")
    np.testing.assert_array_equal(table.X, [[1.5, 2], [3, 4], [-1, 0.5]])
    assert table.y.tolist() == ["cat", "dog", "cat"]
    assert table.feature_names == ["height", "width"]


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace(",", ";"),
        GOOD.replace(",", "\t"),
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "\n\n"),
        GOOD.replace("cat", '"cat"').replace("2", " 2 "),
        "\ufeff" + GOOD,
    ],
)
def test_csv_as_other_programs_write_it(csv_file, text):
    table = read_table(csv_file(text), target="label")
    np.testing.assert_array_equal(table.X, [[1.5, 2], [3, 4], [-1, 0.5]])
    assert table.y.tolist() == ["cat", "dog", "cat"]
    assert table.feature_names == ["height", "width"]


@pytest.mark.parametrize("target", ["2", "-1", "label"])
def test_target_by_number(csv_file, target):
    assert read_table(csv_file(GOOD), target=target).y.tolist() == ["cat", "dog", "cat"]


def test_names_that_look_like_missing_values(csv_file):
    assert read_table(csv_file("NA,?,3\n1,2,3\n")).feature_names == ["NA", "?", "3"]


def test_a_name_goes_before_a_number(csv_file):
    table = read_table(csv_file("1,0\n5,6\n7,8\n"), target="0")
    assert table.y.tolist() == [6, 8]
    assert table.X.tolist() == [[5], [7]]


def test_columns_of_a_model_by_name_in_its_order(csv_file):
    table = read_table(csv_file(GOOD), features=["width", "height"])
    np.testing.assert_array_equal(table.X, [[2, 1.5], [4, 3], [0.5, -1]])


@pytest.mark.parametrize(
    ("labels", "kind"),
    [(["1", "2", "1"], "i"), (["1.0", "2", "1e0"], "f"), (["1", "two", "3"], "U")],
)
def test_labels_are_numbers_if_all_of_them_are(csv_file, labels, kind):
    y = read_table(csv_file("a,b\n" + "".join(f"0,{x}\n" for x in labels)), target="b").y
    assert y.dtype.kind == kind
    assert (y[0] == y[2]) == (kind != "U")


def test_without_names(csv_file):
    table = read_table(csv_file("1.5,2,cat\n3,4,dog\n"), target="-1", header=False)
    np.testing.assert_array_equal(table.X, [[1.5, 2], [3, 4]])
    assert table.feature_names is None
    assert table.y.tolist() == ["cat", "dog"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "data.csv is empty"),
        ("\n\n", "only blank lines"),
        ("a,label\n", "no rows of data"),
        ("a,b,label\n1,2,x\n3,oops,y\n", "line 3, column 'b': 'oops' is text; expected a number"),
        ("a,b,label\n1,2,x\n\n\n3,oops,y\n", "line 5, column 'b': 'oops'"),
        ('a,b,label\n1,2,"x\ny"\n3,oops,y\n', "line 4, column 'b': 'oops'"),
        ("a,b,label\n1,2,x\n3,1_0,y\n", "line 3, column 'b': '1_0' is text"),
        ("a,b,label\n1,2,x\n3,,y\n", "line 3, column 'b': the value is missing;"),
        ("a,b,label\n1,2,x\nNA,3,y\n", r"line 3, column 'a': the value is missing \('NA'\)"),
        ("a,b,label\n1,2,x\n3,nan,y\n", r"line 3, column 'b': the value is missing \('nan'\)"),
        ("a,b,label\n1,2,x\n3,-inf,y\n", "line 3, column 'b': the value is infinite"),
        ("a;b;label\n1;2,5;x\n", "line 2, column 'b': '2,5' has a decimal comma"),
        ("a,b,label\n1,2,x\n3,4,\n", "line 3, column 'label': the label is missing"),
        ("a,b,label\n1,2,x\n3,4\n", "line 3 has 2 fields; the first has 3"),
        ("a,b,labels\n1,2,x\n", "no column 'label'; did you mean 'labels'?"),
        ("A,B,LABEL\n1,2,x\n", "did you mean 'LABEL'?"),
        ("a,b,zzz\n1,2,x\n", "no column 'label'. Its columns are: a, b, zzz"),
        ("a,a,label\n1,2,x\n", "2 columns are named 'a'"),
        (",a,label\n0,2,x\n", "column 0 has no name"),
        ("5.1,3.5,label\n4.9,3.0,x\n", "line 1 has the number 5.1 where a column name"),
        ("label\nx\n", "no column but the target"),
    ],
)
def test_what_is_wrong_with_a_csv(csv_file, text, message):
    with pytest.raises(ValueError, match=message):
        read_table(csv_file(text), target="label")


def test_many_columns_are_not_all_listed(csv_file):
    text = ",".join(f"c{i}" for i in range(100)) + "\n"
    with pytest.raises(ValueError, match=r"c7, \.\.\. \(100 in all\)"):
        read_table(csv_file(text), target="label")


@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz"])
def test_what_is_too_wide_is_refused_before_it_is_split(tmp_path, monkeypatch, name):
    opening = gzip.open if name.endswith(".gz") else open
    path = tmp_path / name
    with opening(path, "wt") as file:
        file.write("1," * 50_000 + "1\n")
    for read in (read_table, read_triplets):
        with pytest.raises(ValueError, match="line 1 has 50,001 columns; expected at most 50,000"):
            read(path)
    monkeypatch.setattr(text, "LONGEST", 100)
    with pytest.raises(ValueError, match="line 1 is longer than 100 characters"):
        read_table(path)


def test_missing_feature_of_a_model(csv_file):
    with pytest.raises(ValueError, match="no column 'heigth'; did you mean 'height'"):
        read_table(csv_file(GOOD), features=["width", "heigth"])


def test_text_in_another_encoding(csv_file):
    with pytest.raises(ValueError, match="not UTF-8 text"):
        read_table(csv_file(GOOD.replace("cat", "kötter"), encoding="latin-1"), target="label")


@pytest.mark.parametrize(("target", "message"), [("3", "are 0 to 2"), ("x", "has no column names")])
def test_no_such_column_number(csv_file, target, message):
    with pytest.raises(ValueError, match=message):
        read_table(csv_file("1,2,3\n"), target=target, header=False)


def test_missing_file_folder_and_format(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no.csv does not exist; expected a table; check"):
        read_table(tmp_path / "no.csv")
    (tmp_path / "customers.csv").write_text("1,2\n")
    with pytest.raises(FileNotFoundError, match=r"did you mean 'customers.csv'\?"):
        read_table(tmp_path / "customer.csv")
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(FileNotFoundError, match="is not a regular file") as raised:
        read_table(tmp_path / "d.csv")
    assert "did you mean" not in str(raised.value)
    for name in ("some.xlsx", "some", "m.safetensors"):
        (tmp_path / name).write_text("1,2\n")
    with pytest.raises(ValueError, match=r"format '.xlsx'; expected one of .csv, .tsv, .csv.gz,"):
        read_table(tmp_path / "some.xlsx")
    with pytest.raises(ValueError, match="without a suffix"):
        read_table(tmp_path / "some")
    with pytest.raises(ValueError, match="a model, or another file of tensors; expected one of"):
        read_table(tmp_path / "m.safetensors")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_round_trip_is_exact(tmp_path, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow", reason="parquet needs pyarrow")
    X = np.random.default_rng(0).normal(size=(7, 3)) * 10.0 ** np.arange(-150, 151, 150)
    y = np.array(list("abcabca"))
    path = tmp_path / f"t{suffix}"
    write_table(path, Table(X, y, ["p", "q", "r"]))
    target = None if suffix.startswith(".np") else "label"
    table = read_table(path, target=target)
    np.testing.assert_array_equal(table.X, X)
    assert table.feature_names == (None if target is None else ["p", "q", "r"])
    if suffix != ".npy":
        assert table.y.tolist() == y.tolist()
    assert list(tmp_path.iterdir()) == [path]


def test_unknown_format_is_not_written(tmp_path):
    with pytest.raises(ValueError, match="cannot write"):
        write_table(tmp_path / "t.txt", Table(np.ones((2, 2))))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": ["1", "x"], "label": [0, 1]}, r"row 1 \(the first is 0\), column 'a': 'x' is text"),
        ({"a": [1.0, None], "label": [0, 1]}, r"row 1 .*, column 'a': the value is missing"),
        ({"a": [np.inf, 1.0], "label": [0, 1]}, "row 0 .*, column 'a': the value is infinite"),
        ({"a": [[1], [2]], "label": [0, 1]}, "column 'a' holds list.*expected numbers"),
        ({"a": [1, 2], "label": ["x", None]}, "row 1 .*, column 'label': the label is missing"),
        ({"a": [1, 2], "labl": [0, 1]}, "did you mean 'labl'?"),
    ],
)
def test_what_is_wrong_with_a_parquet(tmp_path, columns, message):
    with pytest.raises(ValueError, match=message):
        read_table(parquet(tmp_path / "t.parquet", columns), target="label")


def test_parquet_kinds_of_numbers(tmp_path):
    columns = {
        "i": [1, 2],
        "f": [0.5, 1.5],
        "b": [True, False],
        "s": ["3", "4"],
        "label": [7, 8],
        "__index_level_0__": [10, 20],
    }
    table = read_table(parquet(tmp_path / "t.parquet", columns), target="label")
    np.testing.assert_array_equal(table.X, [[1, 0.5, 1, 3], [2, 1.5, 0, 4]])
    assert table.y.tolist() == [7, 8]


@pytest.mark.parametrize("suffix", [".parquet", ".npy", ".npz"])
def test_not_what_the_suffix_says(tmp_path, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow", reason="parquet needs pyarrow")
    path = tmp_path / f"t{suffix}"
    path.write_text(GOOD)
    with pytest.raises(ValueError, match="cannot be read as"):
        read_table(path, target="0")


@pytest.mark.parametrize("cell", ["a", "x" * 100_000, "1" * 100_000])
def test_messages_quote_the_beginning_of_what_is_long(csv_file, cell):
    for lines in (f"a,b\n1,{cell}x\n", f"a,{cell}x\n1,z\n", f"{cell}x,{cell}x\n1,2\n"):
        with pytest.raises(ValueError, match=r"data\.csv") as raised:
            read_table(csv_file(lines))
        assert len(str(raised.value)) < 1500


@pytest.mark.parametrize("read", [read_table, read_triplets])
@pytest.mark.parametrize("place", [12, 15])
def test_damaged_gzip_is_said(tmp_path, read, place):
    packed = bytearray(gzip.compress(b"a,b,c\n" + b"1,2,3\n" * 50))
    packed[place:-8] = bytes(255 for _ in packed[place:-8])
    path = tmp_path / "t.csv.gz"
    path.write_bytes(packed)
    with pytest.raises(ValueError, match=r"t.csv.gz is damaged: .*; get the file again"):
        read(path)


def test_an_npz_that_is_named_npy_is_refused_in_blocks_too(tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, X=np.ones((3, 2)))
    path = path.rename(tmp_path / "t.npy")
    with reading_blocks(path) as blocks, pytest.raises(ValueError, match="cannot be read as a Num"):
        list(blocks)


@pytest.mark.parametrize("shape", [(2**62, 2), (2**31, 2**30), (10**30, 1)])
def test_sizes_that_no_file_has_are_refused(tmp_path, shape):
    path = tmp_path / "t.npy"
    with open(path, "wb") as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
    with pytest.raises(ValueError, match="cannot be read as a NumPy"):
        read_table(path)
    with reading_blocks(path) as blocks, pytest.raises(ValueError, match="cannot be read as a Num"):
        list(blocks)
    with pytest.raises(ValueError, match="cannot be read"):
        RowFile(path)


def test_numpy_files(tmp_path):
    X, y = np.arange(6).reshape(3, 2), np.array(["u", "v", "u"])
    np.savez(tmp_path / "xy.npz", X=X, y=y)
    np.savez(tmp_path / "named.npz", data=X, answer=y)
    np.savez(tmp_path / "one.npz", table=X)
    np.save(tmp_path / "t.npy", X)
    assert read_table(tmp_path / "xy.npz").y.tolist() == ["u", "v", "u"]
    assert read_table(tmp_path / "named.npz", target="answer").y.tolist() == ["u", "v", "u"]
    for name in ("one.npz", "t.npy", "xy.npz"):
        table = read_table(tmp_path / name, target="1")
        assert table.y.tolist() == [1, 3, 5]
        assert table.X.tolist() == [[0], [2], [4]]
    assert read_table(tmp_path / "t.npy").X.tolist() == X.tolist()


def test_single_precision_stays(tmp_path):
    np.save(tmp_path / "t.npy", np.ones((3, 2), dtype=np.float32))
    assert read_table(tmp_path / "t.npy").X.dtype == np.float32


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.ones(3)}, r"shape \(3,\); expected \(rows, columns\)"),
        ({"X": np.ones((0, 3))}, "no rows"),
        ({"X": np.ones((3, 2)), "y": np.ones(2)}, r"y has shape \(2,\); X has 3 rows"),
        ({"X": np.array([[1.0, 2], [3, np.nan]])}, "row 1, column 1 .*missing"),
        ({"X": np.array([["1", "2"], ["3", "x"]])}, "row 1, column 1 .*'x' is text"),
        ({"X": np.ones((2, 2), dtype=complex)}, "holds complex128; expected numbers"),
        ({"a": np.ones((2, 2)), "b": np.ones(2)}, r"arrays \['a', 'b'\]; expected X and y"),
    ],
)
def test_what_is_wrong_with_an_npz(tmp_path, arrays, message):
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "t.npz")


class Trap:
    """Unpickling one writes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return io.open, (str(self.path), "w")


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_pickles_are_never_opened(tmp_path, suffix):
    array = np.array([[Trap(tmp_path / "sprung"), 1]], dtype=object)
    path = tmp_path / f"t{suffix}"
    (np.save if suffix == ".npy" else np.savez)(path, array, allow_pickle=True)
    with pytest.raises(ValueError, match=r"Object arrays|pickle"):
        read_table(path)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("head", ["", "anchor,near,far\n"])
def test_triplets_from_csv(csv_file, head):
    triplets = read_triplets(csv_file(head + "0,1,60\n0,2,99\n"))
    assert triplets.tolist() == [[0, 1, 60], [0, 2, 99]]
    assert np.issubdtype(triplets.dtype, np.integer)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,1\n", "2 columns; expected anchor, near, far"),
        ("0,1,2\n0,1,2.5\n", r"triplet 1 .*: 2.5 is not a row number"),
        ("0,1,2\n0,x,2\n", "line 2, column 1: 'x' is text"),
    ],
)
def test_what_is_wrong_with_triplets(csv_file, text, message):
    with pytest.raises(ValueError, match=message):
        read_triplets(csv_file(text))


def test_an_estimator_learns_the_names(csv_file):
    pytest.importorskip("pyarrow", reason="names travel in arrow tables")
    text = "u,v,label\n" + "".join(f"{i},{i * i % 7},{i // 5}\n" for i in range(10))
    table = read_table(csv_file(text), target="label")
    model = FrobMetric().fit(table.dataframe(), table.y)
    assert list(model.feature_names_in_) == ["u", "v"]
    plain = FrobMetric().fit(table.X, table.y)
    np.testing.assert_allclose(model.components_, plain.components_, rtol=1e-6, atol=1e-12)


def test_a_missing_extra_says_what_to_install(tmp_path, monkeypatch):
    for module in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    with pytest.raises(ImportError, match=r"this needs pyarrow; .*'frobmetric\[cli\]'"):
        read_table(tmp_path / "t.parquet")


@pytest.mark.parametrize("suffix", ["csv", "tsv.gz"])
def test_names_that_begin_with_a_byte_order_mark_are_read_back(tmp_path, suffix):
    path = tmp_path / f"table.{suffix}"
    names = ["\ufeffa", "b\rc", "\ufeff"]
    write_table(path, Table(np.eye(3), np.array(["\ufeffx", "y", "z"]), names))
    table = read_table(path, target="label")
    assert table.feature_names == names
    assert table.y.tolist() == ["\ufeffx", "y", "z"]
