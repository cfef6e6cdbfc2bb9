"""What a nearest matrix shows of itself, and matrices that are valid already."""

import numpy as np
import pytest

from frobmetric.sdp import nearest_correlation

INVALID = [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
VALID = np.array([[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]])


def test_the_matrix_is_shown():
    found = nearest_correlation(INVALID)
    first, *rest = repr(found).splitlines()
    assert first.startswith("NearestMatrix, 3 × 3: distance 0.52779, at most ")
    assert first.endswith(" from the nearest, optimal")
    assert "\n".join(rest) == repr(found.matrix)
    assert "<table" in found._repr_html_()
    assert ">0.7607<" in found._repr_html_()
    assert "distance 0.52779" in found._repr_html_()


def test_large_matrices_and_data_frames_in_html():
    large = nearest_correlation(np.eye(30))._repr_html_()
    assert "<pre>" in large
    assert "<table" not in large
    frame = pytest.importorskip("pandas").DataFrame(INVALID, index=list("a<b"), columns=list("a<b"))
    shown = nearest_correlation(frame)._repr_html_()
    assert "&lt;" in shown
    assert "<table" in shown


@pytest.mark.parametrize("options", [{}, {"weights": np.ones(3)}, {"elementwise": np.ones((3, 3))}])
def test_a_valid_matrix_is_not_changed(options):
    found = nearest_correlation(VALID, min_eigenvalue=0.1, **options)
    np.testing.assert_array_equal(found.matrix, VALID)
    assert (found.distance, found.status, found.certificate.gap) == (0, "optimal", 0)
    assert found.is_unchanged
    assert "already valid; nothing changed" in repr(found)


def test_a_diagonal_of_rounding_is_no_change():
    found = nearest_correlation(VALID - 2e-16 * np.eye(3))
    assert found.is_unchanged
    assert (np.diag(found.matrix) == 1).all()
    assert 0 < found.distance <= found.certificate.distance_bound


@pytest.mark.parametrize(
    "options",
    [
        {"min_eigenvalue": 0.9},
        {"bounds": (None, 0.4)},
        {"counts": np.ones((3, 3)), "bounds": (0.3, None)},
    ],
)
def test_what_breaks_a_limit_is_changed(options):
    found = nearest_correlation(VALID, **options)
    assert not found.is_unchanged
    assert found.distance > 1e-3
    assert not nearest_correlation(INVALID).is_unchanged
