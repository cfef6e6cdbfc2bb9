"""Splits, dimensions and messages of labelled data sets; nothing here touches a network."""

import os
import socket
from pathlib import Path

import numpy as np
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from frobmetric_paper.data import DatasetNotFoundError
from frobmetric_paper.data import labelled as datasets
from frobmetric_paper.data.labelled import (
    NAMES,
    PICTURE_NAMES,
    available,
    load,
    load_pictures,
    whitening,
    within_covariance,
)
from frobmetric_paper.data.raw import load_sequences, load_word_counts

# Table I of the paper: training, validation, test, dimension after PCA, classes
PAPER = {
    "mnist": (50_000, 10_000, 10_000, 164, 10),
    "usps": (7_700, 1_650, 1_650, 60, 10),
    "letters": (10_500, 4_500, 5_000, 16, 26),
    "yale": (1_690, 362, 362, 300, 38),
    "balance": (438, 94, 93, 4, 3),
    "wine": (125, 27, 26, 13, 3),
    "iris": (105, 23, 22, 4, 3),
}
FURTHER = {
    "digits": (1_258, 270, 269, 64, 10),
    "breast_cancer": (398, 86, 85, 30, 2),
    "isolet": (1_285, 275, 1_559, 170, 26),
    "pendigits": (6_172, 1_322, 3_498, 16, 10),
    "spam": (3_221, 690, 690, 57, 2),
    "coil20": (1_008, 216, 216, 150, 20),
    "usps_9298": (6_005, 1_286, 2_007, 256, 10),
    "utd_mhad": (603, 129, 129, 90, 27),
}
BUNDLED = ["wine", "iris", "digits", "breast_cancer"]
FROM_FILE = [name for name in NAMES if name not in BUNDLED]
DOWNLOADABLE = {
    "mnist": ("mnist_784", 554),
    "letters": ("letter", 6),
    "balance": ("balance-scale", 11),
    "isolet": ("isolet", 300),
    "pendigits": ("pendigits", 32),
    "spam": ("spambase", 44),
    "usps_9298": ("USPS", 41082),
}


@pytest.fixture(scope="session")
def data_folder():
    """The real files; found before `isolate` hides the environment variable."""
    beside = Path(__file__).resolve().parents[4] / "shared" / "data"
    folder = Path(os.environ.get("FROBMETRIC_DATA") or beside)
    if not folder.is_dir():
        pytest.skip(f"no data: {folder} does not exist; set FROBMETRIC_DATA to the data folder")
    return folder


@pytest.fixture(autouse=True)
def isolate(monkeypatch):
    """No data folder by accident, no network at all."""

    def refuse(*args, **kwargs):
        raise AssertionError("a test reached for the network")

    monkeypatch.delenv("FROBMETRIC_DATA", raising=False)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", refuse)


def load_real(name, folder, **options):
    source = datasets._SETS[name]
    if not source.is_present(folder):
        pytest.skip(f"{source.file} is not in {folder}")
    return load(name, folder=folder, **options)


def parts_of(split):
    return (
        (split.X_train, split.y_train),
        (split.X_validation, split.y_validation),
        (split.X_test, split.y_test),
    )


def made_up(name):
    """Arrays of the right shapes; the first column numbers the rows of the set."""
    source, rng = datasets._SETS[name], np.random.default_rng(0)
    arrays = {}
    start = 0
    for X, y, rows in source.parts:
        arrays[X] = rng.integers(0, 200, (rows, source.n_features)).astype(np.int32)
        arrays[X][:, 0] = np.arange(start, start + rows)
        arrays[y] = rng.integers(0, 3, rows)
        start += rows
    return arrays


def write(folder, name, arrays):
    path = folder / datasets._SETS[name].file
    np.savez(path, **arrays)
    return path


# Sizes and splits


