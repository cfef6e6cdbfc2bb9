"""Progress: shares that grow to one, told to whoever listens, and nothing otherwise."""

import gzip

import numpy as np
import pytest
from sklearn.datasets import load_iris

from frobmetric import FrobMetric, FrobMetricCV, compare, mine_triplets, report
from frobmetric.app.tables.reading import read_table
from frobmetric.core import threads
from frobmetric.io.preparation import Preparing
from frobmetric.manifold import neighbor_graph
from frobmetric.runtime.progress import advance, current_stage, listening, stage, working
from frobmetric.search import exact as neighbors_module
from frobmetric.search.exact import nearest
from frobmetric.search.tuning import Tuning

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
    names = list(dict.fromkeys(name for name, _ in heard))
    assert names == [
        "1 of 4: trying 3 settings",
        "2 of 4: trying 4 settings",
        "4 of 4: searching for neighbours",  # of the last fit, with what was chosen
    ]
    assert set(dict(heard).values()) == {1.0}
    assert current_stage() == ""


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_all_variants_of_a_setting_are_one_work():
    X, y = (part[::2] for part in load_iris(return_X_y=True))
    heard = []
    with listening(lambda *told: heard.append(told)):
        FrobMetricCV(units="raw", prior=None).fit(X, y)
    shares = [share for name, share in heard if name.startswith("3 of 4: trying larger C")]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)
    assert not any("1 settings" in name for name, _ in heard)


def test_a_stage_of_a_stage_has_its_number():
    heard = []
    with listening(lambda *told: heard.append(told)), stage(2, 3):
        with stage(1, 4), working("inner", 1, "steps") as work:
            work.advance(1)
        assert current_stage() == "2 of 3: "
    assert heard == [("2 of 3: inner", 0.0), ("2 of 3: inner", 1.0)]
    assert current_stage() == ""


def shares_by_name(heard):
    """The shares of each work, which must grow to one."""
    shares = {}
    for name, share in heard:
        shares.setdefault(name, []).append(share)
    for values in shares.values():
        assert values == sorted(values)
        assert values[-1] == pytest.approx(1)
    return shares


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_comparison_counts_its_fits():
    X, y = (part[::3] for part in load_iris(return_X_y=True))
    heard = []
    with listening(lambda *told: heard.append(told)):
        compare(FrobMetric(), X, y, cv=3, baselines=("raw", "lda", "nca"))
    shares = shares_by_name(heard)
    assert list(shares) == ["testing on held-out samples"]
    assert shares["testing on held-out samples"] == pytest.approx([k / 6 for k in range(7)])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_report_counts_refits_and_dimensions():
    X, y = (part[::3] for part in load_iris(return_X_y=True))
    heard, said = [], []
    with listening(lambda *told: heard.append(told)):
        report(FrobMetric().fit(X, y), X, y, n_refits=3, cv=2, callback=said.append)
    shares = {}
    for name, share in heard:
        shares.setdefault(name, []).append(share)
    assert shares["measuring features"] == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert len(shares["measuring dimensions"]) >= 4
    assert shares["testing on held-out samples"] == [0, 0.5, 1.0]
    assert [line.partition(": ")[0] for line in said] == [f"{k} of 4" for k in range(1, 5)]


@pytest.mark.parametrize("n_features", [3, 20])
def test_the_search_of_an_unfolding_tells_its_share(n_features, monkeypatch):
    monkeypatch.setattr(neighbors_module, "TUNING", Tuning(n_queries=100))
    X, heard = RNG.normal(size=(600, n_features)), []
    quiet = neighbor_graph(X, 4)
    with listening(lambda *told: heard.append(told)):
        loud = neighbor_graph(X, 4)
    np.testing.assert_array_equal(loud.edges, quiet.edges)
    assert len(shares_by_name(heard)["searching for neighbours"]) >= (6 if n_features == 3 else 1)


@pytest.mark.parametrize("name", ["large.csv", "large.csv.gz"])
def test_reading_counts_bytes_and_columns(name, tmp_path):
    pytest.importorskip("pyarrow")
    text = "a,b,c\n" + "1.5,2.25,\n3,4,5\n" * 20000
    content = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    heard = []
    with listening(lambda *told: heard.append(told)):
        table = read_table(tmp_path / name, preparation=Preparing(impute="median"))
    assert table.X.shape == (40000, 3)
    shares = shares_by_name(heard)
    assert list(shares) == ["reading", "converting columns"]
    assert len(shares["converting columns"]) == 4


def test_work_inside_of_other_work_is_silent():
    heard = []
    with listening(lambda *told: heard.append(told)), working("outer", 2, "steps") as outer:
        with working("inner", 4, "distances") as inner:
            inner.advance(4)
            advance(1, "distances")
        outer.advance(1)
        advance(1, "steps")
    assert heard == [("outer", 0.0), ("outer", 0.5), ("outer", 1.0)]
    advance(1, "steps")  # nobody listens, nothing is under way
    with working("alone", 1, "steps") as work:
        work.advance(1)
    assert len(heard) == 3


def test_an_error_ends_the_work():
    heard = []
    with listening(lambda *told: heard.append(told)):
        with pytest.raises(KeyboardInterrupt), working("first", 2, "steps"):
            raise KeyboardInterrupt
        with working("second", 2, "steps") as work:
            work.advance(1)
    assert heard == [("first", 0.0), ("second", 0.0), ("second", 0.5)]


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
