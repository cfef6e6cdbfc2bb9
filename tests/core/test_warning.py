"""Warnings point at the line of the user."""

import threading
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from frobmetric import (
    FrobeniusSDP,
    FrobMetric,
    MaximumVarianceUnfolding,
    TripletFrobMetric,
    save,
    solve,
)
from frobmetric.core import Hinge, Triplets
from frobmetric.core.warning import warn_user
from frobmetric.learners import LMNN, NCA, RCA_Supervised

X, y = load_iris(return_X_y=True)
UNLABELED = np.where(np.arange(len(y)) % 7, y, -1)
TRIPLETS = np.arange(40)[:, None] + np.array([0, 1, 60])
PROBLEM = FrobeniusSDP(Triplets(X, TRIPLETS), Hinge(np.ones(40)))
VOID = [[0, 1, 60], [60, 61, 110], [110, 111, 60], [0, 2, 0]]
ISLANDS = np.vstack([X[:20], X[60:80] + 100])


PIPELINE = make_pipeline(StandardScaler(), FrobMetric(max_iter=1), KNeighborsClassifier())

#: A call on one line for each way by which a warning reaches the user.
CALLS = {
    "fit": lambda: FrobMetric(max_iter=1).fit(X, y),
    "fit_transform": lambda: FrobMetric(max_iter=1).fit_transform(X, y),
    "labels": lambda: FrobMetric().fit(X, UNLABELED),
    "pipeline": lambda: PIPELINE.fit(X, y),
    "folds": lambda: cross_val_score(PIPELINE, X, y, cv=2),
    "tuples": lambda: TripletFrobMetric(preprocessor=X).fit(VOID),
    "learner": lambda: LMNN(max_iter=1).fit(X, y),
    "another": lambda: NCA(max_iter=1).fit(X, y),
    "chunks": lambda: RCA_Supervised(n_chunks=90).fit(X, y),
    "old name": lambda: LMNN().fit(X, y).score_pairs(X[:2, None].repeat(2, 1)),
    "solve": lambda: solve(PROBLEM, max_iter=1),
    "unfolding": lambda: MaximumVarianceUnfolding().fit(ISLANDS),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_warning_is_at_the_line_of_the_caller(name):
    call = CALLS[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert caught
    line = call.__code__.co_firstlineno
    assert [(w.filename, w.lineno) for w in caught] == len(caught) * [(__file__, line)]


def test_a_parameter_that_a_file_cannot_hold_is_told_where_the_file_is_saved(tmp_path):
    model = LMNN(random_state=np.random.RandomState(0)).fit(X, y)
    with pytest.warns(UserWarning, match="cannot be written to a file") as caught:
        save(model, tmp_path / "model.safetensors")
    assert caught[0].filename == __file__


def test_a_line_warns_once_by_default():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            solve(PROBLEM, max_iter=1)
        solve(PROBLEM, max_iter=1)
    assert len(caught) == 2


def test_a_thread_without_a_line_of_the_user_warns_at_its_outermost_frame():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        thread = threading.Thread(target=warn_user, args=("too few samples", RuntimeWarning))
        thread.start()
        thread.join()
    assert [w.category for w in caught] == [RuntimeWarning]
    assert caught[0].filename == threading.__file__
