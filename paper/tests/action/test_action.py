"""The data of action recognition: trajectories, words, parts; and merged words of documents."""

import numpy as np
import pytest
import scipy.sparse

from frobmetric_paper.action import experiment as action
from frobmetric_paper.action import histograms
from frobmetric_paper.action.bottleneck import InformationBottleneck
from frobmetric_paper.classification.measure import Run
from frobmetric_paper.data import DatasetNotFoundError
from frobmetric_paper.data.raw import Sequences, WordCounts

SMALL = action.Size(n_words=50, n_bins=12)


def skeletons(seed=0, n_people=7, repeats=3):
    """Three actions: one arm, the other arm or a leg goes up and down."""
    rng = np.random.default_rng(seed)
    frames, y, subject = [], [], []
    for person in range(n_people):
        body = rng.normal(size=(20, 3)) * rng.uniform(0.8, 1.2)
        for act in range(3):
            for _ in range(repeats):
                sequence = body + rng.normal(scale=0.01, size=(30, 20, 3))
                limb = list(list(histograms.LIMBS.values())[act][1])
                sequence[:, limb, 1] += np.sin(np.arange(30) / 3)[:, None]
                frames.append(sequence)
                y.append(act)
                subject.append(person + 1)
    return Sequences("msr_action3d", frames, np.array(y), np.array(subject))


@pytest.fixture
def made_up(monkeypatch):
    data = skeletons()
    monkeypatch.setattr(action, "load_sequences", lambda name, folder=None: data)
    return data


def by_name(**more):
    return {column.name: column for column in action.experiment(**more).columns}


# The plan, and the paper's numbers


def test_the_columns_replace_the_papers():
    assert set(action.WORK) == set(by_name()) == set(action.SETS)
    page = action.experiment().template.read_text(encoding="utf-8")
    for (name, column), replaced in zip(by_name().items(), ("KTH", "Weizmann"), strict=True):
        note = page.partition(f"### {column.label}\n")[2].partition(f"$set_{name}")[0]
        assert f"Replaces {replaced}" in note
        assert column.refits
        assert column.n_runs == 10
    assert {column.n_runs for column in by_name(quick=True).values()} == {2}
    assert {column.n_runs for column in by_name(quick=True, runs=3).values()} == {3}


def test_numbers_of_other_data_are_not_in_the_table():
    assert action.experiment().paper == {}


# Trajectories


def test_a_limb_that_moves_is_what_is_kept(made_up):
    for frames, act in zip(made_up.frames, made_up.y, strict=True):
        limbs = histograms.trajectories(frames)
        assert {rows.shape[1] for rows in limbs} == {45}
        assert np.argmax([len(rows) for rows in limbs]) == act
        n_all = 30 * len(histograms.LIMBS) * len(histograms.STEPS)
        assert sum(map(len, limbs)) == pytest.approx(histograms.KEPT * n_all, abs=2)


