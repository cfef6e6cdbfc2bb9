"""The figure of local spread shows the directions that it is given."""

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll

from frobmetric_paper.mvu.report import draw_spread
from frobmetric_paper.mvu.spread import local_spread


def test_lines_are_the_directions_as_long_as_the_spread():
    figure = pytest.importorskip("matplotlib.figure", reason="figures need matplotlib").Figure()
    X, position = make_swiss_roll(120, random_state=0)
    spread = local_spread(np.column_stack([position, X[:, 1]]), 5)
    ax = figure.subplots()
    draw_spread(ax, spread)
    along = []
    for j, lines in enumerate(ax.collections):
        segments = np.array(lines.get_segments())
        np.testing.assert_allclose(segments.mean(axis=1), spread.points)
        along.append(segments[:, 1] - segments[:, 0])
        np.testing.assert_allclose(np.linalg.norm(along[j], axis=1), spread.scales[:, j])
    np.testing.assert_allclose(np.einsum("ia,ia->i", *along), 0, atol=1e-9)
