"""Copies of pictures, and the choice of a candidate on the validation part."""

import numpy as np
import pytest

from frobmetric_paper.bench.accuracy import MOVES, PLAIN, SHIFTED, accuracy_page, chosen, shifted
from frobmetric_paper.classification.measure import MAIN, RULES


@pytest.mark.parametrize("move", MOVES)
def test_a_move_shifts_pictures_and_fills_with_black(move, rng):
    pictures = rng.uniform(1, 2, size=(3, 4, 4))
    moved = shifted(pictures.reshape(3, 16), 4, move).reshape(3, 4, 4)
    for row, column in np.ndindex(4, 4):
        source = row - move[0], column - move[1]
        is_inside = all(0 <= place < 4 for place in source)
        expected = pictures[:, *source] if is_inside else np.zeros(3)
        np.testing.assert_array_equal(moved[:, row, column], expected)


def row(name, neighbours, main, others):
    errors = {rule: main if rule == MAIN else others for rule in RULES}
    about = {"map": name, "neighbours": neighbours, "rank": 2, "relative_gap": 1e-4, "seconds": 1.0}
    return {**about, "errors": errors}


ROWS = [
    row("linear", PLAIN, [2.0, 1.0], [3.0, 0.0]),
    row("kernel 1", PLAIN, [1.5, 4.0], [1.8, 3.0]),
    row("kernel 1", SHIFTED, [1.5, 2.0], [1.0, 5.0]),
]


def test_the_choice_is_made_on_the_validation_part():
    assert chosen(ROWS, (PLAIN,), (MAIN,)) == (1.5, 4.0, f"kernel 1, plain, {MAIN}")
    assert chosen(ROWS, rules=(MAIN,))[2] == f"kernel 1, plain, {MAIN}"  # the first of equal ones
    assert chosen(ROWS)[:2] == (1.0, 5.0)


def test_each_run_chooses_for_itself():
    runs = [ROWS, [row("linear", PLAIN, [1.0, 2.0], [3.0, 0.0]), *ROWS[1:]]]
    page = accuracy_page({"usps": runs})
    first = page["summary"].splitlines()[2]
    assert "| 1.25 | 3.00 (1.41) |" in first
    assert "(1 of 2)" in first