def test_names_are_the_papers_and_the_further_ones():
    assert list(NAMES) == [*PAPER, *FURTHER]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in ("mnist", "yale", "coil20")))
        for name in NAMES
    ],
)
def test_sizes_are_those_of_the_table(name, data_folder):
    split = load_real(name, data_folder)
    *sizes, dimension, n_classes = (PAPER | FURTHER)[name]
    assert split.name == name
    for (X, y), size in zip(parts_of(split), sizes, strict=True):
        assert X.shape == (size, dimension)
        assert y.shape == (size,)
        assert (X.dtype, y.dtype) == (np.float64, np.int64)
        assert np.isfinite(X).all()
    assert len(np.unique(np.concatenate([y for _, y in parts_of(split)]))) == n_classes


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_sets_need_no_folder(name):
    assert [len(y) for _, y in parts_of(load(name))] == list((PAPER | FURTHER)[name][:3])


@pytest.mark.parametrize("name", NAMES)
def test_split_rules_use_each_row_once(name):
    n = sum((PAPER | FURTHER)[name][:3])
    rows = np.concatenate(datasets._SETS[name].split(n, 3))
    np.testing.assert_array_equal(np.sort(rows), np.arange(n))


@pytest.mark.parametrize("name", ["balance", "letters", "pendigits"])
def test_parts_are_disjoint_and_keep_rows_with_their_labels(name, tmp_path):
    arrays = made_up(name)
    write(tmp_path, name, arrays)
    parts = parts_of(load(name, folder=tmp_path))
    rows = np.concatenate([X[:, 0] for X, _ in parts]).astype(int)
    np.testing.assert_array_equal(np.sort(rows), np.arange(len(rows)))
    source = datasets._SETS[name]
    X_all = np.concatenate([arrays[X] for X, _, _ in source.parts])
    y_all = np.concatenate([arrays[y] for _, y, _ in source.parts])
    np.testing.assert_array_equal(np.concatenate([X for X, _ in parts]), X_all[rows])
    np.testing.assert_array_equal(np.concatenate([y for _, y in parts]), y_all[rows])


def test_wine_is_all_of_wine():
    together = np.concatenate([np.column_stack(part) for part in parts_of(load("wine"))])
    given = np.column_stack(sklearn.datasets.load_wine(return_X_y=True))
    np.testing.assert_array_equal(np.sort(together, axis=0), np.sort(given, axis=0))


@pytest.mark.parametrize("name", ["wine", "iris", "digits"])
def test_seed_decides_the_rows(name):
    one, again, other = load(name, seed=1), load(name, seed=1), load(name, seed=2)
    for (X, y), (X_again, y_again), (X_other, _) in zip(
        parts_of(one), parts_of(again), parts_of(other), strict=True
    ):
        np.testing.assert_array_equal(X, X_again)
        np.testing.assert_array_equal(y, y_again)
        assert not np.array_equal(np.sort(X, axis=0), np.sort(X_other, axis=0))


def test_given_test_part_is_kept_and_validation_is_drawn_by_seed(tmp_path):
    write(tmp_path, "pendigits", made_up("pendigits"))
    one, other = (load("pendigits", folder=tmp_path, seed=seed) for seed in (0, 1))
    np.testing.assert_array_equal(one.X_test[:, 0], np.arange(7_494, 7_494 + 3_498))
    np.testing.assert_array_equal(one.X_test, other.X_test)
    assert set(one.X_validation[:, 0]) != set(other.X_validation[:, 0])


@pytest.mark.parametrize("name", ["mnist", "letters"])
def test_fixed_splits_are_in_file_order_whatever_the_seed(name):
    sizes = PAPER[name][:3]
    rows = datasets._SETS[name].split(sum(sizes), 5)
    np.testing.assert_array_equal(np.concatenate(rows), np.arange(sum(sizes)))
    assert tuple(map(len, rows)) == sizes


