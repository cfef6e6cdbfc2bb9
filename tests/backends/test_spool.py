"""Values in files are the values that were stored, in this process and in another one."""

import pickle
import signal
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest

from frobmetric.backends import spool
from frobmetric.backends.spool import Spools, Stored, loaded, spools, stored


def test_values_come_back(tmp_path):
    values = [
        (np.arange(5000.0), "text", np.ones((70, 3), dtype=np.float32)),
        {"rows": np.asfortranarray(np.arange(6000.0).reshape(100, 60)), "none": np.empty(0)},
        np.arange(1000)[::2],
    ]
    kept = stored(values, Spools(tmp_path))
    assert [isinstance(value, Stored) for value in kept] == [True, True, False]
    first, second, third = map(loaded, kept)
    np.testing.assert_array_equal(first[0], values[0][0])
    np.testing.assert_array_equal(first[2], values[0][2])
    np.testing.assert_array_equal(second["rows"], values[1]["rows"])
    np.testing.assert_array_equal(third, values[2])
    assert second["none"].size == 0
    assert not first[0].flags.writeable
    assert not first[0].flags.owndata
    assert list(tmp_path.iterdir()) == []  # files without names


def test_a_copy_is_in_a_file_of_its_own(tmp_path):
    value = Spools(tmp_path).store(np.arange(3000.0))
    text = pickle.dumps(value, protocol=5)
    copy = pickle.loads(text)
    assert isinstance(copy, Stored)
    np.testing.assert_array_equal(copy.load(), np.arange(3000.0))
    code = "import pickle, sys\nprint(pickle.load(sys.stdin.buffer).load().sum())"
    run = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, check=True)
    assert float(run.stdout) == np.arange(3000.0).sum()


def test_a_small_copy_holds_nothing_of_the_message(tmp_path):
    message = []
    text = pickle.dumps(
        Spools(tmp_path).store(np.empty((0, 50))), protocol=5, buffer_callback=message.append
    )
    assert message == []
    copy = pickle.loads(text)
    assert copy.n_bytes == 0
    assert copy.load().shape == (0, 50)


def test_a_copy_finds_a_folder_where_that_of_the_first_is_missing(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    text = pickle.dumps(Spools(folder).store(np.arange(3000.0)))
    folder.rmdir()
    assert pickle.loads(text).load()[-1] == 2999


def test_a_process_has_few_files_open(tmp_path, monkeypatch):
    monkeypatch.setattr(spool, "ENOUGH", 100_000)
    many, values = Spools(tmp_path), [np.full(1000, float(i)) for i in range(50)]
    kept = [many.store(value) for value in values]
    files = {id(each._spool) for each in kept}
    assert 2 < len(files) < 10
    for each, value in zip(kept, values, strict=True):
        np.testing.assert_array_equal(each.load(), value)
    assert spools(str(tmp_path)) is spools(str(tmp_path))


def test_a_file_vanishes_with_its_last_value(tmp_path):
    many = Spools(tmp_path)
    first, second = many.store(np.ones(1000)), many.store(np.ones(2000))
    file = first._spool.file
    assert second._spool.file is file
    del first
    assert not file.closed
    del second
    assert file.closed
    assert many.store(np.ones(1000)).load().sum() == 1000


def test_values_are_whole_after_a_full_disk(tmp_path):
    many = Spools(tmp_path)
    first = many.store(np.arange(1000.0))
    with limited_files(200_000), pytest.raises(OSError, match="too large"):
        many.store([np.ones(1001), np.ones(50_000)])
    second = many.store(np.arange(2000.0))
    assert second._spool is first._spool
    for value, n in ((first, 1000), (second, 2000)):
        np.testing.assert_array_equal(value.load(), np.arange(float(n)))


@contextmanager
def limited_files(n_bytes):
    """Let files grow to so many bytes only, as if the disk were full."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


def test_without_a_spool_values_stay():
    rows = np.arange(9000.0)
    assert stored([rows], None)[0] is rows
    assert loaded(rows) is rows
