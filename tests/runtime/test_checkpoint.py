"""Checkpoint files: whole or refused, and only for the fit that wrote them."""

import errno
import json
import os
import warnings
from hashlib import sha256

import numpy as np
import pytest

from frobmetric.runtime import checkpoint as _checkpoint
from frobmetric.runtime.checkpoint import Checkpoint, fingerprint

IDENTITY = {"X": fingerprint(np.arange(6.0)), "C": "10.0"}
ARRAYS = {
    "number": np.array(3),
    "is_searched": np.array(True),
    "u": np.linspace(0, 1, 7),
    "index": np.arange(6).reshape(2, 3),
    "none": np.zeros((0, 3)),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state.ckpt"


def _saved(path, arrays=ARRAYS):
    checkpoint = Checkpoint(path, IDENTITY)
    checkpoint.save(arrays)
    return checkpoint


def _rewrite(path, change):
    """Change the header of a file, and make its checksum right again."""
    title, _, content = path.read_bytes().split(b"\n", 2)
    header, _, body = content.partition(b"\n")
    content = json.dumps(change(json.loads(header))).encode() + b"\n" + body
    path.write_bytes(title + b"\n" + sha256(content).hexdigest().encode() + b"\n" + content)


def test_arrays_come_back_as_they_were(path):
    _saved(path)
    loaded = Checkpoint(path, IDENTITY).load()
    assert list(loaded) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert (loaded[name].dtype, loaded[name].shape) == (array.dtype, array.shape)
        assert loaded[name].flags.writeable
        np.testing.assert_array_equal(loaded[name], array)


def test_no_file_is_no_state(path):
    assert Checkpoint(path, IDENTITY).load() is None


def test_a_removed_file_is_gone(path):
    checkpoint = _saved(path)
    checkpoint.remove()
    checkpoint.remove()
    assert list(path.parent.iterdir()) == []


def test_any_flipped_byte_is_refused(path):
    _saved(path)
    content = path.read_bytes()
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        path.write_bytes(changed)
        with pytest.raises(ValueError, match=r"damaged|is no checkpoint|of format"):
            Checkpoint(path, IDENTITY).load()


def test_any_torn_file_is_refused(path):
    _saved(path)
    content = path.read_bytes()
    for size in range(len(content)):
        path.write_bytes(content[:size])
        with pytest.raises(ValueError, match=r"torn or damaged|is no checkpoint"):
            Checkpoint(path, IDENTITY).load()
    path.write_bytes(content + b"\0")
    with pytest.raises(ValueError, match="torn or damaged"):
        Checkpoint(path, IDENTITY).load()


def test_a_foreign_file_is_refused_and_left_alone(path):
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="is no checkpoint of frobmetric; give another name"):
        Checkpoint(path, IDENTITY).load()
    assert path.read_text() == "a,b\n1,2\n"


def test_another_format_is_refused_with_what_to_do(path, monkeypatch):
    monkeypatch.setattr(_checkpoint, "FORMAT", 2)
    _saved(path)
    monkeypatch.undo()
    with pytest.raises(ValueError, match="format 2; this version of frobmetric has format 1"):
        Checkpoint(path, IDENTITY).load()


def test_another_version_is_refused(path, monkeypatch):
    monkeypatch.setattr("frobmetric.__version__", "0.0.9")
    _saved(path)
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"the version of frobmetric was 0\.0\.9 and is"):
        Checkpoint(path, IDENTITY).load()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"C": "1.0"}, r"another fit: C was 10\.0 and is 1\.0\. Give the same data"),
        ({"X": fingerprint(np.arange(7.0))}, r"another fit: X differs\. .* or delete it"),
        ({"y": fingerprint(np.arange(2))}, "another fit: y differs"),
        ({"C": "1.0", "tol": "0.1"}, r"C was 10\.0 and is 1\.0; tol was none and is 0\.1"),
    ],
)
def test_the_file_of_another_fit_is_refused_with_the_difference(path, changed, message):
    _saved(path)
    with pytest.raises(ValueError, match=message):
        Checkpoint(path, IDENTITY | changed).load()
    assert path.exists()


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (["u", "<f8", [10**15]], "need 8000000000000000 bytes"),
        (["u", "<f8", [-1, -8]], "something else than arrays of numbers"),
        (["u", "|O", [1]], "something else than arrays of numbers"),
        (["u", "nonsense", [1]], "nonsense"),
        (["u"], "unpack"),
    ],
)
def test_forged_sizes_and_types_are_refused_before_anything_is_allocated(path, entry, message):
    _saved(path)
    _rewrite(path, lambda header: header | {"arrays": [entry]})
    with pytest.raises(ValueError, match=f"is damaged: .*{message}"):
        Checkpoint(path, IDENTITY).load()


