"""Files that are replaced whole or not at all, and messages on files that are not there."""

import errno
import gzip
import os
import zipfile

import numpy as np
import pytest

from frobmetric.runtime.environment import check_file, replacing


class Full:
    """A file on a disk that is full."""

    def __init__(self, file):
        self.file = file

    def __getattr__(self, name):
        return getattr(self.file, name)

    def write(self, content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class FullAtClose(Full):
    """A file whose buffer does not fit on the disk."""

    def write(self, content):
        return self.file.write(content)

    def close(self):
        if not self.file.closed:
            self.file.close()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def write_npy(file):
    np.save(file, np.arange(100_000.0))


def write_npz(file):
    np.savez(file, X=np.arange(1000.0))


def write_gzip(file):
    with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
        packed.write(os.urandom(100_000))


def write_parquet(file):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"a": np.arange(1000.0)}), file)


def write_to_full_disk(write, path):
    with replacing(path) as file:
        file.file = Full(file.file)
        write(file)


def fail_with(error, path, wrap=lambda file: file):
    with replacing(path) as file:
        file.write(b"some")
        file.file = wrap(file.file)
        raise error


WRITERS = [write_npy, write_npz, write_gzip, write_parquet]


@pytest.mark.parametrize("write", WRITERS)
def test_a_full_disk_names_the_file(write, tmp_path):
    (tmp_path / "out").write_text("before")
    message = r"out could not be written \(No space left.*free some space"
    with pytest.raises(OSError, match=message):
        write_to_full_disk(write, tmp_path / "out")
    assert (tmp_path / "out").read_text() == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("write", WRITERS)
def test_all_that_is_written_is_there(write, tmp_path):
    with replacing(tmp_path / "new") as file:
        write(file)
    with open(tmp_path / "old", "wb") as file:
        write(file)
    if write is write_gzip:
        assert len(gzip.decompress((tmp_path / "new").read_bytes())) == 100_000
    elif write is write_npz:
        assert zipfile.ZipFile(tmp_path / "new").testzip() is None
    else:
        assert (tmp_path / "new").read_bytes() == (tmp_path / "old").read_bytes()


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), ValueError("X has NaN"), FileNotFoundError("in.csv")]
)
def test_an_error_of_closing_replaces_no_other_exception(error, tmp_path):
    with pytest.raises(type(error)) as raised:
        fail_with(error, tmp_path / "out", FullAtClose)
    assert raised.value is error
    assert list(tmp_path.iterdir()) == []
    message = r"out could not be written \(No space left"
    with pytest.raises(OSError, match=message), replacing(tmp_path / "out") as file:
        file.file = FullAtClose(file.file)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "error", [FileNotFoundError("in.csv does not exist"), OSError(errno.EIO, "in.csv is damaged")]
)
def test_errors_of_other_files_stay_as_they_are(error, tmp_path):
    with pytest.raises(type(error)) as raised:
        fail_with(error, tmp_path / "out")
    assert raised.value is error
    assert list(tmp_path.iterdir()) == []


def test_the_last_step_belongs_to_the_file(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr(os, "fsync", fail)
    with (
        pytest.raises(OSError, match=r"out could not be written \(Disk quota exceeded\)"),
        replacing(tmp_path / "out") as file,
    ):
        file.write(b"some")


def test_a_file_that_is_not_there_has_a_suggestion(tmp_path):
    (tmp_path / "model.safetensors").write_text("x")
    with pytest.raises(FileNotFoundError, match=r"exist; expected a model; .* mean 'model.safete"):
        check_file(tmp_path / "modle.safetensors", "a model")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(FileNotFoundError) as raised:
        check_file(tmp_path / "loop", "a model")
    assert "is not a regular file" in str(raised.value)
    assert "did you mean" not in str(raised.value)
