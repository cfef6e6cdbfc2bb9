"""Engines: what is computed, how often, and what is kept."""

import operator

import numpy as np
import pytest

from frobmetric.backends.constraints import ShardedConstraints
from frobmetric.backends.engine import LocalEngine, Pairs, tree
from frobmetric.backends.vectors import Sharded, map_shards
from frobmetric.core import FrobeniusSDP, Hinge, Triplets, certify
from frobmetric.solvers import solve


class Counting(LocalEngine):
    """Local engine that counts its tasks."""

    n_tasks = 0

    def start(self, program, inputs, combines):
        self.n_tasks += self.n_shards
        return super().start(program, inputs, combines)


def test_open_numbers_are_computed_by_one_task_a_shard():
    engine = Counting(3)
    v = Sharded.put(engine, [np.arange(3.0)] * 3)
    total, square = np.sum(2 * v), v @ v
    assert engine.n_tasks == 0
    assert float(total + square) == 18 + 15
    assert engine.n_tasks == 3


def test_what_a_variable_refers_to_is_computed_once():
    calls = []

    def slow(piece):
        calls.append(1)
        return piece + 1

    v = Sharded.put(LocalEngine(2), [np.arange(3.0)] * 2)
    kept, light = v.map(slow), v.map(slow).light()
    assert [float(kept.sum()), float(kept.sum())] == [12, 12]
    assert len(calls) == 2
    assert [float(light.sum()), float(light.sum())] == [12, 12]
    assert len(calls) == 6


def test_steps_on_the_way_are_not_kept():
    v = Sharded.put(LocalEngine(1), [np.arange(3.0)])
    result = (v + 1) * 2
    float(result.sum())
    assert len(result.node.bundles[0].kept) == 1


def test_pairwise_combines_in_order():
    engine = LocalEngine(3)
    names = Sharded.put(engine, ["a", "b", "c"])
    both = names.pairwise(Pairs(operator.add, ",".join), names)
    found = both.reduce(operator.add, lambda piece: [piece]).get()
    assert found == ["aa,ab,ac", "ba,bb,bc", "ca,cb,cc"]


def test_pairwise_takes_some_shards_or_groups_of_them():
    engine = LocalEngine(3)
    names = Sharded.put(engine, ["a", "b", "c"])
    some = Pairs(operator.add, lambda parts, own: f"{own}:{','.join(parts)}", [0, 2], at_right=True)
    both = names.pairwise(some, names.map(str.upper), names)
    assert both.reduce(operator.add, lambda piece: [piece]).get() == [
        "a:aA,aC",
        "b:bA,bC",
        "c:cA,cC",
    ]
    groups = names.joined("".join, [range(2), range(2, 3)])
    both = names.pairwise(Pairs(operator.add, ",".join), groups)
    assert both.reduce(operator.add, lambda piece: [piece]).get() == ["aab,ac", "bab,bc", "cab,cc"]


def test_a_tree_has_one_order():
    assert tree(lambda a, b: f"({a}{b})", "abcde") == ["(((ab)(cd))e)"]
    assert tree(lambda a, b: f"({a}{b})", "abcde", 2) == ["((ab)(cd))", "e"]


def test_kept_pieces_are_in_files(tmp_path):
    engine = LocalEngine(2, tmp_path)
    rows = Sharded.put(engine, [np.arange(40_000.0), np.ones(50_000)])
    moved = rows + 1
    assert float(moved.sum()) == np.arange(40_000.0).sum() + 40_000 + 100_000
    piece = moved.node.bundles[0].kept[moved.node.place]
    assert not piece.flags.owndata
    assert not piece.flags.writeable
    assert list(tmp_path.iterdir()) == []  # files without names


@pytest.mark.parametrize("tol", [1e-3, 1e-9])
@pytest.mark.parametrize("n_shards", [1, 2, 5])
def test_solvers_give_the_same_answer_on_shards(tol, n_shards):
    rng = np.random.default_rng(0)
    X, rows = rng.normal(size=(60, 6)), rng.integers(60, size=(400, 3))
    rows = rows[(rows[:, 0] != rows[:, 1]) & (rows[:, 0] != rows[:, 2])]
    weight = rng.uniform(1, 3, size=len(rows)) / len(rows)
    whole = FrobeniusSDP(Triplets(X, rows), Hinge(weight))
    engine, cuts = LocalEngine(n_shards), np.sort(rng.integers(len(rows), size=n_shards - 1))
    parts = Sharded.put(engine, [Triplets(X, part) for part in np.split(rows, cuts)])
    u = Sharded.put(engine, np.split(weight, cuts))
    problem = FrobeniusSDP(ShardedConstraints(parts, 6), Hinge(u))
    expected, found = solve(whole, tol=tol), solve(problem, tol=tol)
    assert found.certificate.relative_gap <= tol
    assert found.certificate.primal == pytest.approx(expected.certificate.primal, rel=1e-10)
    again = certify(problem, found.point, found.u)
    assert again.dual == pytest.approx(found.certificate.dual, rel=1e-12)


def test_the_adjoint_belongs_to_the_forward_map():
    rng = np.random.default_rng(1)
    X, rows = rng.normal(size=(20, 4)), rng.permutation(20)[:18].reshape(6, 3)
    engine = LocalEngine(2)
    parts = Sharded.put(engine, [Triplets(X, rows[:2]), Triplets(X, rows[2:])])
    constraints = ShardedConstraints(parts, 4)
    M, u = rng.normal(size=(4, 4)), rng.normal(size=6)
    pieces = Sharded.put(engine, [u[:2], u[2:]])
    left = float(constraints.forward(M + M.T) @ pieces)
    assert left == pytest.approx(np.vdot(M + M.T, constraints.adjoint(pieces)), rel=1e-12)


def test_shards_without_rows_take_part():
    engine = LocalEngine(3)
    pieces = [np.arange(2.0), np.zeros(0), np.ones(1)]
    v = Sharded.put(engine, pieces)
    doubled = map_shards(np.multiply, v, 2.0)
    assert len(doubled) == 3
    assert float(doubled.max()) == 2