@pytest.mark.slow
def test_mnist_test_part_is_the_test_file(data_folder):
    split = load_real("mnist", data_folder, pca=False)
    with np.load(data_folder / "mnist.npz", allow_pickle=False) as file:
        np.testing.assert_array_equal(split.X_test, file["X_test"])
        np.testing.assert_array_equal(split.y_validation, file["y_train"][50_000:])


@pytest.mark.parametrize("name", ["isolet", "usps_9298"])
def test_integers_of_a_file_become_the_published_units(name, data_folder):
    X = load_real(name, data_folder, pca=False).X_train
    assert (X.min(), X.max()) == (-1, 1)


# PCA


def test_pca_is_that_of_the_training_part(data_folder):
    reduced = load_real("usps", data_folder, seed=4)
    raw = load_real("usps", data_folder, seed=4, pca=False)
    assert raw.X_train.shape == (7_700, 256)
    mean = raw.X_train.mean(axis=0)
    axes = np.linalg.eigh(np.cov(raw.X_train.T))[1][:, -60:]
    for (X, _), (X_raw, _) in zip(parts_of(reduced), parts_of(raw), strict=True):
        projected = (X_raw - mean) @ axes
        # Axes may differ in sign and order, inner products do not
        np.testing.assert_allclose(X[:99] @ X[:99].T, projected[:99] @ projected[:99].T, atol=1e-3)
    scale = reduced.X_train.std()
    assert np.abs(reduced.X_train.mean(axis=0)).max() < 1e-10 * scale
    assert np.abs(reduced.X_test.mean(axis=0)).max() > 1e-3 * scale


def test_test_rows_do_not_reach_the_pca(tmp_path):
    arrays = made_up("usps")
    write(tmp_path, "usps", arrays)
    before = load("usps", folder=tmp_path, seed=2)
    test_rows = datasets._SETS["usps"].split(11_000, 2)[2]
    arrays["X"][test_rows] = 7 * arrays["X"][test_rows] + 1000
    write(tmp_path, "usps", arrays)
    after = load("usps", folder=tmp_path, seed=2)
    np.testing.assert_array_equal(before.X_train, after.X_train)
    np.testing.assert_array_equal(before.X_validation, after.X_validation)
    assert not np.allclose(before.X_test, after.X_test)


# Covariances


def test_the_covariance_within_classes_is_the_mean_over_samples(rng):
    y = np.array([3, 3, 3, 7, 7, 9])
    X = rng.normal(size=(6, 2))
    expected = sum(np.cov(X[y == c].T, bias=True) * np.mean(y == c) for c in (3, 7))
    np.testing.assert_allclose(within_covariance(X, y), expected)


@pytest.mark.parametrize("rank", [4, 2])
def test_whitening_makes_the_covariance_the_identity(rank, rng):
    X = rng.normal(size=(30, rank)) @ rng.normal(size=(rank, 4))
    covariance = X.T @ X / 30
    L = whitening(covariance)
    assert L.shape == (4, rank)
    np.testing.assert_allclose(L.T @ covariance @ L, np.eye(rank), atol=1e-10)
    np.testing.assert_allclose(L @ L.T, np.linalg.pinv(covariance, rcond=1e-10), rtol=1e-6)


# What is there, and what to do when it is not


def test_available_lists_bundled_sets_and_files(tmp_path, monkeypatch):
    assert available() == BUNDLED
    write(tmp_path, "balance", made_up("balance"))
    assert available(tmp_path) == ["balance", *BUNDLED]
    monkeypatch.setenv("FROBMETRIC_DATA", str(tmp_path))
    assert available() == ["balance", *BUNDLED]


def test_folder_comes_before_the_environment(tmp_path, monkeypatch):
    write(tmp_path, "balance", made_up("balance"))
    monkeypatch.setenv("FROBMETRIC_DATA", str(tmp_path))
    assert len(load("balance").y_train) == 438
    with pytest.raises(DatasetNotFoundError, match="elsewhere"):
        load("balance", folder=tmp_path / "elsewhere")


