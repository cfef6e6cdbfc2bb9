"""Items to compare: pictures of a folder, and rows of a table."""

import numpy as np
import pytest

from frobmetric.teaching import read_items

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


def test_bad_pictures_are_named(folder):
    (folder / "d.png").write_bytes(b"no picture")
    with pytest.raises(ValueError, match=r"d\.png cannot be read as a picture"):
        read_items(folder)


def test_a_folder_without_pictures_is_refused(tmp_path):
    with pytest.raises(ValueError, match="has no picture"):
        read_items(tmp_path)
