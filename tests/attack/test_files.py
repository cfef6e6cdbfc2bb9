"""Hostile files and full disks: one clear error that names the file, and nothing left behind."""

import subprocess
import sys
import zipfile

import numpy as np
import pytest

from frobmetric.app.tables.reading import read_table
from frobmetric.runtime.environment import EXPANDED, check_expansion, replacing

X = np.arange(12.0).reshape(6, 2)
#: A process that is killed while it writes a file.
KILLED = """
import os, signal, sys
from frobmetric.runtime.environment import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""
#: A process whose files may have 1,000 bytes.
SMALL = """
import resource, sys
import numpy as np
from frobmetric.runtime.environment import replacing
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
with replacing(sys.argv[1]) as file:
    np.save(file, np.zeros(10_000))
"""


def run(code, path):
    command = [sys.executable, "-c", code, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_drafts_of_killed_processes_are_removed_by_the_next(tmp_path):
    path = tmp_path / "out.csv"
    path.write_bytes(b"old")
    assert run(KILLED, path).returncode == -9
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 2
    with replacing(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_drafts_that_are_being_written_are_left_alone(tmp_path):
    path = tmp_path / "out.csv"
    with replacing(path) as first:
        first.write(b"first")
        with replacing(path) as second:
            second.write(b"second")
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"


def test_a_full_disk_names_the_file(tmp_path):
    path = tmp_path / "out.npy"
    path.write_bytes(b"old")
    done = run(SMALL, path)
    assert f"{path} could not be written (" in done.stderr
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_holes_are_no_data(tmp_path):
    path = tmp_path / "a.csv"
    with open(path, "wb") as file:
        file.truncate(10 * 2**30)
    with pytest.raises(ValueError, match=r"would expand to 10,737,418,240 or more; expected at mo"):
        read_table(path)
    path.write_bytes(b"a" * 1000)
    check_expansion(path, EXPANDED)
    with pytest.raises(ValueError, match="would expand"):
        check_expansion(path, EXPANDED + 1)


def test_compressed_bombs_are_refused_unread(tmp_path):
    path = tmp_path / "a.npz"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("X.npy", "w") as file,
    ):
        for _ in range(80):
            file.write(bytes(1 << 20))
    with pytest.raises(ValueError, match="would expand to 83,886,080 or more"):
        read_table(path)


def _damaged(path):
    np.savez_compressed(path, X=np.random.default_rng(0).normal(size=(50, 5)))
    content = bytearray(path.read_bytes())
    content[300:600] = bytes(300)
    path.write_bytes(content)


def _encrypted(path):
    np.savez(path, X=X)
    content = bytearray(path.read_bytes())
    content[6] |= 1
    content[content.rindex(b"PK\1\2") + 8] |= 1
    path.write_bytes(content)


def _of_unknown_compression(path):
    np.savez(path, X=X)
    content = bytearray(path.read_bytes())
    content[8] = 97
    content[content.rindex(b"PK\1\2") + 10] = 97
    path.write_bytes(content)


def _of_text(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X", "no array")


@pytest.mark.parametrize("make", [_damaged, _encrypted, _of_unknown_compression, _of_text])
def test_npz_files_that_cannot_be_read(tmp_path, make):
    make(tmp_path / "a.npz")
    with pytest.raises(ValueError, match=r"a.npz cannot be read as a NumPy file of numbers or"):
        read_table(tmp_path / "a.npz")


def test_an_npz_file_named_npy_and_a_loop_of_links(tmp_path):
    with open(tmp_path / "a.npy", "wb") as file:
        np.savez(file, X=X)
    with pytest.raises(ValueError, match=r"a.npy cannot be read as a NumPy file"):
        read_table(tmp_path / "a.npy")
    (tmp_path / "b.csv").symlink_to(tmp_path / "c.csv")
    (tmp_path / "c.csv").symlink_to(tmp_path / "b.csv")
    with pytest.raises(FileNotFoundError, match=r"b.csv is not a regular file; .*mean 'c.csv'"):
        read_table(tmp_path / "b.csv")
