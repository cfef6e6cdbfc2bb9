"""Progress: shares that grow to one, told to whoever listens, and nothing otherwise."""

import numpy as np
import pytest

from frobmetric import FrobMetricCV, mine_triplets
from frobmetric._neighbors import nearest
from frobmetric._progress import advance, listening, working
from frobmetric.core import threads

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 600)


@pytest.mark.parametrize("n_features", [3, 20])
def test_the_search_for_neighbours_tells_its_share(n_features):
    X = RNG.normal(size=(600, n_features)) + Y[:, None]
    quiet, heard = mine_triplets(X, Y), []
    with listening(lambda *told: heard.append(told)):
        loud = mine_triplets(X, Y)
    np.testing.assert_array_equal(loud.to_array(), quiet.to_array())
    names, shares = zip(*heard, strict=True)
    assert set(names) == {"searching for neighbours"}
    assert list(shares) == sorted(shares)
    assert shares[-1] == 1
    assert len(set(shares)) >= 3


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_choice_of_settings_tells_its_share():
    X, heard = RNG.normal(size=(60, 3)) + Y[:60, None], []
    with listening(lambda *told: heard.append(told)):
        FrobMetricCV(Cs=[1.0, 10.0], units="raw", prior=None, n_neighbors=1).fit(X, Y[:60])
    names = [name for name, _ in heard]
    assert any(name.startswith("trying") for name in names)
    last = dict(heard)
    assert set(last.values()) == {1.0}
    assert names[-1] == "searching for neighbours"  # of the last fit, with what was chosen


def test_work_inside_of_other_work_is_silent():
    heard = []
    with listening(lambda *told: heard.append(told)), working("outer", 2, "steps") as outer:
        with working("inner", 4, "distances") as inner:
            inner.advance(4)
            advance(1, "distances")
        outer.advance(1)
        advance(1, "steps")
    assert heard == [("outer", 0.5), ("outer", 1.0)]
    advance(1, "steps")  # nobody listens, nothing is under way
    with working("alone", 1, "steps") as work:
        work.advance(1)
    assert len(heard) == 2


def test_an_error_ends_the_work():
    heard = []
    with listening(lambda *told: heard.append(told)):
        with pytest.raises(KeyboardInterrupt), working("first", 2, "steps"):
            raise KeyboardInterrupt
        with working("second", 2, "steps") as work:
            work.advance(1)
    assert heard == [("second", 0.5)]


def test_ctrl_c_cancels_the_blocks_that_wait(monkeypatch):
    monkeypatch.setattr(threads, "SMALL_WORK", 0)
    monkeypatch.setattr(threads, "_n_threads", lambda: 2)
    begun = []

    def interrupted(rows):
        begun.append(rows)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        threads.map_blocks(interrupted, 1000, 1, 1e12)
    assert len(begun) <= threads.AHEAD * 2 + 1 < 1000


def test_neighbours_are_the_same_with_a_listener():
    X = RNG.normal(size=(300, 9))
    with listening(lambda name, share: None):
        found = nearest(X, X, 3)
    np.testing.assert_array_equal(found, nearest(X, X, 3))
