"""Vectors on disk: whole or not there, also with two builders and a torn file."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from agent.catalogue.errors import IndexMissing
from agent.catalogue.vector_file import read_manifest, read_vectors, write_vectors

IDS = ["bag-001", "bag-002"]
VECTORS = np.array([[1.0, 0.0], [0.6, 0.8]], dtype=np.float32)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    directory = tmp_path / "new" / "catalogue"
    write_vectors(directory, "abc", "model", IDS, VECTORS)
    assert np.array_equal(read_vectors(directory, "abc", IDS), VECTORS)
    assert sorted(path.name for path in directory.iterdir()) == ["manifest.json", "vectors-abc.npz"]


def test_nothing_built(tmp_path: Path) -> None:
    with pytest.raises(IndexMissing, match="build-catalogue"):
        read_vectors(tmp_path / "none", "abc", IDS)


def test_built_from_something_else(tmp_path: Path) -> None:
    write_vectors(tmp_path, "abc", "model", IDS, VECTORS)
    with pytest.raises(IndexMissing, match="other products or another model"):
        read_vectors(tmp_path, "def", IDS)
    with pytest.raises(IndexMissing):
        read_vectors(tmp_path, "abc", IDS[::-1])


def test_a_torn_vector_file_and_a_torn_manifest_count_as_missing(tmp_path: Path) -> None:
    write_vectors(tmp_path, "abc", "model", IDS, VECTORS)
    (tmp_path / "vectors-abc.npz").write_bytes(b"PK\x03\x04torn")
    with pytest.raises(IndexMissing):
        read_vectors(tmp_path, "abc", IDS)
    (tmp_path / "manifest.json").write_text("{")
    assert read_manifest(tmp_path) is None


def test_a_missing_vector_file_counts_as_missing(tmp_path: Path) -> None:
    write_vectors(tmp_path, "abc", "model", IDS, VECTORS)
    (tmp_path / "vectors-abc.npz").unlink()
    with pytest.raises(IndexMissing):
        read_vectors(tmp_path, "abc", IDS)


def test_builders_at_once_and_a_reader_among_them(tmp_path: Path) -> None:
    write_vectors(tmp_path, "abc", "model", IDS, VECTORS)

    def build(_: int) -> None:
        write_vectors(tmp_path, "abc", "model", IDS, VECTORS)

    def read(_: int) -> bool:
        return np.array_equal(read_vectors(tmp_path, "abc", IDS), VECTORS)

    with ThreadPoolExecutor(8) as threads:
        builds = [threads.submit(build, number) for number in range(20)]
        reads = [threads.submit(read, number) for number in range(40)]
        assert all(done.result() for done in reads)
        assert all(done.result() is None for done in builds)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["manifest.json", "vectors-abc.npz"]


def test_a_failed_write_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_vectors(tmp_path, "abc", "model", IDS, VECTORS)

    def full_disk(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("agent.catalogue.vector_file.os.fsync", full_disk)
    with pytest.raises(OSError, match="no space"):
        write_vectors(tmp_path, "def", "model", IDS, VECTORS)
    assert np.array_equal(read_vectors(tmp_path, "abc", IDS), VECTORS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["manifest.json", "vectors-abc.npz"]