def test_neither_place_nor_size_of_a_body_matters(made_up):
    frames = made_up.frames[0]
    moved = 1.7 * frames + [3.0, -1.0, 2.0]
    for one, other in zip(*map(histograms.trajectories, (frames, moved)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_frames_without_a_skeleton_are_left_out(made_up):
    frames = made_up.frames[0]
    holes = np.insert(frames, [0, 7, 30], 0.0, axis=0)
    for one, other in zip(*map(histograms.trajectories, (frames, holes)), strict=True):
        np.testing.assert_array_equal(one, other)
    assert [len(rows) for rows in histograms.trajectories(0 * frames)] == [0] * 5


# Words


def test_a_histogram_counts_every_trajectory(made_up):
    sequences = [histograms.trajectories(frames) for frames in made_up.frames]
    codebook = histograms.Codebook.learn(sequences[:20], 50, seed=0)
    counts = codebook.histograms(sequences)
    assert counts.shape == (len(sequences), 30)  # of the three limbs that move
    np.testing.assert_array_equal(counts.sum(axis=1), [sum(map(len, limbs)) for limbs in sequences])


def test_a_codebook_is_no_larger_than_its_trajectories_allow(made_up):
    sequences = [histograms.trajectories(made_up.frames[0])]
    codebook = histograms.Codebook.learn(sequences, 4000, seed=0)
    n_kept = [len(rows) for rows in sequences[0]]
    assert n_kept[0] > 0 == n_kept[4]
    assert codebook.models[0].n_clusters == n_kept[0] // 3
    assert codebook.models[4] is None


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_square_roots_have_unit_length(form):
    found = histograms.square_roots(form([[1.0, 3.0, 0.0], [0.0, 0.0, 2.0]]))
    found = found.toarray() if scipy.sparse.issparse(found) else found
    np.testing.assert_allclose(found, [[0.5, np.sqrt(0.75), 0], [0, 0, 1]])


# Parts of MSR Action3D


def test_no_person_is_in_two_parts():
    subject = np.repeat(np.arange(1, 11), 4)
    rows = action.split_subjects(subject, 5)
    assert [len(np.unique(subject[part])) for part in rows] == [4, 2, 4]
    np.testing.assert_array_equal(np.sort(np.concatenate(rows)), np.arange(40))
    other = action.split_subjects(subject, 6)
    assert not all(np.array_equal(*pair) for pair in zip(rows, other, strict=True))


def test_a_run_of_skeletons(made_up):
    parts = action.skeleton_parts(0, size=SMALL)[0]
    assert parts.X_train.shape == (9, 12)
    assert (len(parts.y_validation), len(parts.y_test)) == (18, 36)
    np.testing.assert_allclose((parts.X_test**2).sum(axis=1), 1)
    again = action.skeleton_parts(0, size=SMALL)[0]
    np.testing.assert_array_equal(parts.X_test, again.X_test)
    nearest = (parts.X_test @ parts.X_train.T).argmax(axis=1)
    assert np.mean(parts.y_train[nearest] == parts.y_test) > 0.8


def test_test_and_validation_sequences_do_not_reach_words_or_merges(made_up):
    before = action.skeleton_parts(2, size=SMALL)[0]
    rows = action.split_subjects(made_up.subject, 2)
    for row in np.concatenate(rows[1:]):
        made_up.frames[row] = 3 * made_up.frames[row][:, ::-1] ** 2
        made_up.y[row] = 0
    after = action.skeleton_parts(2, size=SMALL)[0]
    np.testing.assert_array_equal(before.X_train, after.X_train)
    assert not np.allclose(before.X_test, after.X_test)


def test_fewer_sequences_and_words_are_taken_if_asked_for(made_up):
    parts = action.skeleton_parts(0, size=action.Size(every=2, n_words=30, n_bins=50))[0]
    sizes = [len(y) for y in (parts.y_train, parts.y_validation, parts.y_test)]
    assert sum(sizes) == (len(made_up.y) + 1) // 2
    assert parts.X_train.shape[1] <= 30


def test_the_real_skeletons_small(data_folder):
    found = Run.from_splits(*by_name(quick=True, data=data_folder)["msr_action3d"].load(0))
    assert found.sizes["dimension"] == action.QUICK.n_bins
    assert found.sizes["classes"] == 20
    assert 150 < sum(found.sizes[name] for name in ("training", "validation", "test")) < 200


# Parts of UTD-MHAD


def test_a_run_of_features(data_folder):
    parts, _ = by_name(data=data_folder)["utd_mhad"].load(1)
    assert parts.X_train.shape == (482, 90)
    assert (len(parts.y_validation), len(parts.y_test)) == (121, 258)
    together = np.concatenate([parts.X_train, parts.X_validation])
    np.testing.assert_allclose(together.std(axis=0), 1)
    few, _ = by_name(data=data_folder, quick=True)["utd_mhad"].load(1)
    assert len(few.y_test) == 86


@pytest.mark.parametrize("name", action.SETS)
def test_absent_files_are_said(name, tmp_path):
    with pytest.raises(DatasetNotFoundError, match=f"{name}.*npz is not in"):
        by_name(data=tmp_path)[name].load(0)


# Merged words of documents


@pytest.fixture
def documents(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    rates = rng.gamma(0.3, 1.0, (3, 60))
    X = scipy.sparse.csr_array(rng.poisson(rates[y]).astype(float))
    data = WordCounts("r8", X[:80], y[:80], X[80:], y[80:])
    monkeypatch.setattr(histograms, "load_word_counts", lambda name, folder=None: data)
    return data


def test_the_bottleneck_keeps_most_information(documents):
    found = histograms.merged_words((20, 6))
    assert [each.n_bins for each in found] == [60, 20, 20, 20, 6, 6, 6]
    assert found[0].way == "all words"
    assert found[0].information == pytest.approx(1)
    by_way = {(each.way, each.n_bins): each for each in found[1:]}
    assert {way for way, _ in by_way} == set(histograms.WAYS)
    for n in (20, 6):
        best, *others = (by_way[way, n].information for way in histograms.WAYS)
        assert 1 > best > max(others) > 0
    assert by_way["merged by the bottleneck", 6].error < 10 < by_way["merged at random", 6].error


def test_one_fit_serves_all_numbers_of_bins(documents):
    X, y = documents.X_train, documents.y_train
    for n, labels in zip((30, 9), histograms._bottleneck(X, y, (30, 9), 0), strict=True):
        direct = InformationBottleneck(n_bins=n).fit(X, y).labels_
        np.testing.assert_array_equal(labels[:, None] == labels, direct[:, None] == direct)


def test_the_most_frequent_words_are_chosen(documents):
    (labels,) = histograms._frequent(documents.X_train, documents.y_train, (7,), 0)
    counts = documents.X_train.sum(axis=0)
    assert (labels >= 0).sum() == 7
    assert counts[labels >= 0].min() >= counts[labels < 0].max()


def test_fewer_documents_of_the_real_ones(data_folder):
    found = histograms.merged_words((300,), n_documents=150, folder=data_folder)
    assert [each.n_bins for each in found] == [6224, 300, 300, 300]
    assert found[1].information > max(found[2].information, found[3].information)