def test_drafts_of_killed_processes_are_removed_and_nothing_else(path):
    _saved(path)
    others = [".state.ckpt.tmp", ".state.ckpt.12345678.tmp.bak", ".other.ckpt.12345678.tmp"]
    for name in [".state.ckpt.0123abcd.tmp", *others]:
        (path.parent / name).write_text("torn")
    assert Checkpoint(path, IDENTITY).load() is not None
    assert sorted(os.listdir(path.parent)) == sorted([path.name, *others])


def test_a_full_disk_warns_once_and_keeps_the_last_state(path, monkeypatch):
    def fail(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    checkpoint = _saved(path)
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.warns(UserWarning, match=r"state\.ckpt could not be written .*No space left"):
        checkpoint.save({"number": np.array(4)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checkpoint.save({"number": np.array(5)})
    monkeypatch.undo()
    assert os.listdir(path.parent) == [path.name]
    assert Checkpoint(path, IDENTITY).load()["number"] == 3
    checkpoint.save({"number": np.array(6)})
    assert Checkpoint(path, IDENTITY).load()["number"] == 6


def test_a_folder_that_does_not_exist_is_an_error_at_once(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist; create it"):
        Checkpoint(tmp_path / "none" / "state.ckpt", IDENTITY)


@pytest.mark.parametrize("seconds", [-1, np.nan])
def test_wrong_seconds_are_an_error(path, seconds):
    with pytest.raises(ValueError, match="checkpoint_seconds="):
        Checkpoint(path, IDENTITY, seconds)


def test_a_state_is_due_by_time_and_by_what_writing_costs(path, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(_checkpoint.time, "monotonic", lambda: clock[0])
    checkpoint = Checkpoint(path, IDENTITY, 10)

    def write_slowly(descriptor):
        clock[0] += 1.0

    clock[0] = 9.0
    assert not checkpoint.due
    clock[0] = 10.0
    assert checkpoint.due
    monkeypatch.setattr(os, "fsync", write_slowly)
    checkpoint.save(ARRAYS)
    clock[0] += 99.0
    assert not checkpoint.due
    clock[0] += 1.0
    assert checkpoint.due


def test_a_fingerprint_tells_arrays_apart(rng):
    X = rng.standard_normal((300, 129))  # several runs of words, and a rest
    known = {fingerprint(X)}
    for place in rng.integers(X.size, size=20):
        changed = X.copy()
        changed.reshape(-1)[place] = np.nextafter(changed.reshape(-1)[place], 9)
        known.add(fingerprint(changed))
    known |= {fingerprint(X[::-1]), fingerprint(X.T), fingerprint(X.reshape(-1))}
    known |= {fingerprint(X.astype(np.float32)), fingerprint(X, X), fingerprint()}
    assert len(known) >= 1 + 20 + 6 - 2  # a word may be drawn twice
    assert fingerprint(X.copy()) in known
    assert fingerprint(np.asfortranarray(X)) in known


def test_a_fingerprint_of_labels_takes_their_text():
    labels = np.array(["a", "b", 1], dtype=object)
    assert fingerprint(labels) == fingerprint(labels.copy())
    assert fingerprint(labels) != fingerprint(labels[::-1])
