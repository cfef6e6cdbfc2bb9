"""SIFT at landmarks, on pictures that are drawn here."""

import sys

import numpy as np
import pytest

from frobmetric_paper.data.face_features import SCALES, landmark_sift
from frobmetric_paper.data.pairs import load_face_pictures, load_faces

cv2 = pytest.importorskip("cv2", reason="needs OpenCV: pip install 'frobmetric[vision]'")

POINTS = np.array([[40, 50], [90, 45], [66, 80], [30, 110], [100, 105]])


def drawing(seed=0, height=140, width=130):
    """Grey levels from 30 to 180: a gradient, boxes with edges and corners, a wave."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:height, :width]
    picture = 40 + 0.3 * rows + 0.2 * columns + 15 * np.sin(columns / 6 + rows / 11)
    for _ in range(25):
        top, left = rng.integers(0, height - 10), rng.integers(0, width - 10)
        picture[top : top + rng.integers(5, 30), left : left + rng.integers(5, 30)] += 12
    return np.clip(picture, 30, 180).astype(np.uint8)


def ramp(brighter_to, size=100):
    """A picture that gets brighter to one side."""
    to_the_right = np.tile(np.arange(size, dtype=np.uint8), (size, 1))
    turns = {"right": 0, "up": 1, "left": 2, "down": 3}  # anticlockwise
    return np.rot90(to_the_right, turns[brighter_to])


def blocks(features, n_landmarks, n_scales=3):
    return features.reshape(n_landmarks, n_scales, 4, 4, 8).astype(float)


def cosine(a, b):
    a, b = a.astype(float), b.astype(float)
    return a @ b / np.sqrt((a @ a) * (b @ b))


# Shape and order


def test_nine_landmarks_and_three_scales_give_3456_numbers():
    points = np.random.default_rng(0).uniform(20, 110, (9, 2))
    features = landmark_sift(drawing(), points)
    assert (features.shape, features.dtype) == ((3_456,), np.uint8)
    assert features.any()


@pytest.mark.parametrize("scales", [SCALES, (17, 75, 150)])
def test_each_block_is_of_one_landmark_and_one_scale(scales):
    picture, points = drawing(), POINTS + 0.5
    together = blocks(landmark_sift(picture, points, scales), len(points))
    for i, point in enumerate(points):
        for j, scale in enumerate(scales):
            # the margin, which is that of the widest scale, has no say
            alone = blocks(landmark_sift(picture, [point], [scale]), 1, 1)[0, 0]
            np.testing.assert_array_equal(together[i, j], alone)


def test_permuted_landmarks_and_scales_permute_the_blocks():
    picture = drawing()
    order, of_scales = np.array([3, 0, 4, 2, 1]), np.array([2, 0, 1])
    plain = blocks(landmark_sift(picture, POINTS), 5)
    permuted = landmark_sift(picture, POINTS[order], np.array(SCALES)[of_scales])
    np.testing.assert_array_equal(blocks(permuted, 5), plain[order][:, of_scales])


def test_block_depends_on_its_square_only():
    picture = drawing()
    changed = picture.copy()
    changed[:, 100:] = 255 - changed[:, 100:]
    points = [[40, 70], [110, 70]]
    before, after = (blocks(landmark_sift(p, points), 2) for p in (picture, changed))
    np.testing.assert_array_equal(before[0], after[0])
    assert not np.array_equal(before[1], after[1])


def test_wider_squares_see_farther():
    picture = drawing()
    changed = picture.copy()
    changed[:, 62:] = 255 - changed[:, 62:]
    before, after = (blocks(landmark_sift(p, [[40, 70]]), 1)[0] for p in (picture, changed))
    is_equal = [np.array_equal(b, a) for b, a in zip(before, after, strict=True)]
    assert is_equal == [True, False, False]


@pytest.mark.parametrize("row", range(4))
@pytest.mark.parametrize("column", range(4))
def test_cells_are_row_by_row(row, column):
    """A spot amid one of the cells, which are 8 pixels wide, is in that cell most of all."""
    picture = np.full((100, 100), 60, np.uint8)
    down, right = 38 + 8 * row, 38 + 8 * column
    picture[down - 1 : down + 2, right - 1 : right + 2] = 160
    cells = blocks(landmark_sift(picture, [[50, 50]], [32]), 1, 1)[0, 0].sum(axis=2)
    assert np.unravel_index(cells.argmax(), (4, 4)) == (row, column)


# What a descriptor says


@pytest.mark.parametrize(
    ("brighter_to", "bin_"), [("right", 0), ("up", 2), ("left", 4), ("down", 6)]
)
@pytest.mark.parametrize("scales", [(16,), (48,), (120,)])
def test_gradients_are_in_the_bin_of_their_direction(brighter_to, bin_, scales):
    features = landmark_sift(ramp(brighter_to, 250), [[125, 125]], scales)
    by_bin = features.reshape(-1, 8).sum(axis=0)
    assert by_bin[bin_] > 0
    np.testing.assert_array_equal(np.flatnonzero(by_bin), [bin_])


def test_diagonal_gradient_is_in_the_bin_between():
    to_the_right = ramp("right").astype(int)
    picture = ((to_the_right + ramp("up")) // 2).astype(np.uint8)
    assert landmark_sift(picture, [[50, 50]]).reshape(-1, 8).sum(axis=0).argmax() == 1


def test_turned_square_has_turned_cells_and_bins():
    """A quarter turn moves the cells and adds two bins; upright SIFT does not undo it."""
    picture = drawing(height=131, width=131)
    plain = blocks(landmark_sift(picture, [[65, 65]]), 1)[0]
    turned = blocks(landmark_sift(np.rot90(picture), [[65, 65]]), 1)[0]
    expected = np.roll(np.rot90(plain, axes=(1, 2)), 2, axis=3)
    assert cosine(plain.ravel(), turned.ravel()) < 0.8
    assert cosine(expected.ravel(), turned.ravel()) > 0.99


def test_brightness_has_no_say():
    picture = drawing()
    np.testing.assert_array_equal(
        landmark_sift(picture, POINTS), landmark_sift(picture + np.uint8(40), POINTS)
    )


def test_contrast_has_hardly_a_say():
    picture = drawing()
    half = np.rint(picture / 2).astype(np.uint8)
    features, of_half = landmark_sift(picture, POINTS), landmark_sift(half, POINTS)
    assert cosine(features, of_half) > 0.98
    assert cosine(features, landmark_sift(drawing(seed=1), POINTS)) < 0.9


def test_descriptors_have_one_length():
    """512 in the units of OpenCV, before they are rounded."""
    lengths = np.linalg.norm(blocks(landmark_sift(drawing(), POINTS), 5).reshape(15, 128), axis=1)
    np.testing.assert_allclose(lengths, 512, rtol=0.03)


def test_flat_picture_is_all_zero():
    assert not landmark_sift(np.full((60, 60), 77, np.uint8), [[30, 30]]).any()


def test_smoothing_hides_what_is_fine_from_wide_squares():
    """Noise turns the wide descriptors less where these are smoothed in proportion."""
    picture = drawing()
    noise = np.random.default_rng(0).integers(-25, 26, picture.shape)
    noisy = (picture + noise).astype(np.uint8)
    agreement = {
        smooth: cosine(*(landmark_sift(p, POINTS, [48], smooth=smooth) for p in (picture, noisy)))
        for smooth in (True, False)
    }
    assert agreement[True] > agreement[False] + 0.02


def test_smoothing_is_the_least_for_the_narrow():
    picture = drawing()
    np.testing.assert_array_equal(
        landmark_sift(picture, POINTS, [16]), landmark_sift(picture, POINTS, [16], smooth=False)
    )


def test_scales_follow_the_size_of_the_picture():
    picture = drawing()
    large = cv2.resize(picture, None, fx=2, fy=2, interpolation=cv2.INTER_CUBIC)
    of_large = landmark_sift(large, 2 * POINTS + 0.5, 2 * np.array(SCALES))
    assert cosine(landmark_sift(picture, POINTS), of_large) > 0.9
    assert cosine(landmark_sift(picture, POINTS), landmark_sift(large, 2 * POINTS)) < 0.9


# The border


def test_landmarks_at_the_border_are_described():
    picture = drawing(height=60, width=50)
    corners = [[0, 0], [49, 0], [0, 59], [49, 59], [25, 0]]
    by_point = blocks(landmark_sift(picture, corners), 5)
    assert by_point.any(axis=(2, 3, 4)).all()


def test_border_is_a_mirror():
    """What is described at the left border has gradients to both sides in equal parts."""
    mirrored = np.hstack([drawing()[:, ::-1], drawing()])
    inside = landmark_sift(mirrored, [[130, 70]])
    np.testing.assert_array_equal(landmark_sift(drawing(), [[0, 70]]), inside)


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (9, 7)])
def test_picture_may_be_smaller_than_the_square(shape):
    picture = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    assert landmark_sift(picture, [[0, 0]]).shape == (384,)


@pytest.mark.parametrize("scale", [4, 68, 69, 140, 300])
def test_any_width_is_described(scale):
    features = landmark_sift(drawing(), POINTS, [scale])
    assert features.shape == (5 * 128,)
    assert features.reshape(5, 128).any(axis=1).all()


# Kinds of pictures


def test_floats_from_0_to_1_are_the_same_picture():
    picture = drawing()
    for dtype in (np.float32, np.float64):
        as_float = (picture / 255).astype(dtype)
        np.testing.assert_array_equal(
            landmark_sift(as_float, POINTS), landmark_sift(picture, POINTS)
        )


def test_colours_become_grey_red_first():
    grey = drawing()
    expected = landmark_sift(grey, POINTS)
    np.testing.assert_array_equal(landmark_sift(np.dstack([grey] * 3), POINTS), expected)
    # an edge in green alone counts more than one in red, and that more than one in blue
    edge = {}
    for channel in range(3):
        colour = np.full((60, 60, 3), 100, np.uint8)
        colour[:, :30] += np.uint8(50) * np.eye(3, dtype=np.uint8)[0]
        colour[:30, :, channel] += np.uint8(50)
        by_bin = landmark_sift(colour, [[30, 30]], [16]).reshape(-1, 8).astype(float).sum(axis=0)
        edge[channel] = by_bin[2] / by_bin[4]  # brighter upwards, against red to the left
    assert edge[2] < edge[0] < edge[1]


def test_pictures_need_not_be_contiguous():
    picture = drawing()
    wide = np.repeat(picture, 2, axis=1)
    np.testing.assert_array_equal(
        landmark_sift(wide[:, ::2], POINTS), landmark_sift(picture, POINTS)
    )


def test_input_is_not_changed():
    picture, points = drawing(), POINTS.astype(float)
    landmark_sift(picture, points)
    np.testing.assert_array_equal(picture, drawing())
    np.testing.assert_array_equal(points, POINTS)


# Bad input


@pytest.mark.parametrize(
    "image", [np.zeros((4, 5, 4), np.uint8), np.zeros(9, np.uint8), np.zeros((0, 5), np.uint8)]
)
def test_picture_of_another_shape(image):
    with pytest.raises(ValueError, match=r"the picture has shape \(.*\); expected \(height, width"):
        landmark_sift(image, [[0, 0]])


@pytest.mark.parametrize("kind", ["int64", "uint16", "bool"])
def test_picture_of_another_kind(kind):
    with pytest.raises(ValueError, match=f"the picture is {kind}; expected uint8, or floats"):
        landmark_sift(drawing().astype(kind), POINTS)


@pytest.mark.parametrize("value", [np.nan, np.inf, -0.1, 1.5, 255.0])
def test_floats_outside_of_0_to_1(value):
    picture = drawing() / 255
    picture[3, 4] = value
    with pytest.raises(ValueError, match=r"the picture has floats from .*; expected 0 to 1"):
        landmark_sift(picture, POINTS)


@pytest.mark.parametrize(
    "point", [(-0.1, 5), (5, -1), (129.5, 5), (5, 140), (np.nan, 5), (5, np.inf)]
)
def test_landmark_outside_of_the_picture(point):
    words = r"landmarks\[1\] = \(.*\) is not within the picture: .* \(0, 0\) to \(129, 139\)"
    with pytest.raises(ValueError, match=words):
        landmark_sift(drawing(), [(50, 50), point])


@pytest.mark.parametrize("landmarks", [np.zeros((0, 2)), np.zeros((4, 3)), [5, 5], []])
def test_landmarks_of_another_shape(landmarks):
    with pytest.raises(ValueError, match=r"landmarks have shape .*expected \(n_landmarks, 2\)"):
        landmark_sift(drawing(), landmarks)


@pytest.mark.parametrize("scales", [[], [[16]], 16, [np.nan], [16, np.inf]])
def test_scales_that_are_none(scales):
    with pytest.raises(ValueError, match=r"scales=.*expected one or more widths in pixels"):
        landmark_sift(drawing(), POINTS, scales)


@pytest.mark.parametrize("scales", [[16, 0], [-8], [3.9]])
def test_scales_that_are_too_small(scales):
    with pytest.raises(ValueError, match=r"scales=.* has a width below 4 pixels"):
        landmark_sift(drawing(), POINTS, scales)


def test_missing_opencv_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(ImportError, match=r"needs cv2; .*pip install 'frobmetric-paper\[vision\]'"):
        landmark_sift(drawing(), POINTS)


# The features of real faces


@pytest.mark.slow
def test_default_scales_are_those_of_the_stored_features(data_folder):
    """The pictures, at half size, show columns 78 to 171 and rows 70 to 193 of the original."""
    for file in ("lfw_meta.npz", "lfw_sift3456.npz", "lfw_funneled_62x47.npz"):
        if not (data_folder / file).is_file():
            pytest.skip(f"{file} is not in {data_folder}")
    faces, pictures = (f("lfw", folder=data_folder) for f in (load_faces, load_face_pictures))
    inside = ((faces.landmarks >= [90, 82]) & (faces.landmarks <= [159, 181])).all(axis=(1, 2))
    rows = np.flatnonzero(inside)[:: inside.sum() // 8]
    widths = (8, 16, 24, 32, 40, 48, 64)
    agreement = np.zeros((3, len(widths)))
    for row in rows:
        large = cv2.resize(pictures[row], (94, 124), interpolation=cv2.INTER_CUBIC)
        ours = landmark_sift(large, faces.landmarks[row] - [78, 70], widths)
        ours, theirs = ours.reshape(9, len(widths), 128), faces.X[row].reshape(9, 3, 128)
        agreement += [
            [
                np.mean([cosine(o, t) for o, t in zip(ours[:, j], theirs[:, i], strict=True)])
                for j in range(len(widths))
            ]
            for i in range(3)
        ]
    agreement /= len(rows)
    assert tuple(widths[j] for j in agreement.argmax(axis=1)) == SCALES
    assert agreement.max(axis=1).min() > 0.9