@pytest.mark.parametrize("name", FROM_FILE)
def test_absent_file_says_how_to_get_it(name, tmp_path):
    with pytest.raises(DatasetNotFoundError) as error:
        load(name, folder=tmp_path)
    message = str(error.value)
    source = datasets._SETS[name]
    for part in (source.file, str(tmp_path), "FROBMETRIC_DATA", "folder="):
        assert part in message
    for key, shape in source.npz.shapes.items():
        assert f"{key} {shape}" in message
    if name in DOWNLOADABLE:
        openml, data_id = DOWNLOADABLE[name]
        assert f"download=True to fetch OpenML's {openml!r} (id {data_id})" in message
    else:
        assert "no download exists" in message
        assert "download=True" not in message


def test_no_folder_at_all_is_said():
    with pytest.raises(FileNotFoundError, match=r"yaleb_32x32\.npz is needed, and no data folder"):
        load("yale")


def test_download_of_a_set_that_has_none_is_the_same_error():
    with pytest.raises(DatasetNotFoundError, match="no download exists"):
        load("usps", download=True)


@pytest.mark.parametrize(
    ("given", "nearest"), [("letter", "letters"), ("MNIST", "mnist"), ("ballance", "balance")]
)
def test_unknown_name_suggests_the_nearest(given, nearest):
    with pytest.raises(ValueError, match=f"Did you mean '{nearest}'") as error:
        load(given)
    assert repr(given) in str(error.value)
    assert all(name in str(error.value) for name in NAMES)


def test_unknown_name_without_a_near_one_suggests_nothing():
    with pytest.raises(ValueError, match="unknown data set 'qqq'") as error:
        load("qqq")
    assert "Did you mean" not in str(error.value)


# Files that are not what they should be


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"X": None}, r"balance_scale.npz has no array 'X'.*\['y'\].*\(625, 4\)"),
        ({"y": None}, r"balance_scale.npz has no array 'y'.*\['X'\].*\(625,\)"),
        ({"X": np.zeros((625, 5))}, r"array 'X' of .*balance_scale.npz.*\(625, 5\).*\(625, 4\)"),
        ({"y": np.zeros(9, int)}, r"array 'y' of .*balance_scale.npz.*\(9,\).*\(625,\)"),
        ({"y": np.zeros(625)}, r"array 'y' of .*balance_scale.npz is float64.*integers"),
        ({"X": np.full((625, 4), "a")}, r"array 'X' of .*balance_scale.npz is <U1.*numbers"),
        ({"X": np.full((625, 4), None)}, r"array 'X' of .*balance_scale.npz cannot be read"),
    ],
)
def test_wrong_file_names_the_file_and_the_array(change, words, tmp_path):
    arrays = made_up("balance") | change
    kept = {key: array for key, array in arrays.items() if array is not None}
    write(tmp_path, "balance", kept)
    with pytest.raises(ValueError, match=words):
        load("balance", folder=tmp_path)


def test_file_cut_short_is_named(tmp_path):
    path = write(tmp_path, "balance", made_up("balance"))
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(ValueError, match=r"balance_scale\.npz is not an npz file, or is cut"):
        load("balance", folder=tmp_path)


# Download, with a recorded answer in place of OpenML


@pytest.fixture
def openml(monkeypatch):
    """Serves `openml.answer` for `fetch_openml` and keeps the arguments of each call."""
    server = Bunch(answer=None, calls=[])

    def fetch_openml(**arguments):
        server.calls.append(arguments)
        return server.answer

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    return server


def pendigits_answer():
    counts = datasets._SETS["pendigits"].openml.test_counts
    labels = np.concatenate([np.arange(7_494) % 10, np.repeat(np.arange(10), counts)])
    X = np.zeros((10_992, 16))
    X[:, 0] = np.arange(10_992)
    return Bunch(data=X, target=labels.astype(str).astype(object))


