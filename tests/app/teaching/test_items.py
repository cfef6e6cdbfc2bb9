"""Items to compare: pictures of a folder, and rows of a table."""

import numpy as np
import pytest

from frobmetric.app.tables.reading import read_table
from frobmetric.app.teaching import TeachingSession
from frobmetric.app.teaching.items import read_items
from frobmetric.app.teaching.storage import save_session
from frobmetric.io import load
from frobmetric.io.preparation import Preparing

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def folder(tmp_path):
    for i, name in enumerate(["b.png", "a.jpg", "c.PNG"]):
        colours = np.full((20, 30, 3), 80 * i, dtype=np.uint8)
        Image.fromarray(colours).save(tmp_path / name)
    (tmp_path / "notes.txt").write_text("no picture")
    return tmp_path


def test_pictures_are_in_the_order_of_their_names(folder):
    items = read_items(folder)
    assert items.names == ["a.jpg", "b.png", "c.PNG"]
    np.testing.assert_allclose(items.X.mean(axis=1), [80 / 255, 0, 160 / 255], atol=0.01)
    assert items.look(0)["picture"].startswith("data:image/jpeg;base64,")


def test_a_mistyped_folder(folder):
    (folder / "imgs").mkdir()
    with pytest.raises(FileNotFoundError, match=r"imgz does not exist; .* did you mean 'imgs'\?"):
        read_items(folder / "imgz")


def test_the_message_speaks_of_what_the_target_is(tmp_path):
    (tmp_path / "t.csv").write_text("name,x\na,1\nb,2\n")
    with pytest.raises(ValueError, match=r"if it holds the names of the rows, name it \(--target"):
        read_items(tmp_path / "t.csv")


def test_features_take_the_place_of_pixels(folder):
    np.save(folder / "vectors.npy", np.eye(3))
    assert np.array_equal(read_items(folder, folder / "vectors.npy").X, np.eye(3))
    np.save(folder / "vectors.npy", np.eye(4))
    with pytest.raises(ValueError, match=r"4 rows; .* 3 pictures"):
        read_items(folder, folder / "vectors.npy")


def test_rows_of_a_table_have_names_and_values(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("<i>x</i>,y,kind\n1.5,2,cat\n3,4,dog\n5,6,cow\n")
    items = read_items(path, target="kind")
    assert items.look(0) == {"name": "cat (row 0)", "values": [("<i>x</i>", "1.5"), ("y", "2")]}
    assert items.units == "deviation"
    with pytest.raises(ValueError, match="leave --features out"):
        read_items(path, "vectors.npy")


def test_a_table_is_prepared_and_the_model_keeps_how(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,x,city\na,1,Ulm\nb,,Bonn\nc,5,\nd,2,Ulm\n")
    how = Preparing(impute="median", categories="one-hot")
    items = read_items(path, target="id", preparation=how)
    assert items.look(1) == {"name": "b (row 1)", "values": [("x", "2"), ("city", "Bonn")]}
    assert items.look(2)["values"] == [("x", "5"), ("city", "Ulm")]
    session = TeachingSession(items.X, units=items.units, feature_names=items.feature_names)
    session.answer(True)
    save_session(session, tmp_path / "a.csv", tmp_path / "m.safetensors", items.preparation)
    model = load(tmp_path / "m.safetensors")
    table = read_table(path, "id", preparation=model.preparation_)
    np.testing.assert_array_equal(table.X, items.X)
    assert list(model.feature_names_in_) == ["x", "city=Bonn", "city=Ulm"]


def test_pictures_are_not_prepared(folder):
    with pytest.raises(ValueError, match="leave them out"):
        read_items(folder, preparation=Preparing(impute="median"))


def test_bad_pictures_are_named(folder):
    (folder / "d.png").write_bytes(b"no picture")
    with pytest.raises(ValueError, match=r"d\.png cannot be read as a picture"):
        read_items(folder)


def test_a_folder_without_pictures_is_refused(tmp_path):
    with pytest.raises(ValueError, match="has no picture"):
        read_items(tmp_path)
