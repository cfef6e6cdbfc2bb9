"""Short runs of the attack on proofs of infeasibility, and its oracle."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from attack.suite.narrow import as_fractions, attack_narrow, attack_power, is_semidefinite, judge


def test_no_false_proof():
    assert attack_narrow(40, 3).n_defects == 0


def test_problems_with_a_margin_are_proven():
    assert attack_power(20, 3).counts == {"proven": 20}


@pytest.mark.parametrize(
    ("S", "expected"),
    [([[1, 2], [2, 4]], True), ([[1, 2], [2, 3.999]], False), ([[0, 1], [1, 5]], False)],
)
def test_the_oracle(S, expected):
    assert is_semidefinite(as_fractions(S)) == expected


@dataclass
class Near:
    kind: str
    error: float


def test_false_words_are_seen():
    X, y = [np.eye(2), np.ones(1)], np.array([3.0, 4.0])
    for status, words in (("primal_infeasible", "feasible"), ("dual_infeasible", "unbounded")):
        assert words in judge(SimpleNamespace(status=status, nearly=None), X, y)
    for kind, least in (("primal_infeasible", 3), ("dual_infeasible", 5)):
        for factor, is_true in ((1.01, True), (0.99, False)):
            said = SimpleNamespace(status="stalled", nearly=Near(kind, factor / least))
            assert (judge(said, X, y) == "") == is_true
