"""The experiment with faces: who is known in a split, how pairs are scored, what is chosen."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from frobmetric_paper.lfw.cells import Cell, Store, compute, task_of
from frobmetric_paper.lfw.recipe import Images, Recipe, principal_axes
from frobmetric_paper.lfw.splits import VARIANTS, Split, divide, view1, view2
from frobmetric_paper.lfw.summary import RATES, curve, mean
from frobmetric_paper.rivals import Fitted, RivalMissing
from frobmetric_paper.rivals.from_pairs import ITML, LDML
from frobmetric_paper.rivals.ldml import learn_from_pairs
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score

from drawn_faces import write_faces
from frobmetric_paper.data.pairs import FacePairs, load_faces
from frobmetric_paper.lfw import experiment as lfw
from frobmetric_paper.lfw import paper as lfw_paper
from frobmetric_paper.lfw import plan as lfw_plan
from frobmetric_paper.lfw import rules as lfw_rules
from frobmetric_paper.lfw.methods import FROB, METHODS, Method, Setup

SMALL = Recipe(n_dimensions=10, n_neighbors=3, n_triplets=300, C=10.0, prior=None)


@pytest.fixture
def faces(tmp_path, monkeypatch):
    return load_faces("lfw", folder=write_faces(tmp_path / "data", monkeypatch))


def all_splits(faces):
    for variant in VARIANTS:
        yield view1(faces, variant)
        yield from (view2(faces, number, variant) for number in range(10))


# Who is known


def test_no_test_person_is_known(faces):
    for split in all_splits(faces):
        for each in (split, *split.parts(3)):
            tested = set(faces.person[each.test.index].ravel())
            assert not tested & set(each.identity)
            assert not tested & set(faces.person[each.known])
            assert set(faces.person[each.train.index].ravel()) == set(each.identity)


def test_known_images_of_both_variants(faces):
    pairs, people = view2(faces, 3, "pairs"), view2(faces, 3, "people")
    assert set(pairs.known) == set(pairs.train.index.ravel())
    named = set(faces.person[pairs.train.index].ravel())
    assert set(people.known) == {row for row, who in enumerate(faces.person) if who in named}
    assert len(people.known) > len(pairs.known)
    np.testing.assert_array_equal(people.known[people.known_pairs.index], people.train.index)
    counts = Counter(people.identity.tolist())
    assert people.has_another.tolist() == [counts[who] > 1 for who in people.identity.tolist()]


def test_the_folds_are_those_of_view_2(faces):
    tested = [view2(faces, number).test for number in range(10)]
    assert sum(len(each.same) for each in tested) == len(faces.view2.same)
    np.testing.assert_array_equal(tested[4].index, faces.view2.index[faces.view2_fold == 4])


def test_a_person_in_both_parts_is_refused(faces):
    with pytest.raises(ValueError, match=r"mine: person \d+ is in training and in test pairs"):
        Split("mine", faces.person, faces.view2, faces.view2)


def test_parts_judge_every_training_pair_once(faces):
    split = view2(faces, 0)
    parts = split.parts(3)
    tested = np.concatenate([part.test.index for part in parts])
    assert sorted(map(tuple, tested)) == sorted(map(tuple, split.train.index))
    assert all(part.whole is split for part in parts)
    assert len({part.name for part in (*parts, *split.parts(2))}) == 5


def groups_of(pairs):
    """People whom pairs link, also through others."""
    groups = []
    for pair in pairs:
        joined = [group for group in groups if group & set(pair)]
        groups = [group for group in groups if group not in joined]
        groups.append(set(pair).union(*joined))
    return groups


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=60),
    st.integers(1, 4),
)
def test_divided_pairs_share_no_person(pairs, n_parts):
    people = np.array(pairs)
    n_groups = len(groups_of(pairs))
    if n_groups < n_parts:
        with pytest.raises(ValueError, match=rf"to {n_groups} groups; {n_parts} parts without"):
            divide(people, n_parts)
        return
    part = divide(people, n_parts)
    assert set(part) == set(range(n_parts))
    for who in np.unique(people):
        assert len(set(part[(people == who).any(axis=1)])) == 1


# Vectors


def test_vectors_do_not_depend_on_images_that_are_not_known(faces, rng):
    """Neither PCA nor whitening nor the mean sees them: known images stay where they are."""
    for variant in VARIANTS:
        split = view2(faces, 0, variant)
        others = np.setdiff1d(np.arange(len(faces.X)), split.known)
        changed = faces.X.copy()
        changed[others] = rng.integers(256, size=(len(others), faces.X.shape[1]))
        for recipe in (SMALL, replace(SMALL, space="covariance"), replace(SMALL, unit=False)):
            before, after = (Images(X).vectors(split, recipe) for X in (faces.X, changed))
            np.testing.assert_array_equal(before[split.known], after[split.known])
            assert not np.allclose(before[others], after[others])


def test_vectors_are_principal_components(faces):
    split, recipe = view1(faces), replace(SMALL, space="identity", unit=False)
    for root in (True, False):
        X = np.sqrt(faces.X) if root else faces.X.astype(float)
        Z = Images(faces.X).vectors(split, replace(recipe, root=root))
        expected = PCA(10, svd_solver="full").fit(X[split.known]).transform(X)
        np.testing.assert_allclose(np.abs(Z), np.abs(expected), atol=2e-3 * np.abs(expected).max())


def test_principal_axes_of_more_features_than_rows(rng):
    X = rng.normal(size=(7, 20))
    X -= X.mean(axis=0)
    axes = principal_axes(X, 20)
    assert axes.shape == (20, 6)
    np.testing.assert_allclose(axes.T @ axes, np.eye(6), atol=1e-10)
    variances = np.square(X @ axes).sum(axis=0)
    np.testing.assert_allclose(variances, np.linalg.svd(X, compute_uv=False)[:6] ** 2)


def test_whitening_and_unit_length(faces):
    split, images = view2(faces, 0, "people"), Images(faces.X)
    plain = replace(SMALL, shrink=0.0, unit=False)
    white = images.vectors(split, replace(plain, space="covariance"))[split.known]
    np.testing.assert_allclose(np.cov(white.T, bias=True), np.eye(10), atol=1e-6)
    within = images.vectors(split, plain)[split.known]
    spread = within - np.array(
        [within[split.identity == who].mean(axis=0) for who in split.identity]
    )
    np.testing.assert_allclose(spread.T @ spread / len(spread), np.eye(10), atol=1e-6)
    unit = images.vectors(split, SMALL)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1)


def test_vectors_are_kept_for_the_next_method(faces):
    split, images = view2(faces, 0), Images(faces.X)
    first = images.vectors(split, SMALL)
    assert images.vectors(split, replace(SMALL, C=3.0, n_triplets=7)) is first
    assert images.vectors(view2(faces, 1), SMALL) is not first
    assert images.vectors(split, replace(SMALL, n_dimensions=4)).shape[1] == 4


def test_parts_have_the_principal_components_of_the_whole(faces):
    split = view2(faces, 0)
    for part in split.parts(3):
        np.testing.assert_array_equal(part.seen, split.known)


def test_a_recipe_as_text():
    recipe = Recipe(prior=None, C=0.1)
    assert Recipe.from_text(recipe.to_text()) == recipe
    assert recipe.to_text() != Recipe().to_text()


# Triplets and rules


def test_triplets_are_drawn_from_the_same_ones(faces):
    """Whether or not others were asked for before."""
    split, few = view2(faces, 2, "people"), replace(SMALL, n_triplets=30)
    used = Images(faces.X)
    used.triplets(split, replace(SMALL, n_triplets=50))
    used.triplets(split, replace(few, n_neighbors=2))
    np.testing.assert_array_equal(used.triplets(split, few), Images(faces.X).triplets(split, few))
    assert len(used.triplets(split, few)) == 30


def test_triplets_show_known_people(faces):
    for variant in VARIANTS:
        split = view2(faces, 2, variant)
        images = Images(faces.X)
        rows = split.known[images.triplets(split, replace(SMALL, n_triplets=100_000))]
        anchor, near, far = faces.person[rows].T
        assert (anchor == near).all()
        assert (anchor != far).all()
        assert not set(faces.person[rows].ravel()) & set(faces.person[split.test.index].ravel())
        assert set(rows.ravel()) <= set(split.known)
        assert (len(set(rows.ravel()) - set(split.train.index.ravel())) > 0) == (
            variant == "people"
        )


def test_the_reference_holds_no_test_person(faces, monkeypatch, rng):
    fitted = []

    class Watched(lfw_rules.MarginalizedKNN):
        def fit(self, X, y):
            fitted.append(set(np.asarray(y).tolist()))
            return super().fit(X, y)

    monkeypatch.setattr(lfw_rules, "MarginalizedKNN", Watched)
    split = view2(faces, 5, "people")
    lfw_rules.score(rng.normal(size=(len(faces.X), 3)), split, split.test, (5,))
    assert len(fitted) == 1
    assert not fitted[0] & set(faces.person[split.test.index].ravel().tolist())


def test_scores_by_hand(faces, rng):
    W = rng.normal(size=(len(faces.X), 3)) + 5
    split = view2(faces, 1)
    found = lfw_rules.score(W, split, split.test, (4,))
    centre = W[split.known].mean(axis=0)
    unit = np.mean([np.sum((w - centre) ** 2) for w in W[split.known]])
    for row, (i, j) in enumerate(split.test.index[:8]):
        a, b = W[i] - centre, W[j] - centre
        assert found["distance"][row] == pytest.approx(-np.sum((a - b) ** 2) / unit)
        assert found["cosine"][row] == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
        counts = [
            Counter(
                split.identity[np.argsort(np.sum((W[split.known] - w) ** 2, axis=1))[:4]].tolist()
            )
            for w in (W[i], W[j])
        ]
        same = sum(counts[0][who] * counts[1][who] for who in counts[0])
        assert found["mknn-4"][row] == pytest.approx(len(split.known) * same / 16)


def test_thresholds_are_those_of_held_out_pairs():
    test = {"distance": np.array([1.0, 3.0, 2.0, 4.0])}
    held_out = {"distance": np.array([0.0, 1.0, 3.5, 3.6, 0.5])}
    found = lfw_rules.judge(
        test,
        np.array([False, False, True, True]),
        held_out,
        np.array([False, False, True, True, False]),
    )["distance"]
    assert 1.0 < found.threshold <= 3.5
    assert found.held_out == 1.0
    assert found.accuracy == np.mean((test["distance"] >= found.threshold) == [0, 0, 1, 1])
    assert found.area == 0.75
    assert found.scores == [1.0, 3.0, 2.0, 4.0]


# A cell


def test_a_cell(faces):
    split, images = view2(faces, 0, "people"), Images(faces.X)
    setup = Setup(SMALL)
    task = task_of(FROB, setup, split, (5,), 2, 1, "x")
    cell = compute(FROB, setup, task, images, split, 60.0)
    assert cell.is_done
    assert cell.detail["status"] == "optimal"
    assert cell.detail["relative_gap"] <= 1e-3
    assert cell.detail["n_triplets"] == 300
    assert (cell.n_held_out, cell.n_test) == (len(split.train.same), len(split.test.same))
    assert cell.same == "".join("01"[int(each)] for each in split.test.same)
    W, _ = FROB.map(images, split, setup, 60.0, 1)
    scores = lfw_rules.score(W, split, split.test, (5,))
    for rule, found in cell.rules.items():
        assert found["scores"] == pytest.approx(scores[rule], rel=1e-5)
        assert found["area"] == pytest.approx(roc_auc_score(split.test.same, scores[rule]))
        right = (np.array(found["scores"]) >= found["threshold"]) == split.test.same
        assert found["accuracy"] == pytest.approx(right.mean())
    for triplet in cell.detail["examples"]:
        anchor, near, far = faces.person[triplet]
        assert anchor == near != far
        assert set(triplet) <= set(split.known)


def test_a_method_that_is_missing(faces):
    def absent(*arguments):
        raise RivalMissing("nothing is there")

    method, split = Method("mine", "Mine", absent), view1(faces)
    task = task_of(method, Setup(SMALL), split, (5,), 2, 1, "x")
    cell = compute(method, Setup(SMALL), task, Images(faces.X), split, 60.0)
    assert (cell.outcome, cell.remark) == ("missing", "nothing is there")


def test_tasks_that_differ_have_other_files(faces):
    setup, split = Setup(SMALL), view1(faces)
    tasks = [
        task_of(FROB, setup, split, (5,), 2, 1, "x"),
        task_of(FROB, setup, split, (5, 9), 2, 1, "x"),
        task_of(FROB, setup.changed({"C": 3.0}), split, (5,), 2, 1, "x"),
        task_of(FROB, setup.changed({"tol": 1e-4}), split, (5,), 2, 1, "x"),
        task_of(FROB, setup, view1(faces, "people"), (5,), 2, 1, "x"),
        task_of(FROB, setup, split, (5,), 3, 1, "x"),
    ]
    assert len({task.file_name for task in tasks}) == len(tasks)


# Methods


def test_values_go_to_the_recipe_or_to_the_program():
    setup = Setup(SMALL).changed({"C": 7.0, "gamma": 0.5})
    assert setup == Setup(replace(SMALL, C=7.0), {"gamma": 0.5})
    assert Setup.from_texts(setup.recipe.to_text(), '{"gamma": 0.5}') == setup


def test_what_a_search_begins_with():
    method = Method(
        "mine",
        "Mine",
        None,
        {"unit": False},
        {"max_iter": 3},
        {"C": (2.0, 1.0), "gamma prior": ((0.1, "identity"),)},
    )
    assert method.n_tries == 2
    assert method.first(SMALL) == Setup(
        replace(SMALL, unit=False, C=2.0, prior="identity"), {"max_iter": 3, "gamma": 0.1}
    )


@pytest.mark.parametrize("name", ["ldml", "boost", "lmnn_matrix", "itml"])
def test_every_learner_learns(faces, name):
    method, split, images = METHODS[name], view2(faces, 0, "people"), Images(faces.X)
    setup = method.first(SMALL).changed({"n_dimensions": 10})
    try:
        W, fitted = method.map(images, split, setup, 60.0, 1)
    except RivalMissing as error:
        pytest.skip(str(error))
    assert W.shape[0] == len(faces.X)
    assert fitted.seconds > 0
    scores = lfw_rules.score(W, split, split.test, (5,))["distance"]
    assert roc_auc_score(split.test.same, scores) > 0.6


def test_ldml_from_pairs_is_what_it_is(rng):
    X, pairs = rng.normal(size=(40, 3)), rng.permutation(40).reshape(-1, 2)
    same = np.arange(20) < 10
    fitted = LDML.fit(X, pairs=(pairs, same), limit=60.0, threads=1)
    L, _, detail = learn_from_pairs(X, pairs, same)
    np.testing.assert_allclose(fitted.L @ fitted.L.T, L @ L.T, atol=1e-9)
    assert fitted.detail["loss"] == pytest.approx(detail["loss"])
    assert isinstance(fitted, Fitted)


def test_pairs_are_asked_for(rng):
    with pytest.raises(ValueError, match=r"ldml learns from pairs; give pairs=\(rows, same\)"):
        LDML.fit(rng.normal(size=(6, 2)), np.arange(6) % 2)
    assert (LDML.learns_from, ITML.learns_from) == ("pairs", "pairs")


# The choice


class Made:
    """Stands in for `compute`: how many pairs are right depends on the setup."""

    def __init__(self, worth):
        self.worth, self.setups = worth, []

    def __call__(self, method, setup, task, images, split, limit):
        self.setups.append(setup)
        share = self.worth(setup)
        if isinstance(share, str):
            return Cell(task, method.label, share, limit, "no answer")
        found = {"area": 0.5, "threshold": 0.0, "scores": []}
        rules = {
            rule: found | {"accuracy": share - less, "held_out": share - less}
            for less, rule in enumerate(("cosine", "distance", "mknn-5", "mknn-9"))
        }
        return Cell(task, method.label, "done", limit, rules=rules, n_held_out=30, n_test=10)


def chosen(tmp_path, monkeypatch, worth, search):
    write_faces(tmp_path / "data", monkeypatch)
    made = Made(worth)
    monkeypatch.setattr(lfw, "compute", made)
    plan = lfw_plan.Plan(
        SMALL,
        (replace(FROB, search=search),),
        folds=(0,),
        variants=("people",),
        dimensions=(4,),
        n_triplets=(9,),
        neighbors=(5, 9),
    )
    result = lfw.conduct(plan, Store(tmp_path / "cells"), 60.0, 1, folder=tmp_path / "data")
    return result, made


def test_one_value_after_the_other_is_chosen(tmp_path, monkeypatch):
    result, made = chosen(
        tmp_path,
        monkeypatch,
        lambda setup: setup.recipe.C - 0.1 * setup.recipe.n_neighbors,
        {"C": (1.0, 3.0, 2.0), "n_neighbors": (5, 4, 6)},
    )
    tried = [(setup.recipe.C, setup.recipe.n_neighbors) for setup in made.setups[:5]]
    assert tried == [(1.0, 5), (3.0, 5), (2.0, 5), (3.0, 4), (3.0, 6)]
    choice = result.choices["frob", "people"]
    assert (choice.setup.recipe.C, choice.setup.recipe.n_neighbors) == (3.0, 4)
    assert (choice.rule, choice.n_neighbors) == ("cosine", 5)
    assert choice.rules == ["distance", "cosine", "mknn-5"]
    assert choice.is_complete
    assert [setup.recipe.C for setup in made.setups[5:]] == [3.0, 3.0]
    place = result.table[9, 4][0]
    assert Recipe.from_text(place.task.recipe) == replace(
        choice.setup.recipe, n_triplets=9, n_dimensions=4
    )
    assert place.task.neighbors == "[5]"


def test_values_without_an_answer_are_passed_over(tmp_path, monkeypatch):
    result, _ = chosen(
        tmp_path,
        monkeypatch,
        lambda setup: 1.0 if setup.recipe.C == 1.0 else "limit",
        {"C": (1.0, 3.0, 2.0)},
    )
    assert result.choices["frob", "people"].setup.recipe.C == 1.0


def test_a_method_that_has_no_answer_at_first(tmp_path, monkeypatch):
    result, made = chosen(tmp_path, monkeypatch, lambda setup: "failed", {"C": (1.0, 3.0)})
    assert len(made.setups) == 1
    assert result.choices["frob", "people"].best is None
    assert [cell.outcome for cell in result.folds["frob", "people"]] == ["failed"]


def test_choices_count_held_out_and_test_pairs():
    found = {"area": 0.5, "threshold": 0.0, "scores": [], "accuracy": 0.5, "held_out": 0.9}
    cell = Cell(None, "", "done", 1.0, rules={"cosine": found}, n_held_out=30, n_test=10)
    assert cell.both("cosine") == pytest.approx((0.9 * 30 + 0.5 * 10) / 40)


def test_plans():
    whole, quick = lfw_plan.plan(), lfw_plan.plan(quick=True)
    assert whole.folds == tuple(range(10))
    assert whole.dimensions == (100, 200, 300, 400)
    assert whole.n_triplets == (3_000, 6_000, 9_000, 12_000, 15_000, 18_000)
    assert {method.name for method in whole.methods} >= {
        "euclid",
        "whitened",
        "ldml",
        "itml",
        "lmnn",
        "boost",
        "frob",
    }
    assert quick.quick
    assert quick.n_cells(lfw_plan.PARTS) <= 12 < 300 < whole.n_cells(lfw_plan.PARTS)


# Numbers


def made_cell(accuracy, scores, same, outcome="done"):
    found = {"accuracy": accuracy, "area": 0.5, "threshold": 0.0, "held_out": 0.5, "scores": scores}
    return Cell(None, "", outcome, 1.0, rules={"cosine": found}, same=same)


def test_means_over_folds():
    cells = [made_cell(share, [], "") for share in (0.8, 0.9, 0.85)]
    found = mean([*cells, made_cell(0.1, [], "", "limit")], "cosine")
    assert found.accuracy == pytest.approx(85.0)
    assert found.std == pytest.approx(5.0)
    assert found.error == pytest.approx(5.0 / np.sqrt(3))
    assert found.folds == 3
    assert mean(cells[:1], "cosine").error is None
    assert mean([], "cosine") is None


def test_the_mean_curve():
    cells = [
        made_cell(1.0, [4.0, 3.0, 2.0, 1.0], "1100"),
        made_cell(0.5, [4.0, 3.0, 2.0, 1.0], "1010"),
    ]
    rates = curve(cells, "cosine")
    assert rates.shape == RATES.shape
    assert rates[RATES < 0.49] == pytest.approx(0.75)
    assert rates[-1] == 1.0


def test_what_the_paper_reports():
    assert len(lfw_paper.ACCURACY) == len(lfw_paper.SECONDS) == 24
    assert max(lfw_paper.ACCURACY.values()) == (84.34, 1.23)
    assert lfw_paper.ACCURACY[9_000, 400] == (84.34, 1.23)
    assert lfw_paper.SECONDS[18_000, 400] == 7_621
    assert lfw_paper.SECONDS[3_000, 100] == 51
    assert len(lfw_paper.PUBLISHED) == 11


def test_no_files(tmp_path):
    result = lfw.conduct(lfw_plan.plan(), Store(tmp_path), 60.0, 1, folder=tmp_path)
    assert "lfw_meta.npz is not in" in result.reason
    assert result.cells == []


def test_face_pairs_are_used_as_they_are(faces):
    assert isinstance(view1(faces).train, FacePairs)
