"""Faces and comparisons: what the files hold, and what is said of files that hold other things."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from frobmetric_paper.data import DatasetNotFoundError, NpzFile
from frobmetric_paper.data import pairs as datasets_pairs
from frobmetric_paper.data.pairs import (
    COMPARISON_NAMES,
    FACE_NAMES,
    load_comparisons,
    load_face_pictures,
    load_faces,
)

LFW_FILES = ("lfw_meta.npz", "lfw_sift3456.npz", "lfw_funneled_62x47.npz")
ZAPPOS_FILE = "zappos_triplets.npz"
PERSON = np.array([0, 0, 1, 1, 2, 3])


@pytest.fixture(autouse=True)
def no_folder_by_accident(monkeypatch, data_folder_or_none):
    monkeypatch.delenv("FROBMETRIC_DATA", raising=False)


@pytest.fixture(scope="session")
def data_folder_or_none(request):
    """Asked for first, so that the folder is found before the variable is hidden."""
    try:
        return request.getfixturevalue("data_folder")
    except pytest.skip.Exception:
        return None


@pytest.fixture
def small(monkeypatch):
    """Sets as small as those that `write_faces` and `write_comparisons` make."""
    files = replace(
        datasets_pairs._FACES["lfw"],
        n_images=6,
        n_people=4,
        n_landmarks=2,
        n_scales=1,
        picture_shape=(3, 5),
        n_pairs=(2, 2, 3),
    )
    monkeypatch.setitem(datasets_pairs._FACES, "lfw", files)
    shapes = {"X": (5, 3), "triplets": (4, 3)}
    monkeypatch.setitem(datasets_pairs._COMPARISONS, "zappos", NpzFile(ZAPPOS_FILE, shapes))


def meta_arrays():
    return {
        "names": np.array(["Ann", "Bo", "Cy", "Di"]),
        "person": PERSON.astype(np.int16),
        "number": np.array([1, 2, 1, 2, 1, 1], dtype=np.int16),
        "pairs_dev_train": np.array([[0, 1, 1], [1, 5, 0]], dtype=np.int32),
        "pairs_dev_test": np.array([[2, 3, 1], [4, 2, 0]], dtype=np.int32),
        "pairs_view2": np.array([[3, 2, 1], [5, 4, 0], [0, 3, 0]], dtype=np.int32),
        "fold_view2": np.array([0, 9, 4], dtype=np.uint8),
    }


def feature_arrays():
    rng = np.random.default_rng(0)
    return {
        "X": rng.integers(0, 256, (6, 256)).astype(np.uint8),
        "landmarks": rng.uniform(0, 250, (6, 2, 2)).astype(np.float32),
        "detected": np.ones(6, np.uint8),
    }


def write(folder, file, arrays, changes=()):
    """Write an npz file; a change to None leaves an array out."""
    arrays = arrays | dict(changes)
    kept = {key: array for key, array in arrays.items() if array is not None}
    np.savez(folder / file, **kept)


def write_faces(folder, meta=(), features=()):
    write(folder, LFW_FILES[0], meta_arrays(), meta)
    write(folder, LFW_FILES[1], feature_arrays(), features)


def write_comparisons(folder, **changes):
    X = np.arange(15, dtype=np.float32).reshape(5, 3)
    triplets = np.array([[0, 1, 2], [4, 3, 0], [2, 0, 1], [0, 2, 1]], dtype=np.uint8)
    write(folder, ZAPPOS_FILE, {"X": X, "triplets": triplets}, changes)


# Files as they should be


def test_sets_are_known_by_name():
    assert FACE_NAMES == ("lfw",)
    assert COMPARISON_NAMES == ("zappos",)


@pytest.mark.usefixtures("small")
def test_faces_are_those_of_the_files(tmp_path):
    write_faces(tmp_path)
    faces = load_faces("lfw", folder=tmp_path)
    expected = meta_arrays() | feature_arrays()
    assert faces.name == "lfw"
    for key in ("X", "person", "names", "number", "landmarks"):
        np.testing.assert_array_equal(getattr(faces, key), expected[key])
    for key, ours in (
        ("pairs_dev_train", faces.view1_train),
        ("pairs_dev_test", faces.view1_test),
        ("pairs_view2", faces.view2),
    ):
        np.testing.assert_array_equal(ours.index, expected[key][:, :2])
        np.testing.assert_array_equal(ours.same, expected[key][:, 2] == 1)
        assert (ours.index.dtype, ours.same.dtype) == (np.intp, bool)
    np.testing.assert_array_equal(faces.view2_fold, [0, 9, 4])
    assert faces.X.dtype == np.uint8
    assert {a.dtype for a in (faces.person, faces.number, faces.view2_fold)} == {np.dtype(np.int64)}
    assert faces.landmarks.dtype == np.float64


@pytest.mark.usefixtures("small")
def test_what_is_loaded_is_frozen(tmp_path):
    write_faces(tmp_path)
    with pytest.raises(FrozenInstanceError):
        load_faces("lfw", folder=tmp_path).name = "other"


@pytest.mark.usefixtures("small")
def test_pictures_are_row_by_row(tmp_path):
    X = np.arange(90, dtype=np.uint8).reshape(6, 15)
    np.savez(tmp_path / LFW_FILES[2], X=X)
    pictures = load_face_pictures("lfw", folder=tmp_path)
    assert (pictures.shape, pictures.dtype) == ((6, 3, 5), np.uint8)
    assert pictures[2, 1, 3] == X[2, 1 * 5 + 3]


@pytest.mark.usefixtures("small")
def test_comparisons_are_those_of_the_file(tmp_path):
    write_comparisons(tmp_path)
    data = load_comparisons("zappos", folder=tmp_path)
    assert (data.name, data.X.dtype, data.triplets.dtype) == ("zappos", np.float64, np.intp)
    np.testing.assert_array_equal(data.X, np.arange(15).reshape(5, 3))
    np.testing.assert_array_equal(data.triplets, [[0, 1, 2], [4, 3, 0], [2, 0, 1], [0, 2, 1]])


@pytest.mark.usefixtures("small")
def test_folder_comes_before_the_environment(tmp_path, monkeypatch):
    write_comparisons(tmp_path)
    monkeypatch.setenv("FROBMETRIC_DATA", str(tmp_path))
    assert load_comparisons("zappos").X.shape == (5, 3)
    with pytest.raises(DatasetNotFoundError, match="elsewhere"):
        load_comparisons("zappos", folder=tmp_path / "elsewhere")


# Absent files, unknown names


@pytest.mark.parametrize(
    ("load", "name", "file", "arrays"),
    [
        (load_faces, "lfw", LFW_FILES[0], ["names (5749,)", "pairs_view2 (6000, 3)"]),
        (load_face_pictures, "lfw", LFW_FILES[2], ["X (13233, 2914)"]),
        (load_comparisons, "zappos", ZAPPOS_FILE, ["X (85, 4096)", "triplets (283770, 3)"]),
    ],
)
def test_absent_file_says_how_to_get_it(load, name, file, arrays, tmp_path):
    with pytest.raises(
        DatasetNotFoundError, match=f"{file} is needed, and no data folder was given"
    ):
        load(name)
    with pytest.raises(DatasetNotFoundError) as error:
        load(name, folder=tmp_path)
    for part in (file, str(tmp_path), "folder=", "FROBMETRIC_DATA", "no download", *arrays):
        assert part in str(error.value)


@pytest.mark.usefixtures("small")
def test_second_file_of_the_faces_may_be_absent_too(tmp_path):
    write(tmp_path, LFW_FILES[0], meta_arrays())
    with pytest.raises(DatasetNotFoundError, match=r"lfw_sift3456\.npz is not in .*landmarks"):
        load_faces("lfw", folder=tmp_path)


@pytest.mark.parametrize(
    ("load", "given", "nearest"),
    [
        (load_faces, "LFW", "lfw"),
        (load_face_pictures, "lfwa", "lfw"),
        (load_comparisons, "zapos", "zappos"),
    ],
)
def test_unknown_name_suggests_the_nearest(load, given, nearest):
    with pytest.raises(ValueError, match=f"unknown data set '{given}'.*Did you mean '{nearest}'"):
        load(given)


# Files that are not what they should be


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"person": None}, r"lfw_meta.npz has no array 'person'.*\(6,\)"),
        ({"person": np.zeros(5, int)}, r"'person' of .*lfw_meta.npz.*\(5,\).*\(6,\)"),
        ({"person": PERSON + 1}, r"person\[5\] of .* is 4; expected a number from 0 to 3"),
        ({"person": PERSON - 1}, r"person\[0\] of .* is -1; expected a number from 0 to 3"),
        ({"number": np.zeros(6, int)}, r"number\[0\] of .* is 0; expected a number from 1 to 6"),
        ({"names": None}, r"lfw_meta.npz has no array 'names'.*\(4,\)"),
        ({"names": np.arange(4)}, r"'names' of .*lfw_meta.npz is int64 of .*expected strings"),
        ({"names": np.array(["Ann"])}, r"'names' of .* of shape \(1,\); expected .*\(4,\)"),
        ({"names": np.array([{}] * 4)}, r"'names' of .*cannot be read: Object arrays"),
        ({"pairs_view2": np.zeros((3, 2), int)}, r"'pairs_view2' of .*\(3, 2\).*\(3, 3\)"),
        ({"pairs_view2": np.zeros((3, 3))}, r"'pairs_view2' of .*float64; expected row numbers"),
        (
            {"pairs_view2": np.array([[3, 2, 1], [5, 6, 0], [0, 3, 0]])},
            r"pairs_view2\[1\] of .* is \(5, 6\); expected different row numbers from 0 to 5",
        ),
        ({"pairs_dev_test": np.array([[2, 3, 1], [4, -2, 0]])}, r"pairs_dev_test\[1\].*\(4, -2\)"),
        ({"pairs_dev_train": np.array([[0, 1, 1], [5, 5, 1]])}, r"pairs_dev_train\[1\].*different"),
        (
            {"pairs_dev_train": np.array([[0, 1, 0], [1, 5, 0]])},
            r"pairs_dev_train\[0\] of .* is \(0, 1, 0\).*show the persons 0 and 0\. Replace",
        ),
        (
            {"pairs_dev_test": np.array([[2, 3, 1], [4, 2, 1]])},
            r"pairs_dev_test\[1\] of .* is \(4, 2, 1\).*show the persons 2 and 1\. Replace",
        ),
        ({"pairs_dev_test": np.array([[2, 3, 2], [4, 2, 0]])}, r"pairs_dev_test\[0\].*number of 1"),
        ({"fold_view2": np.array([0, 10, 1])}, r"fold_view2\[1\] of .* is 10; .* from 0 to 9"),
    ],
)
def test_wrong_protocol_is_named(change, words, tmp_path):
    write_faces(tmp_path, meta=change)
    with pytest.raises(ValueError, match=words):
        load_faces("lfw", folder=tmp_path)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"X": np.zeros((6, 255), np.uint8)}, r"'X' of .*sift3456.npz.*\(6, 255\).*\(6, 256\)"),
        ({"X": np.zeros((6, 256))}, r"'X' of .*sift3456.npz is float64; expected uint8"),
        ({"landmarks": None}, r"sift3456.npz has no array 'landmarks'.*\(6, 2, 2\)"),
        ({"landmarks": np.full((6, 2, 2), np.nan)}, r"landmarks\[0, 0, 0\] of .* is nan; .*finite"),
    ],
)
def test_wrong_features_are_named(change, words, tmp_path):
    write_faces(tmp_path, features=change)
    with pytest.raises(ValueError, match=words):
        load_faces("lfw", folder=tmp_path)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"X": np.full((5, 3), np.inf)}, r"X\[0, 0\] of .*zappos_triplets.npz is inf; .*finite"),
        ({"X": np.zeros((4, 3))}, r"'X' of .*zappos_triplets.npz.*\(4, 3\).*\(5, 3\)"),
        (
            {"triplets": np.array([[0, 1, 2]] * 3 + [[0, 5, 1]])},
            r"triplets\[3\] of .* is \(0, 5, 1\); expected different row numbers from 0 to 4",
        ),
        ({"triplets": np.array([[0, 1, 2]] * 2 + [[3, 1, 3]] * 2)}, r"triplets\[2\].*\(3, 1, 3\)"),
        ({"triplets": np.ones((4, 3))}, r"'triplets' of .* is float64; expected row numbers"),
    ],
)
def test_wrong_comparisons_are_named(change, words, tmp_path):
    write_comparisons(tmp_path, **change)
    with pytest.raises(ValueError, match=words):
        load_comparisons("zappos", folder=tmp_path)


@pytest.mark.usefixtures("small")
def test_wrong_pictures_are_named(tmp_path):
    np.savez(tmp_path / LFW_FILES[2], X=np.zeros((6, 15), np.int32))
    with pytest.raises(ValueError, match=r"'X' of .*62x47.npz is int32; expected uint8"):
        load_face_pictures("lfw", folder=tmp_path)


@pytest.mark.usefixtures("small")
def test_file_cut_short_is_named(tmp_path):
    write_faces(tmp_path)
    path = tmp_path / LFW_FILES[0]
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ValueError, match=r"lfw_meta\.npz is not an npz file, or is cut short"):
        load_faces("lfw", folder=tmp_path)


# The real files


def folder_with(folder, *files):
    for file in files:
        if not (folder / file).is_file():
            pytest.skip(f"{file} is not in {folder}")
    return folder


@pytest.fixture(scope="module")
def lfw(data_folder):
    return load_faces("lfw", folder=folder_with(data_folder, *LFW_FILES[:2]))


def test_lfw_has_its_images_and_people(lfw):
    assert lfw.X.shape == (13_233, 3_456)
    assert lfw.landmarks.shape == (13_233, 9, 2)
    assert len(lfw.names) == len(set(lfw.names)) == 5_749
    counts = np.bincount(lfw.person, minlength=5_749)
    assert counts.min() == 1
    # Huang et al. 2007: 1,680 people have two or more images, and one has 530
    assert (counts >= 2).sum() == 1_680
    assert (counts.max(), lfw.names[counts.argmax()]) == (530, "George_W_Bush")
    for person in (0, counts.argmax()):
        numbers = np.sort(lfw.number[lfw.person == person])
        np.testing.assert_array_equal(numbers, np.arange(1, counts[person] + 1))


def test_lfw_landmarks_are_on_the_picture_and_a_face(lfw):
    assert 0 <= lfw.landmarks.min() < lfw.landmarks.max() <= 249
    columns, rows = lfw.landmarks.mean(axis=0).T
    assert rows[:4].max() < rows[4:7].min() < rows[4:7].max() < rows[7:].min()
    for part in (slice(0, 4), slice(4, 7), slice(7, 9)):
        assert (np.diff(columns[part]) > 0).all()


def test_lfw_pairs_are_those_of_the_protocol(lfw):
    for pairs, n in ((lfw.view1_train, 1_100), (lfw.view1_test, 500), (lfw.view2, 3_000)):
        assert np.bincount(pairs.same).tolist() == [n, n]
        people = lfw.person[pairs.index]
        np.testing.assert_array_equal(people[:, 0] == people[:, 1], pairs.same)
    by_fold = [np.bincount(lfw.view2.same[lfw.view2_fold == k]).tolist() for k in range(10)]
    assert by_fold == [[300, 300]] * 10


def test_lfw_folds_and_parts_share_no_person(lfw):
    people = lfw.person[lfw.view2.index]
    folds = [set(people[lfw.view2_fold == k].ravel()) for k in range(10)]
    assert sum(map(len, folds)) == len(set().union(*folds))
    train, test = (set(lfw.person[v.index].ravel()) for v in (lfw.view1_train, lfw.view1_test))
    assert not train & test


@pytest.mark.parametrize(
    ("file", "view"),
    [
        ("pairsDevTrain.txt", "view1_train"),
        ("pairsDevTest.txt", "view1_test"),
        ("pairs.txt", "view2"),
    ],
)
def test_lfw_pairs_are_the_published_lists(file, view, lfw, data_folder):
    text = (folder_with(data_folder, f"lfw_protocol/{file}") / "lfw_protocol" / file).read_text()
    published = [_published(line.split()) for line in text.splitlines()[1:]]
    images = [(str(lfw.names[p]), int(n)) for p, n in zip(lfw.person, lfw.number, strict=True)]
    ours = [(images[i], images[j]) for i, j in getattr(lfw, view).index]
    assert ours == published


def _published(words):
    """A line "name i j" or "name i other j" of the lists."""
    name, i, *other, j = words
    return (name, int(i)), (other[0] if other else name, int(j))


def test_lfw_features_tell_people_apart_a_little(lfw):
    """The 67.5 % of Euclid on square roots, of which the threshold is the best in hindsight."""
    pairs = lfw.view2.index[::4], lfw.view2.same[::4]
    a, b = (np.sqrt(lfw.X[pairs[0][:, side]].astype(np.float32)) for side in (0, 1))
    distance = np.linalg.norm(a - b, axis=1)
    is_same = pairs[1][distance.argsort()]
    right = np.cumsum(is_same) + (~is_same).sum() - np.cumsum(~is_same)
    assert right.max() / len(is_same) == pytest.approx(0.675, abs=0.03)


def test_lfw_pictures_are_in_the_order_of_the_faces(lfw, data_folder):
    pictures = load_face_pictures("lfw", folder=folder_with(data_folder, LFW_FILES[2]))
    assert (pictures.shape, pictures.dtype) == ((13_233, 62, 47), np.uint8)
    # a picture of the same person is nearer than another one, if not by much
    some = pictures[lfw.view2.index[::10]].astype(np.float32).reshape(600, 2, -1)
    distance = np.linalg.norm(some[:, 0] - some[:, 1], axis=1)
    is_same = lfw.view2.same[::10]
    assert np.median(distance[is_same]) < np.median(distance[~is_same])


def test_zappos_is_that_of_the_file(data_folder):
    data = load_comparisons("zappos", folder=folder_with(data_folder, ZAPPOS_FILE))
    assert (data.X.shape, data.triplets.shape) == ((85, 4_096), (283_770, 3))
    assert set(data.triplets[:, 0]) == set(range(85))
    squares = (data.X**2).sum(axis=1)
    distance = squares[:, None] + squares - 2 * data.X @ data.X.T
    anchor, near, far = data.triplets.T
    assert (distance[anchor, near] < distance[anchor, far]).mean() == pytest.approx(0.692, abs=5e-4)
