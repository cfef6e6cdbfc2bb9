"""Blocks of features in all their forms, and tables of weights."""

import numpy as np
import pytest

from frobmetric.embeddings import weights_table
from frobmetric.embeddings.fields import block_numbers


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ([2, 3], [0, 0, 1, 1, 1]),
        (np.array([2, 3]), [0, 0, 1, 1, 1]),
        ([slice(0, 2), slice(2, None)], [0, 0, 1, 1, 1]),
        ([[4, 0], (1, 2), np.array([3])], [0, 1, 1, 2, 0]),
        ([[1, 1, 0], slice(-3, None)], [0, 0, 1, 1, 1]),
    ],
)
def test_blocks_in_all_their_forms(blocks, expected):
    np.testing.assert_array_equal(block_numbers(blocks, 5), expected)


@pytest.mark.parametrize(
    ("blocks", "error", "message"),
    [
        ([], ValueError, "no blocks"),
        ([2, 2], ValueError, "add up to 4; expected positive sizes that add up to the 5 features"),
        ([5, 0], ValueError, "positive sizes"),
        ([[0, 1], [1, 2, 3, 4]], ValueError, "feature 1 is in the blocks 0 and 1"),
        ([[0, 1], [3]], ValueError, r"feature 2 is in no block \(features without: 2\)"),
        ([[0, 1, 2, 3, 5]], ValueError, "feature 5; features go from 0 to 4"),
        ([[-1, 0]], ValueError, "feature -1"),
        ([[0, 1, 2, 3, 4], []], ValueError, "block 1 is empty"),
        ([slice(0, 5), slice(5, 9)], ValueError, "block 1 is empty"),
        ([[0.0, 1.0], [2, 3, 4]], TypeError, "block 0"),
        ([2, [2, 3, 4]], TypeError, "block 0 is 2"),
        (["title"], TypeError, "block 0 is 'title'"),
    ],
)
def test_bad_blocks_are_refused(blocks, error, message):
    with pytest.raises(error, match=message):
        block_numbers(blocks, 5)


def test_a_table_has_names_weights_and_shares():
    table = weights_table([3.0, 1.0, 0.0], names=["a", "b", "<c>"])
    assert str(table).splitlines()[1].split() == ["a", "3", "75.0%"]
    assert "&lt;c&gt;" in table._repr_html_()
    np.testing.assert_allclose(table.shares, [0.75, 0.25, 0.0])


def test_a_table_of_the_largest_weights():
    table = weights_table([1.0, 3.0, 2.0], largest=2)
    assert table.names == ("1", "2")
    assert list(table.weights) == [3.0, 2.0]


def test_all_weights_zero_have_no_shares():
    assert list(weights_table([0.0, 0.0]).shares) == [0.0, 0.0]


def test_bad_weights_and_names_are_refused():
    with pytest.raises(ValueError, match=r"weights\[1\] = -1.0"):
        weights_table([1.0, -1.0])
    with pytest.raises(ValueError, match="not empty"):
        weights_table([])
    with pytest.raises(ValueError, match="1 entries"):
        weights_table([1.0, 2.0], names=["a"])
