"""A data set in the files of Labeled Faces in the Wild, small and drawn at random."""

from dataclasses import replace
from itertools import combinations

import numpy as np

from frobmetric_paper.data import pairs as datasets_pairs

N_PEOPLE, N_EACH, N_FOLDS = 80, 5, 10
#: People in groups whose pairs do not leave them: training pairs and test pairs of View 1, folds.
TRAIN, TEST, FOLDS = (
    np.arange(30).reshape(10, 3),
    np.arange(30, 40).reshape(2, 5),
    np.arange(40, 80).reshape(10, 4),
)


def write_faces(folder, monkeypatch, seed=0, with_pictures=True):
    """Write the files to a folder, and let the loader expect their sizes."""
    rng = np.random.default_rng(seed)
    n = N_PEOPLE * N_EACH
    person = np.repeat(np.arange(N_PEOPLE), N_EACH)
    own = rng.normal(size=(N_PEOPLE, 8)) @ rng.normal(size=(8, 128))
    X = np.clip(60 + 7 * own[person] + 40 * rng.normal(size=(n, 128)), 0, 255).astype(np.uint8)
    view2 = [_pairs(group[None], rng) for group in FOLDS]
    arrays = {
        "names": np.array([f"Person_{i}" for i in range(N_PEOPLE)]),
        "person": person.astype(np.int16),
        "number": (np.arange(n) % N_EACH + 1).astype(np.int16),
        "pairs_dev_train": _pairs(TRAIN, rng),
        "pairs_dev_test": _pairs(TEST, rng),
        "pairs_view2": np.concatenate(view2),
        "fold_view2": np.repeat(np.arange(N_FOLDS), [len(fold) for fold in view2]).astype(np.uint8),
    }
    folder.mkdir(exist_ok=True)
    np.savez(folder / "lfw_meta.npz", **arrays)
    np.savez(folder / "lfw_sift3456.npz", X=X, landmarks=np.zeros((n, 1, 2)))
    if with_pictures:
        pictures = rng.integers(256, size=(n, 12), dtype=np.uint8)
        np.savez(folder / "lfw_funneled_62x47.npz", X=pictures)
    counts = tuple(len(arrays[key]) for key in ("pairs_dev_train", "pairs_dev_test", "pairs_view2"))
    small = replace(
        datasets_pairs._FACES["lfw"],
        n_images=n,
        n_people=N_PEOPLE,
        n_landmarks=1,
        n_scales=1,
        picture_shape=(4, 3),
        n_pairs=counts,
    )
    monkeypatch.setitem(datasets_pairs._FACES, "lfw", small)
    return folder


def _pairs(groups, rng):
    """As many matched as mismatched pairs, each within a group of people."""
    matched = [(a, b, 1) for who in groups.ravel() for a, b in combinations(_images(who), 2)]
    mismatched = [
        (rng.choice(_images(i)), rng.choice(_images(j)), 0)
        for who in groups
        for i, j in combinations(who, 2)
        for _ in range(10)
    ]
    mismatched = list(dict.fromkeys(mismatched))
    count = min(len(matched), len(mismatched), 15 * len(groups))
    drawn = [np.array(rows)[rng.permutation(len(rows))[:count]] for rows in (matched, mismatched)]
    return np.concatenate(drawn).astype(np.int32)


def _images(who):
    return range(N_EACH * who, N_EACH * (who + 1))
