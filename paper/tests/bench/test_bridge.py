"""Benchmark of the change of encoder: measures by hand, and the small version on drawn texts."""

import numpy as np
import pytest

from frobmetric_paper.bench import bridge
from frobmetric_paper.harness.benchmark import Options


def test_recalls_by_hand():
    found, true = np.array([[1, 2, 3, 4], [5, 6, 7, 8]]), np.array([[4, 9, 1, 0], [5, 6, 7, 8]])
    np.testing.assert_array_equal(bridge.recalls(found, true), [0.5, 1.0])


@pytest.fixture
def folder(tmp_path):
    """Texts of ten intents by two encoders that differ by a map and noise."""
    rng = np.random.default_rng(0)
    label = rng.integers(10, size=700)
    meaning = rng.standard_normal((10, 8))[label] + 0.5 * rng.standard_normal((700, 8))
    vectors = {
        name: (meaning @ rng.standard_normal((8, d))).astype(np.float16)
        for name, d in (("wordllama", 12), ("use", 16))
    }
    (tmp_path / "embeddings").mkdir()
    texts = np.array([f"text {i}" for i in range(700)])
    np.savez(tmp_path / "embeddings" / "hwu64.npz", texts=texts, label=label, **vectors)
    return tmp_path


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_small_version(folder, tmp_path):
    pytest.importorskip("matplotlib", reason="the page has a figure")
    options = Options(folder=folder, is_quick=True)
    part = "hwu64/use/wordllama"
    runs = bridge.BENCHMARK.parts[part](options)
    page = bridge.bridge_page({part: runs})
    assert {row["map"] for row in page["maps"]} >= {*bridge.BRIDGES, "kernel ridge"}
    assert all(row["set"] == "HWU64, USE → WordLlama" for row in page["maps"])
    recall = {label: row["recall"][0] for label, row in runs[0]["rows"].items()}
    assert recall["one map"] > 0.5
    assert runs[0]["re-embedding"]["recall"] == [1.0, 0.0]
    assert len(page["trust"]) == len(bridge.ALPHAS)
    assert all(row["mixed"] >= row["all"] for row in page["trust"])
    bridge.draw({part: runs}, tmp_path / "bridge.png")
    assert (tmp_path / "bridge.png").stat().st_size > 0
