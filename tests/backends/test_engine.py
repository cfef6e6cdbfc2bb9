"""Engines: what is computed, how often, and what is kept."""

import operator
from importlib import import_module

import numpy as np
import pytest

from frobmetric.backends import constraints
from frobmetric.backends.constraints import ShardedConstraints
from frobmetric.backends.engine import LocalEngine, Pairs, tree
from frobmetric.backends.vectors import BroughtRows, Sharded, map_shards
from frobmetric.core import FrobeniusSDP, Hinge, Triplets, certify
from frobmetric.solvers import solve

active_set = import_module("frobmetric.solvers.active_set")


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


class Remote(Counting):
    """Local engine that counts as one whose messages take time."""

    is_remote = True


def sharded_problem(engine, X, rows, weight):
    """Return a problem in shards, the last of which has no rows, and the same one in memory."""
    cuts = np.linspace(0, len(rows), engine.n_shards).astype(int)[1:]
    parts = Sharded.put(engine, [Triplets(X, part) for part in np.split(rows, cuts)])
    u = Sharded.put(engine, np.split(weight, cuts))
    in_shards = FrobeniusSDP(ShardedConstraints(parts, X.shape[1]), Hinge(u))
    return in_shards, FrobeniusSDP(Triplets(X, rows), Hinge(weight))


@pytest.fixture
def triplets():
    rng = np.random.default_rng(0)
    X, rows = rng.normal(size=(300, 6)), rng.integers(300, size=(4000, 3))
    rows = rows[(rows[:, 0] != rows[:, 1]) & (rows[:, 0] != rows[:, 2])]
    return X, rows, rng.uniform(1, 3, size=len(rows)) / len(rows)


def test_few_rows_are_solved_in_memory(triplets, monkeypatch):
    for name, value in {"FEW_ROWS": 1000, "SAMPLE": 500}.items():
        monkeypatch.setattr(active_set, name, value)
    n_tasks = {}
    for kind in (Counting, Remote):
        engine = kind(3)
        in_shards, whole = sharded_problem(engine, *triplets)
        expected, found = solve(whole), solve(in_shards)
        assert found.certificate.primal == pytest.approx(expected.certificate.primal, rel=1e-9)
        n_tasks[kind] = engine.n_tasks
    assert n_tasks[Remote] < n_tasks[Counting] / 2


def test_rows_that_are_brought_have_the_values_of_all_shards(triplets):
    engine = Remote(4)
    problem, whole = sharded_problem(engine, *triplets)
    rows = problem.constraints.bring(np.flatnonzero(problem.loss.weight > 2 / len(triplets[1])))
    expected = np.flatnonzero(whole.loss.weight > 2 / len(triplets[1]))
    assert isinstance(rows, BroughtRows)
    assert len(rows) == len(expected)
    np.testing.assert_array_equal(problem.loss.restrict(rows).weight, whole.loss.weight[expected])
    M = np.diag(np.arange(6.0))
    np.testing.assert_allclose(
        problem.constraints.restrict(rows).forward(M),
        whole.constraints.restrict(expected).forward(M),
    )
    u, values = problem.loss.weight.copy(), np.arange(float(len(expected)))
    u[rows] = values
    np.testing.assert_array_equal(u[rows], values)
    assert float(u.sum()) == pytest.approx(
        values.sum() + np.delete(whole.loss.weight, expected).sum(), rel=1e-12
    )


@pytest.mark.parametrize("name", ["MOST_ROWS", "MOST_BYTES", "MOST_WORK"])
def test_many_rows_stay_in_their_shards(triplets, monkeypatch, name):
    monkeypatch.setattr(constraints, name, 10)
    problem, _ = sharded_problem(Remote(3), *triplets)
    rows = problem.constraints.sample_rows(2, 36)
    assert problem.constraints.bring(rows) is rows
    assert isinstance(problem.constraints.restrict(rows), ShardedConstraints)


def test_shards_without_rows_take_part():
    engine = LocalEngine(3)
    pieces = [np.arange(2.0), np.zeros(0), np.ones(1)]
    v = Sharded.put(engine, pieces)
    doubled = map_shards(np.multiply, v, 2.0)
    assert len(doubled) == 3
    assert float(doubled.max()) == 2