def test_nothing_is_downloaded_unless_asked(openml, tmp_path):
    for name in FROM_FILE:
        with pytest.raises(DatasetNotFoundError):
            load(name, folder=tmp_path)
    load("iris", download=True)
    write(tmp_path, "balance", made_up("balance"))
    load("balance", folder=tmp_path, download=True)
    available(tmp_path)
    assert openml.calls == []


@pytest.mark.parametrize("name", DOWNLOADABLE)
def test_download_asks_for_the_right_set(name, openml):
    openml.answer = Bunch(data=np.zeros((9, 2)), target=np.array(["a"] * 9, dtype=object))
    with pytest.raises(ValueError, match=r"OpenML's .* gave shape \(\d, 2\)"):
        load(name, download=True)
    assert [call["data_id"] for call in openml.calls] == [DOWNLOADABLE[name][1]]


def test_download_numbers_the_labels(openml):
    X = np.arange(2_500.0).reshape(625, 4)
    labels = np.array(["B", "L", "R", "R", "R"] * 125, dtype=object)
    openml.answer = Bunch(data=X, target=labels)
    split = load("balance", download=True)
    rows = (split.X_train[:, 0] / 4).astype(int)
    np.testing.assert_array_equal(split.y_train, np.array([0, 1, 2, 2, 2] * 125)[rows])
    assert len(split.y_train) == 438


def test_download_keeps_the_test_part(openml):
    openml.answer = pendigits_answer()
    split = load("pendigits", download=True)
    np.testing.assert_array_equal(split.X_test[:, 0], np.arange(7_494, 10_992))
    assert len(split.y_validation) == 1_322


def test_download_in_another_order_is_refused(openml):
    openml.answer = pendigits_answer()
    openml.answer.target = np.random.default_rng(0).permutation(openml.answer.target)
    with pytest.raises(ValueError, match=r"'pendigits' \(id 32\) gave .* test part; expected"):
        load("pendigits", download=True)


