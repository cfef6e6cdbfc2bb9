"""Preparation of columns: learned once, kept in the model, and done again to every table."""

import json

import numpy as np
import pytest

from frobmetric import FrobMetric, load, save
from frobmetric.app.tables.reading import read_table
from frobmetric.io.preparation import PreparedColumn, Preparing, TablePreparation
from model_files import contents, write

DIRTY = """id,size,color,weight,kind
1,1.5,red,10,a
2,,blue,12,b
3,2.5, red ,,a
4,3.5,NA,14,b
"""
HOW = Preparing(drop=["id"], impute="median", categories="one-hot")


@pytest.fixture
def dirty(tmp_path):
    path = tmp_path / "dirty.csv"
    path.write_text(DIRTY)
    return path


@pytest.fixture
def table(dirty):
    return read_table(dirty, "kind", preparation=HOW)


def test_numbers_are_filled_in_and_texts_become_categories(table):
    assert table.feature_names == ["size", "color=blue", "color=red", "weight"]
    expected = [[1.5, 0, 1, 10], [2.5, 1, 0, 12], [2.5, 0, 1, 12], [3.5, 0, 1, 14]]
    np.testing.assert_array_equal(table.X, expected)  # "red" is the most frequent
    assert list(table.y) == ["a", "b", "a", "b"]
    assert table.preparation.n_features == 4


def test_the_mean_instead_of_the_median(dirty):
    how = Preparing(columns=["size", "weight"], impute="mean")
    np.testing.assert_allclose(read_table(dirty, preparation=how).X[1, 0], 7.5 / 3)


def test_columns_are_found_by_name_in_any_order(table, tmp_path):
    (tmp_path / "new.csv").write_text("color,more,weight,size\nblue,x,1,\n")
    again = read_table(tmp_path / "new.csv", preparation=table.preparation)
    np.testing.assert_array_equal(again.X, [[2.5, 1, 0, 1]])
    assert again.feature_names == table.feature_names


def test_an_unknown_category_has_only_zeros_and_warns(table, tmp_path):
    (tmp_path / "new.csv").write_text("color,weight,size\nblue,1,1\npink,1,1\n")
    with pytest.warns(UserWarning, match="'color' holds 'pink' in 1 of 2 rows"):
        again = read_table(tmp_path / "new.csv", preparation=table.preparation)
    np.testing.assert_array_equal(again.X[1], [1, 0, 0, 1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("color,weight,sise\nred,1,1\n", "has no column 'size'; did you mean 'sise'?"),
        (
            "color,weight,size\n1,1,1\n2,1,1\n",
            "none of the categories that the model knows: 'blue'",
        ),
        ("color,weight,size\nred,heavy,1\n", "line 2, column 'weight': 'heavy' is text"),
    ],
)
def test_columns_that_are_missing_or_of_another_kind(table, tmp_path, text, message):
    (tmp_path / "new.csv").write_text(text)
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        read_table(tmp_path / "new.csv", preparation=table.preparation)


def test_a_file_without_names_does_not_fit_columns_by_name(table, tmp_path):
    np.save(tmp_path / "new.npy", np.ones((2, 4)))
    with pytest.raises(ValueError, match="has no column names, and the model was learned from"):
        read_table(tmp_path / "new.npy", preparation=table.preparation)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (Preparing(), "line 3, column 'size': the value is missing.*--impute median"),
        (Preparing(impute="mean"), "column 'color': 'red' is text.*--categories one-hot.*--drop"),
        (Preparing(drop=["kind"]), "'kind' holds the labels"),
        (Preparing(columns=["colour"]), "did you mean 'color'"),
        (Preparing(columns=["size"], drop=["size"]), "no column left"),
        (Preparing(categories="one-hot"), "column 'size': the value is missing"),
    ],
)
def test_what_was_not_asked_for_is_refused(dirty, how, message):
    with pytest.raises(ValueError, match=message):
        read_table(dirty, "kind", preparation=how)


def test_names_of_rows_are_no_categories(tmp_path):
    rows = "\n".join(f"name{i},{i}" for i in range(101))
    (tmp_path / "t.csv").write_text(f"name,x\n{rows}\n")
    with pytest.raises(ValueError, match=r"101 different texts.*--drop name"):
        read_table(tmp_path / "t.csv", preparation=Preparing(categories="one-hot"))


def test_a_column_without_numbers(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,\n2,\n")
    with pytest.raises(ValueError, match=r"'b' has no number at all.*--drop b"):
        read_table(tmp_path / "t.csv", preparation=Preparing(impute="mean"))


def test_arrays_have_numbers_of_columns(tmp_path):
    X = np.array([[9.0, 1, np.nan], [9, 2, 4], [9, 3, 8]])
    np.savez(tmp_path / "t.npz", X=X, y=[0, 1, 0])
    table = read_table(tmp_path / "t.npz", preparation=Preparing(drop=["0"], impute="median"))
    np.testing.assert_array_equal(table.X, [[1, 6], [2, 4], [3, 8]])
    assert table.feature_names is None
    np.save(tmp_path / "new.npy", X[:1])
    again = read_table(tmp_path / "new.npy", preparation=table.preparation)
    np.testing.assert_array_equal(again.X, [[1, 6]])
    np.save(tmp_path / "narrow.npy", X[:, :2])
    with pytest.raises(ValueError, match="has 2 columns of features; the model needs column 2"):
        read_table(tmp_path / "narrow.npy", preparation=table.preparation)


# In the file of a model


@pytest.fixture
def model(table, tmp_path):
    estimator = FrobMetric(n_neighbors=1).fit(table.dataframe(), table.y)
    estimator.preparation_ = table.preparation
    save(estimator, tmp_path / "m.safetensors")
    return estimator


def test_a_model_keeps_its_preparation(model, tmp_path):
    assert load(tmp_path / "m.safetensors").preparation_ == model.preparation_


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": 1}, "name of PreparedColumn is 1"),
        ({"number": -1}, "neither of numbers nor of categories"),
        ({"fill": "x"}, "neither of numbers nor of categories"),
        ({"fill": "x", "categories": {"tuple": ["y"]}}, "neither of numbers nor of categories"),
        ({"categories": {"tuple": [1]}}, "categories of PreparedColumn"),
        ({"categories": {"tuple": []}}, "neither of numbers nor of categories"),
        ({"name": "other"}, "it prepares 4 features"),
    ],
)
def test_columns_that_are_none(model, tmp_path, fields, message):
    path = tmp_path / "m.safetensors"
    tensors, header = contents(path)
    features = header["value"]["LinearMap"]["features"]["Features"]
    columns = features["preparation"]["TablePreparation"]["columns"]["tuple"]
    columns[0]["PreparedColumn"] |= fields
    write(path, tensors, header)
    with pytest.raises(ValueError, match=f"is damaged: .*{message}"):
        load(path)


def test_a_preparation_of_another_model(model):
    with pytest.raises(ValueError, match="it prepares 1 features"):
        model.preparation_ = TablePreparation((PreparedColumn("a", 0),))
    with pytest.raises(ValueError, match="a preparation has no columns"):
        TablePreparation(())


def test_fields_are_json(table):
    fields = table.preparation.to_fields()
    assert json.loads(json.dumps(fields))[0]["name"] == "size"
