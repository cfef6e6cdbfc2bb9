"""The experiment with faces: who is known in a split, how pairs are scored, what is chosen."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score

from drawn_faces import write_faces
from frobmetric_paper.baselines import ProgramFailedError, ProgramMissingError, TimeLimitError
from frobmetric_paper.data.pairs import FacePairs, load_faces
from frobmetric_paper.harness.run import Runner, first_parameters
from frobmetric_paper.harness.task import Store
from frobmetric_paper.lfw import experiment as lfw
from frobmetric_paper.lfw import methods as lfw_methods
from frobmetric_paper.lfw import report as lfw_report
from frobmetric_paper.lfw.experiment import Cell, Task
from frobmetric_paper.lfw.faces import (
    VARIANTS,
    Images,
    PairSplit,
    Recipe,
    divide,
    principal_axes,
    view1,
    view2,
)
from frobmetric_paper.lfw.methods import FROB, METHODS, Method, Setup, decide, score
from frobmetric_paper.lfw.report import RATES, mean_curve, rule_mean

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
        PairSplit("mine", faces.person, faces.view2, faces.view2)


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


def test_a_setup_as_text():
    setup = Setup(Recipe(prior=None, C=0.1), {"gamma": 0.5})
    assert Setup.from_texts(**setup.to_texts()) == setup
    assert setup.to_texts()["recipe"] != Setup(Recipe()).to_texts()["recipe"]


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

    class Watched(lfw_methods.MarginalizedKNN):
        def fit(self, X, y):
            fitted.append(set(np.asarray(y).tolist()))
            return super().fit(X, y)

    monkeypatch.setattr(lfw_methods, "MarginalizedKNN", Watched)
    split = view2(faces, 5, "people")
    score(rng.normal(size=(len(faces.X), 3)), split, split.test, (5,))
    assert len(fitted) == 1
    assert not fitted[0] & set(faces.person[split.test.index].ravel().tolist())


def test_scores_by_hand(faces, rng):
    W = rng.normal(size=(len(faces.X), 3)) + 5
    split = view2(faces, 1)
    found = score(W, split, split.test, (4,))
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
    scores, held_out = np.array([1.0, 3.0, 2.0, 4.0]), np.array([0.0, 1.0, 3.5, 3.6, 0.5])
    same, held_out_same = np.array([0, 0, 1, 1]) == 1, np.array([0, 0, 1, 1, 0]) == 1
    result = decide(scores, same, held_out, held_out_same)
    assert 1.0 < result["threshold"] <= 3.5
    assert result["held_out"] == 1.0
    assert result["accuracy"] == np.mean((scores >= result["threshold"]) == same)
    assert result["area"] == 0.75


# A cell


def make_task(method, setup, split, neighbors=(5,), n_parts=2):
    return Task(
        split=split.name,
        variant=split.variant,
        method=method.name,
        **setup.to_texts(),
        neighbors=str(list(neighbors)),
        n_parts=n_parts,
        threads=1,
        data="x",
    )


def test_a_cell(faces):
    split, images, setup = view2(faces, 0, "people"), Images(faces.X), Setup(SMALL)
    task = make_task(FROB, setup, split)
    known = {"task": task, "label": "", "outcome": "done", "limit": 60.0}
    cell = Cell(**known | lfw.measure(FROB, setup, task, images, split, 60.0))
    assert cell.is_certified
    assert cell.detail["relative_gap"] <= 1e-3
    assert cell.detail["n_triplets"] == 300
    assert (cell.n_held_out, cell.n_test) == (len(split.train.same), len(split.test.same))
    assert cell.same == "".join("01"[int(each)] for each in split.test.same)
    W, _ = FROB.map(images, split, setup, 60.0, 1)
    scores = score(W, split, split.test, (5,))
    for rule, result in cell.rules.items():
        assert cell.scores[rule] == pytest.approx(scores[rule], rel=1e-5)
        assert result["area"] == pytest.approx(roc_auc_score(split.test.same, scores[rule]))
        right = (np.array(cell.scores[rule]) >= result["threshold"]) == split.test.same
        assert result["accuracy"] == pytest.approx(right.mean())
    for triplet in cell.detail["examples"]:
        anchor, near, far = faces.person[triplet]
        assert anchor == near != far
        assert set(triplet) <= set(split.known)


def test_tasks_that_differ_have_other_files(faces):
    setup, split = Setup(SMALL), view1(faces)
    tasks = [
        make_task(FROB, setup, split),
        make_task(FROB, setup, split, (5, 9)),
        make_task(FROB, setup.changed({"C": 3.0}), split),
        make_task(FROB, setup.changed({"tol": 1e-4}), split),
        make_task(FROB, setup, view1(faces, "people")),
        make_task(FROB, setup, split, n_parts=3),
    ]
    assert len({task.file_name for task in tasks}) == len(tasks)


# Methods


def test_values_go_to_the_recipe_or_to_the_program():
    setup = Setup(SMALL).changed({"C": 7.0, "gamma": 0.5})
    assert setup == Setup(replace(SMALL, C=7.0), {"gamma": 0.5})
    assert setup.to_texts()["parameters"] == '{"gamma": 0.5}'


def test_the_setup_of_a_method():
    method = Method("mine", "Mine", None, {"unit": False}, {"max_iter": 3})
    assert method.setup(SMALL, {"C": 2.0, "gamma": 0.1, "prior": "identity"}) == Setup(
        replace(SMALL, unit=False, C=2.0, prior="identity"), {"max_iter": 3, "gamma": 0.1}
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ldml", "boost", "lmnn_matrix", "itml"])
def test_every_learner_learns(faces, name):
    method, split, images = METHODS[name], view2(faces, 0, "people"), Images(faces.X)
    values = first_parameters(method.search) | {"n_dimensions": 10}
    setup = method.setup(SMALL, values)
    try:
        W, fitted = method.map(images, split, setup, 60.0, 1)
    except ProgramMissingError as error:
        pytest.skip(str(error))
    assert W.shape[0] == len(faces.X)
    assert fitted.seconds > 0
    scores = score(W, split, split.test, (5,))["distance"]
    assert roc_auc_score(split.test.same, scores) > 0.6


# The choice


class Made:
    """Stands in for `measure`: how many pairs are right depends on the setup."""

    def __init__(self, worth):
        self.worth, self.setups = worth, []

    def __call__(self, method, setup, task, images, split, limit):
        self.setups.append(setup)
        share = self.worth(setup)
        if isinstance(share, Exception):
            raise share
        rules = {
            rule: {"accuracy": share - less, "held_out": share - less, "area": 0.5}
            for less, rule in enumerate(("cosine", "distance", "mknn-5", "mknn-9"))
        }
        return {"rules": rules, "n_held_out": 30, "n_test": 10, "seconds": 1.0}


def chosen(tmp_path, monkeypatch, worth, search):
    folder, made = write_faces(tmp_path / "data", monkeypatch), Made(worth)
    monkeypatch.setattr(lfw, "measure", made)
    plan = lfw.FaceExperiment(
        SMALL,
        (replace(FROB, search=search),),
        folds=(0,),
        variants=("people",),
        dimensions=(4,),
        n_triplets=(9,),
        neighbors=(5, 9),
        data=folder,
    )
    return plan.conduct(Runner(Store(tmp_path / "cells", Cell), 60.0)), made


def test_one_value_after_the_other_is_chosen(tmp_path, monkeypatch):
    results, made = chosen(
        tmp_path,
        monkeypatch,
        lambda setup: setup.recipe.C - 0.1 * setup.recipe.n_neighbors,
        {"C": (1.0, 3.0, 2.0), "n_neighbors": (5, 4, 6)},
    )
    tried = [(setup.recipe.C, setup.recipe.n_neighbors) for setup in made.setups[:5]]
    assert tried == [(1.0, 5), (3.0, 5), (2.0, 5), (3.0, 4), (3.0, 6)]
    choice = results.choice("frob", "people")
    assert (choice.setup.recipe.C, choice.setup.recipe.n_neighbors) == (3.0, 4)
    assert (choice.rule, choice.neighbors) == ("cosine", [5])
    assert choice.rules == ["distance", "cosine", "mknn-5"]
    assert choice.is_complete
    assert [setup.recipe.C for setup in made.setups[5:]] == [3.0, 3.0]
    (place,) = results.place(9, 4)
    assert place.task.setup.recipe == replace(choice.setup.recipe, n_triplets=9, n_dimensions=4)
    assert place.task.neighbors == "[5]"


def test_values_without_an_answer_are_passed_over(tmp_path, monkeypatch):
    results, _ = chosen(
        tmp_path,
        monkeypatch,
        lambda setup: 1.0 if setup.recipe.C == 1.0 else TimeLimitError(60.0),
        {"C": (1.0, 3.0, 2.0)},
    )
    assert results.choice("frob", "people").setup.recipe.C == 1.0


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(ProgramFailedError("why"), "failed"), (ProgramMissingError("none"), "missing")],
)
def test_a_method_that_has_no_answer_at_first(tmp_path, monkeypatch, error, outcome):
    results, made = chosen(tmp_path, monkeypatch, lambda setup: error, {"C": (1.0, 3.0)})
    assert len(made.setups) == 1
    assert results.choice("frob", "people").best is None
    cells = results.folds("frob", "people")
    assert [(cell.outcome, cell.remark) for cell in cells] == [(outcome, str(error))]


def made_cell(scores=(), same="", outcome="done", **result):
    known = {"task": None, "label": "", "limit": 1.0, "outcome": outcome}
    rules = {"cosine": {"accuracy": 0.5, "area": 0.5, "held_out": 0.9} | result}
    more = {"n_held_out": 30, "n_test": 10, "same": same, "scores": {"cosine": scores}}
    return Cell(**known, rules=rules, **more)


def test_choices_count_held_out_and_test_pairs():
    assert made_cell().share_right("cosine") == pytest.approx((0.9 * 30 + 0.5 * 10) / 40)


def test_plans():
    whole, quick = lfw.experiment(), lfw.experiment(quick=True)
    assert whole.folds == tuple(range(10))
    assert whole.dimensions == (100, 200, 300, 400)
    assert whole.n_triplets == (3_000, 6_000, 9_000, 12_000, 15_000, 18_000)
    names = {method.name for method in whole.methods}
    assert names >= {"euclid", "whitened", "ldml", "itml", "lmnn", "boost", "frob"}
    assert quick.quick
    assert quick.n_cells(lfw.PARTS) <= 12 < 300 < whole.n_cells(lfw.PARTS)


# Numbers


def test_means_over_folds():
    cells = [made_cell(accuracy=share) for share in (0.8, 0.9, 0.85)]
    mean = rule_mean([*cells, made_cell(accuracy=0.1, outcome="limit")], "cosine")
    assert mean.mean == pytest.approx(85.0)
    assert mean.std == pytest.approx(5.0)
    assert mean.error == pytest.approx(5.0 / np.sqrt(3))
    assert mean.n == 3
    assert rule_mean(cells[:1], "cosine").error is None
    assert rule_mean([], "cosine") is None


def test_the_mean_curve():
    scores = [4.0, 3.0, 2.0, 1.0]
    rates = mean_curve([made_cell(scores, same) for same in ("1100", "1010")], "cosine")
    assert rates.shape == RATES.shape
    assert rates[RATES < 0.49] == pytest.approx(0.75)
    assert rates[-1] == 1.0


def test_what_the_paper_reports():
    assert len(lfw_report.PAPER_ACCURACY) == len(lfw_report.PAPER_SECONDS) == 24
    assert max(lfw_report.PAPER_ACCURACY.values()) == (84.34, 1.23)
    assert lfw_report.PAPER_ACCURACY[9_000, 400] == (84.34, 1.23)
    assert lfw_report.PAPER_SECONDS[18_000, 400] == 7_621
    assert lfw_report.PAPER_SECONDS[3_000, 100] == 51
    assert len(lfw_report.PUBLISHED) == 11


def test_no_files(tmp_path):
    results = lfw.experiment(data=tmp_path).conduct(Runner(Store(tmp_path, Cell), 60.0))
    assert "lfw_meta.npz is not in" in results.left_out["lfw"]
    assert results.cells == []


def test_face_pairs_are_used_as_they_are(faces):
    assert isinstance(view1(faces).train, FacePairs)