def test_download_of_isolet_takes_parts_1_and_5(openml):
    in_order = [str(1 + row % 52 // 2) for row in range(7_797)]
    test = np.repeat(np.arange(26), datasets._SETS["isolet"].openml.test_counts)
    labels = in_order[:6_238] + [f"'{1 + code}'" for code in test]  # as one parser quotes them
    X = np.zeros((7_797, 617))
    X[:, 0] = np.arange(7_797)
    openml.answer = Bunch(data=X, target=np.array(labels, dtype=object))
    split = load("isolet", download=True, pca=False)
    together = np.concatenate([split.X_train[:, 0], split.X_validation[:, 0]])
    np.testing.assert_array_equal(np.sort(together), np.arange(1_560))
    np.testing.assert_array_equal(split.X_test[:, 0], np.arange(6_238, 7_797))
    np.testing.assert_array_equal(split.y_test, test)


@pytest.mark.parametrize("name", ["mnist", "isolet", "pendigits", "usps_9298"])
def test_expected_test_counts_are_those_of_the_file(name, data_folder):
    spec = datasets._SETS[name]
    if not spec.is_present(data_folder):
        pytest.skip(f"{spec.file} is not in {data_folder}")
    with np.load(data_folder / spec.file, allow_pickle=False) as file:
        assert np.bincount(file["y_test"]).tolist() == spec.openml.test_counts


# Pictures without labels

PICTURES = {
    "teapots": ("teapots_100_38x50.npz", "X_rgbsum", 100, (38, 50), 765),
    "frey_faces": ("frey_faces.npz", "X", 1_965, (28, 20), 255),
}


def test_pictures_are_known_by_name():
    assert list(PICTURE_NAMES) == list(PICTURES)
    assert not set(PICTURE_NAMES) & set(NAMES)


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_grey_from_0_to_1(name, tmp_path):
    file, key, n, (height, width), white = PICTURES[name]
    values = np.arange(n * height * width).reshape(n, -1) % (white + 1)
    np.savez(tmp_path / file, **{key: values.astype(np.uint16)})
    pictures = load_pictures(name, folder=tmp_path)
    assert (pictures.name, pictures.shape) == (name, (height, width))
    assert (pictures.X.shape, pictures.X.dtype) == ((n, height * width), np.float64)
    np.testing.assert_array_equal(pictures.X, values / white)


@pytest.mark.parametrize("name", PICTURES)
def test_real_pictures_follow_each_other(name, data_folder):
    if not (data_folder / PICTURES[name][0]).is_file():
        pytest.skip(f"{PICTURES[name][0]} is not in {data_folder}")
    X = load_pictures(name, folder=data_folder).X
    assert 0 <= X.min() < X.max() <= 1
    # nearer to the next one than to one drawn at random, as in a film
    to_next = np.linalg.norm(np.diff(X, axis=0), axis=1).mean()
    shuffled = np.random.default_rng(0).permutation(X)
    assert to_next < 0.7 * np.linalg.norm(np.diff(shuffled, axis=0), axis=1).mean()


@pytest.mark.parametrize("name", PICTURES)
def test_absent_pictures_say_how_to_get_them(name, tmp_path, monkeypatch):
    file, key, n, (height, width), _ = PICTURES[name]
    with pytest.raises(
        DatasetNotFoundError, match=f"{file} is needed, and no data folder was given"
    ):
        load_pictures(name)
    monkeypatch.setenv("FROBMETRIC_DATA", str(tmp_path))
    with pytest.raises(DatasetNotFoundError) as error:
        load_pictures(name)
    for part in (
        str(tmp_path),
        "FROBMETRIC_DATA",
        f"{key} ({n}, {height * width}).",
        "no download exists",
    ):
        assert part in str(error.value)


def test_pictures_of_another_shape_are_refused(tmp_path):
    np.savez(tmp_path / "frey_faces.npz", X=np.zeros((7, 560), np.uint8))
    with pytest.raises(ValueError, match=r"'X' of .*frey_faces.npz.*\(7, 560\).*\(1965, 560\)"):
        load_pictures("frey_faces", folder=tmp_path)


def test_unknown_pictures_suggest_the_nearest():
    with pytest.raises(ValueError, match="Did you mean 'teapots'"):
        load_pictures("teapot")


# Sequences of skeletons, and word counts


def test_skeletons_are_those_of_the_file(data_folder):
    data = load_sequences("msr_action3d", folder=data_folder)
    assert len(data.frames) == len(data.y) == len(data.subject) == 566
    assert sum(map(len, data.frames)) == 23_440
    assert {frames.shape[1:] for frames in data.frames} == {(20, 3)}
    assert set(data.y) == set(range(20))
    assert set(data.subject) == set(range(1, 11))
    with np.load(data_folder / "msr_action3d.npz", allow_pickle=False) as file:
        np.testing.assert_array_equal(data.frames[1], file["frames"][54:97])


def test_word_counts_are_those_of_the_file(data_folder):
    data = load_word_counts("r8", folder=data_folder)
    assert data.X_train.shape == (5_485, 6_224)
    assert data.X_test.shape == (2_189, 6_224)
    assert (len(data.y_train), len(data.y_test)) == (5_485, 2_189)
    assert set(data.y_train) == set(data.y_test) == set(range(8))
    with np.load(data_folder / "r8_counts.npz", allow_pickle=False) as file:
        assert data.X_train.sum() + data.X_test.sum() == file["data"].sum()


@pytest.mark.parametrize(
    ("read", "name", "file"),
    [(load_sequences, "msr_action3d", "msr_action3d.npz"), (load_word_counts, "r8", "r8_counts")],
)
def test_absent_sequences_and_counts_say_how_to_get_them(read, name, file, tmp_path):
    with pytest.raises(DatasetNotFoundError, match=rf"{file}.* is not in .*no download exists"):
        read(name, folder=tmp_path)
    with pytest.raises(ValueError, match=f"Did you mean {name!r}"):
        read(name.upper(), folder=tmp_path)
