"""Sessions of teaching: undo and resume are exact, questions are new, and the metric is learned."""

import numpy as np
import pytest

from frobmetric import load
from frobmetric.app.teaching import TeachingSession
from frobmetric.app.teaching.questions import QuestionSpace, draw_questions, question_keys
from frobmetric.app.teaching.session import CHECK, margins
from frobmetric.app.teaching.storage import read_answers, save_session


@pytest.fixture(scope="module", name="X")
def make_items():
    return np.random.default_rng(0).normal(size=(30, 4)) * [1, 1, 3, 1]


def reply(session, X):
    """Answer as a person who sees the first column alone."""
    anchor, left, right = X[list(session.question), 0]
    session.answer(abs(anchor - left) < abs(anchor - right))


@pytest.fixture(scope="module")
def taught(X):
    session = TeachingSession(X)
    for _ in range(30):
        reply(session, X)
    return session


def test_questions_are_of_three_items_and_never_repeat(taught):
    keys = question_keys(taught.answers, 30)
    assert len(set(keys.tolist())) == 30
    assert all(len(set(answer)) == 3 for answer in taught.answers)


def test_the_metric_is_learned(taught, X):
    model = taught.model()
    test = draw_questions(np.random.default_rng(5), np.arange(30), 500)
    truth = margins(X[:, :1], test) > 0
    plain, learned = (
        np.mean((margins(points, test) > 0) == truth) for points in (X, model.transform(X))
    )
    assert learned > plain + 0.15
    assert taught.progress().agreement.n == 30 // CHECK


def test_undo_restores_exactly(X):
    session = TeachingSession(X)
    for _ in range(3):
        reply(session, X)
    before, components = session.state, session.model().components_
    reply(session, X)
    session.skip()
    assert session.state.question not in (before.question, None)
    session.undo()
    session.undo()
    assert session.state == before
    np.testing.assert_array_equal(session.model().components_, components)
    question = session.question
    reply(session, X)
    assert set(session.answers[-1]) == set(question)


def test_undo_of_nothing_does_nothing(X):
    session = TeachingSession(X)
    question = session.question
    assert not session.can_undo
    session.undo()
    assert session.question == question
    with pytest.raises(ValueError, match="no answer to learn from"):
        session.model()


def test_a_resumed_session_is_the_same(taught, X, tmp_path):
    files = tmp_path / "a.csv", tmp_path / "m.safetensors"
    save_session(taught, *files)
    resumed = TeachingSession(X, read_answers(files[0]))
    assert resumed.answers == taught.answers
    assert resumed.question == taught.question
    assert resumed.progress() == taught.progress()
    np.testing.assert_array_equal(load(files[1]).components_, taught.model().components_)
    last = resumed.answers[-1]
    resumed.undo()
    assert resumed.question == last
    assert resumed.answers == taught.answers[:-1]


def test_files_are_removed_with_the_last_answer(X, tmp_path):
    session, files = TeachingSession(X), (tmp_path / "a.csv", tmp_path / "m.safetensors")
    reply(session, X)
    save_session(session, *files)
    assert all(path.exists() for path in files)
    session.undo()
    save_session(session, *files)
    assert not any(path.exists() for path in files)
    assert len(read_answers(files[0])) == 0


def test_models_have_the_units_and_names_of_the_features(X, tmp_path):
    names = ["a", "b", "c", "d"]
    wide = X * [1e-3, 1, 1e6, 1]
    session = TeachingSession(wide, units="deviation", feature_names=names)
    plain = TeachingSession(X / X.std(axis=0))
    for _ in range(4):
        reply(session, X)
        reply(plain, X)
    assert session.answers == plain.answers
    save_session(session, tmp_path / "a.csv", tmp_path / "m.safetensors")
    model = load(tmp_path / "m.safetensors")
    assert list(model.feature_names_in_) == names
    points, expected = (
        one.components_ @ (Z - Z.mean(axis=0)).T
        for one, Z in ((model, wide), (plain.model(), X / X.std(axis=0)))
    )
    np.testing.assert_allclose(points.T @ points, expected.T @ expected, rtol=1e-6, atol=1e-8)


def test_a_model_is_a_value_of_its_own(X):
    session = TeachingSession(X, units="deviation", feature_names=list("abcd"))
    for _ in range(4):
        reply(session, X)
    state, model = session.state, session.model()
    assert (model.n_features_in_, list(model.feature_names_in_)) == (4, list("abcd"))
    assert model.units_ == "deviation"
    np.testing.assert_allclose(model.feature_weight_, 1 / X.std(axis=0))
    np.testing.assert_array_equal(model.map_.transform(X), X @ model.components_.T)
    again = session.model()  # what is learned in the coordinates stays as it is
    assert session.state == state
    assert again.map_ is not model.map_
    np.testing.assert_array_equal(again.components_, model.components_)
    assert again.certificate_ == model.certificate_


def test_equal_items_are_not_compared(X):
    few = np.repeat(X[:3], 4, axis=0)
    session = TeachingSession(few)
    for _ in range(6):
        reply(session, few)
        if session.question:
            assert len({tuple(few[i]) for i in session.question}) == 3


def test_all_questions_of_three_items_are_three(X):
    session = TeachingSession(X[:3])
    for _ in range(3):
        reply(session, X)
    assert session.question is None
    with pytest.raises(ValueError, match="all questions"):
        session.answer(True)


@pytest.mark.parametrize("rows", [[0, 1], [0, 1, 1, 0]])
def test_two_different_items_are_too_few(X, rows):
    with pytest.raises(ValueError, match="2 of them different; a question needs three"):
        TeachingSession(X[rows])


def test_answers_of_other_items_are_refused(X):
    with pytest.raises(ValueError, match="answers are of other items"):
        TeachingSession(X, [(0, 1, 30)])
    with pytest.raises(ValueError, match="do not all differ"):
        TeachingSession(X, [(0, 1, 1)])


def test_the_posterior_falls_where_answers_are(X):
    space = QuestionSpace.of(X, draw_questions(np.random.default_rng(0), np.arange(30), 100))
    asked = draw_questions(np.random.default_rng(1), np.arange(30), 5)
    rows = space.rows(asked)
    before, after = space.posterior(()), space.posterior(asked)
    variances = [np.einsum("ij,jk,ik->i", rows, one.covariance, rows) for one in (before, after)]
    assert (variances[1] < variances[0]).all()
    assert (rows @ after.mean).sum() > (rows @ before.mean).sum()
