"""SIFT descriptors of pictures of faces at landmarks, at several scales; needs OpenCV."""

from __future__ import annotations

import math

import numpy as np

__all__ = ["SCALES", "landmark_sift"]

#: Widths in pixels of the squares that are described, for pictures of 250 x 250 pixels.
SCALES = (16, 32, 48)
N_BINS = 128  # 4 x 4 cells of 8 orientations
_SMALLEST = 4.0  # below it a cell is less than a pixel wide
# OpenCV's SIFT: a key point of size 1 has cells of 1.5 pixels; each octave has 3 levels of
# smoothing, and 3 more for the differences between levels
_WIDTH_PER_SIZE = 6.0
_SIGMA = 1.6
_LEVELS = 3


def landmark_sift(image, landmarks, scales=SCALES, *, smooth=True):
    """Describe a picture by SIFT at given points, upright, at several scales.

    The square around a landmark has 4 x 4 cells, and each cell a histogram of the directions of
    the gradient in 8 bins of 45 degrees: in bin 0 the picture gets brighter to the right, in bin 2
    upwards, in bin 4 to the left and in bin 6 downwards.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, 3)
        Grey, or red, green and blue, which become grey. Either uint8, or floats from 0 to 1, which
        are rounded to the 256 levels that OpenCV reads.
    landmarks : array-like of shape (n_landmarks, 2)
        Column and row of each, within the picture: (0, 0) is the centre of its first pixel.
        They are rounded to whole pixels (where scales are above 68, to 2 or more).
    scales : sequence of float, default=(16, 32, 48)
        Widths of the squares in pixels, at least 4. Scale them with the size of the faces.
    smooth : bool, default=True
        Smooth a square of width w by a Gaussian of about w / 12 pixels before gradients are
        taken, as SIFT does for key points that it finds itself (but by 1.6 at least); False
        smooths by 1.6 pixels at all scales.

    Returns
    -------
    ndarray of shape (n_landmarks * n_scales * 128,)
        uint8: for each landmark, for each scale, for each cell row by row, 8 orientations. A
        square without any edge is all 0.

    Notes
    -----
    Near the border the picture goes on as its mirror image. Guillaumin et al. describe faces by 3
    scales at 9 landmarks, which gives 3,456 numbers. For the features of
    `frobmetric_paper.data.pairs.load_faces` no widths are written down; of 14 widths from 8 to 96
    pixels, each with three degrees of smoothing, the defaults agree best with them (correlations
    of 0.95 to 0.98 on 33 of the faces, whose pictures were known at half size only).

    References
    ----------
    Lowe, Distinctive image features from scale-invariant keypoints, IJCV 2004. Guillaumin, Verbeek
    and Schmid, Is that you? Metric learning approaches for face identification, ICCV 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric_paper.data.face_features import landmark_sift
    >>> to_the_right = np.tile(np.arange(100, dtype=np.uint8), (80, 1))
    >>> features = landmark_sift(to_the_right, [[30, 40], [60, 20]])
    >>> features.shape
    (768,)
    >>> int(features.reshape(-1, 8).sum(axis=0).argmax())
    0
    """
    cv2 = _opencv()
    scales = _check_scales(scales)
    grey = _as_grey(image, cv2)
    landmarks = _check_landmarks(landmarks, grey.shape)
    margin = _margin(scales)
    padded = np.pad(grey, margin, mode="symmetric")
    points = [
        cv2.KeyPoint(float(x), float(y), scale / _WIDTH_PER_SIZE, 0.0, 0.0, _level(scale, smooth))
        for x, y in landmarks + margin
        for scale in scales
    ]
    sift = cv2.SIFT_create(nOctaveLayers=_LEVELS, sigma=_SIGMA)
    described = sift.compute(padded, points)[1]
    return np.rint(described).astype(np.uint8).reshape(len(points) * N_BINS)


def _opencv():
    try:
        import cv2
    except ImportError as error:
        raise ImportError(
            "this needs cv2; install it with: pip install 'frobmetric-paper[vision]'"
        ) from error
    return cv2


def _check_scales(scales):
    scales = np.asarray(scales, dtype=np.float64)
    if scales.ndim != 1 or not len(scales) or not np.isfinite(scales).all():
        raise ValueError(f"scales={scales.tolist()}; expected one or more widths in pixels.")
    if scales.min() < _SMALLEST:
        raise ValueError(
            f"scales={scales.tolist()} has a width below {_SMALLEST:g} pixels, in which 4 cells "
            "have no room; give wider ones, or enlarge the picture."
        )
    return scales


def _as_grey(image, cv2):
    image = np.asarray(image)
    if image.size == 0 or not (image.ndim == 2 or (image.ndim == 3 and image.shape[2] == 3)):
        raise ValueError(
            f"the picture has shape {image.shape}; expected (height, width) of grey or "
            "(height, width, 3) of red, green and blue, with at least one pixel."
        )
    image = np.ascontiguousarray(_as_bytes(image))
    return image if image.ndim == 2 else cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)


def _as_bytes(image):
    if image.dtype == np.uint8:
        return image
    if image.dtype.kind != "f":
        raise ValueError(
            f"the picture is {image.dtype}; expected uint8, or floats from 0 to 1. Convert it."
        )
    lowest, highest = image.min(), image.max()
    if not (lowest >= 0 and highest <= 1):  # also if one is nan
        raise ValueError(
            f"the picture has floats from {lowest} to {highest}; expected 0 to 1. Scale them, or "
            "give uint8."
        )
    return np.rint(255 * image).astype(np.uint8)


def _check_landmarks(landmarks, shape):
    landmarks = np.asarray(landmarks, dtype=np.float64)
    if landmarks.ndim != 2 or landmarks.shape[1] != 2 or not len(landmarks):
        raise ValueError(
            f"landmarks have shape {landmarks.shape}; expected (n_landmarks, 2), columns and rows "
            "of one or more points."
        )
    height, width = shape
    is_inside = ((landmarks >= 0) & (landmarks <= [width - 1, height - 1])).all(axis=1)
    if not is_inside.all():
        first = int(is_inside.argmin())
        raise ValueError(
            f"landmarks[{first}] = {tuple(landmarks[first].tolist())} is not within the picture: "
            f"expected (column, row) from (0, 0) to ({width - 1}, {height - 1})."
        )
    return landmarks


def _margin(scales):
    """Return the width of the border that the widest square and its smoothing need."""
    # A multiple of 16: points then have the same place among the pixels of each octave
    return 16 * math.ceil((1.5 * scales.max() + 2) / 16)


def _level(scale, smooth):
    """Return the level of smoothing as OpenCV codes it: octave + 256 * level within it."""
    if not smooth:
        return 0
    level = max(0, round(_LEVELS * math.log2(scale / (12 * _SIGMA))))
    # The finest octave that holds it, as points are rounded to pixels of the octave
    octave = max(0, math.ceil((level - _LEVELS - 2) / _LEVELS))
    return octave + 256 * (level - _LEVELS * octave)
