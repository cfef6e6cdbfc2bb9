"""The command unfold: files, proof, figure, messages for mistakes."""

import inspect
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll
from sklearn.metrics import pairwise_distances

import terminals
from frobmetric.app.cli import unfold as unfold_module
from frobmetric.app.tables.reading import Table, read_table
from frobmetric.app.tables.writing import write_table
from frobmetric.manifold import MaximumVarianceUnfolding, neighborhood_quality

N = 60
X, ANGLE = make_swiss_roll(N, random_state=0)
SIDE = np.where(X[:, 1] > 10, "far", "near")
NAMES = ["x", "y", "z"]
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An own current folder with a swiss roll in it."""
    monkeypatch.chdir(tmp_path)
    write_table("roll.csv", Table(X, ANGLE, NAMES), labels_name="angle")
    return tmp_path


@pytest.fixture(scope="module")
def fitted():
    return MaximumVarianceUnfolding().fit(X)


@pytest.fixture
def recorded(monkeypatch):
    """The estimators that commands fit."""
    made = []

    class Recorded(MaximumVarianceUnfolding):
        def fit(self, X, y=None):
            made.append(self)
            return super().fit(X)

    Recorded.__init__.__signature__ = inspect.signature(MaximumVarianceUnfolding.__init__)
    monkeypatch.setattr(unfold_module, "MaximumVarianceUnfolding", Recorded)
    return made


def run(*arguments, code=0):
    return terminals.run("unfold", *arguments, code=code)


def run_json(*arguments, code=0):
    return terminals.run_json("unfold", *arguments, code=code)


def shown(text, pattern):
    return re.search(pattern, text, re.MULTILINE)


def assert_same_up_to_sign(found, expected):
    """Rounding decides the signs of the axes."""
    inner = expected @ expected.T
    np.testing.assert_allclose(found @ found.T, inner, atol=1e-3 * np.abs(inner).max())


# What is written


def test_the_embedding_is_that_of_the_estimator(fitted):
    result = run("roll.csv", "-o", "flat.csv", "--target", "angle")
    assert result.stderr == ""
    assert Path("flat.csv").read_text().startswith("y1,y2,angle\n")
    table = read_table("flat.csv", "angle")
    np.testing.assert_array_equal(table.X, fitted.embedding_)
    np.testing.assert_array_equal(table.y, ANGLE)
    assert not list(Path().glob("*.png"))


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".npy", ".npz"])
def test_all_formats_are_read_and_written(suffix, fitted):
    given, output = f"given{suffix}", f"flat{suffix}"
    write_table(given, Table(X, None if suffix == ".npy" else SIDE, NAMES), labels_name="side")
    has_names = not suffix.startswith(".np")
    run(given, "-o", output, *(("-t", "side") if has_names else ()))
    table = read_table(output, "side" if has_names else None)
    np.testing.assert_array_equal(table.X, fitted.embedding_)
    assert table.y is None if suffix == ".npy" else table.y.tolist() == SIDE.tolist()


def test_without_a_target_all_columns_are_features():
    run("roll.csv", "-o", "flat.csv", "-d", "3")
    table = read_table("flat.csv")
    assert table.feature_names == ["y1", "y2", "y3"]
    given = read_table("roll.csv").X
    expected = MaximumVarianceUnfolding(n_components=3).fit(given).embedding_
    np.testing.assert_array_equal(table.X, expected)


def test_a_target_by_number_and_no_names():
    Path("bare.csv").write_text("\n".join(Path("roll.csv").read_text().splitlines()[1:]))
    run("bare.csv", "-o", "flat.csv", "--no-header", "-t", "-1")
    np.testing.assert_array_equal(read_table("flat.csv", "label").y, ANGLE)


def test_a_label_that_has_the_name_of_an_axis_gets_another():
    write_table("given.csv", Table(X, SIDE, NAMES), labels_name="y1")
    run("given.csv", "-o", "flat.csv", "-t", "y1")
    assert Path("flat.csv").read_text().startswith("y1,y2,label\n")


def test_a_file_that_is_there_is_replaced():
    Path("flat.csv").write_text("old")
    run("roll.csv", "-o", "flat.csv")
    assert read_table("flat.csv").X.shape == (N, 2)
    assert sorted(path.name for path in Path().iterdir()) == ["flat.csv", "roll.csv"]


# What is said


def test_the_summary(fitted):
    text = run("roll.csv", "-o", "flat.csv", "-t", "angle").stdout
    proof = fitted.certificate_
    assert shown(text, rf"^samples  {N}, {N} distinct points, {len(fitted.graph_.edges)} edges$")
    interval = re.escape(f"[{proof.primal:.6g}, {proof.dual:.6g}]")
    assert shown(text, rf"^proof    largest variance in {interval}, gap \d\.\de-\d\d$")
    assert shown(text, r"^ +certified to tol 1e-05 after \d+ steps, \d+\.\d s$")
    shares = fitted.eigenvalues_ / fitted.eigenvalues_.sum()
    words = ", ".join(f"{share:.1%}" for share in shares)
    assert shown(text, rf"^rank     {len(shares)}; of the variance each axis has {words}$")
    assert shown(text, r"^written  flat\.csv$")
    assert "quality" not in text


def test_the_summary_as_json(fitted):
    answer = run_json("roll.csv", "-o", "flat.csv", "-t", "angle")
    proof = fitted.certificate_
    for name in ("primal", "dual", "relative_gap", "violation"):
        assert answer["certificate"][name] == getattr(proof, name)
    assert answer["certificate"]["violation"] == 0
    assert (answer["status"], answer["certified"], answer["tol"]) == ("optimal", True, 1e-5)
    assert (answer["n_samples"], answer["n_points"], answer["n_parts"]) == (N, N, 1)
    assert answer["n_edges"] == len(fitted.graph_.edges)
    assert sum(answer["shares"]) == pytest.approx(1)
    assert answer["rank"] == len(answer["shares"])
    assert answer["output"] == "flat.csv"
    assert answer["quality"] is answer["figure"] is answer["n_landmarks"] is None


def test_no_more_than_five_axes_are_told():
    sharp = np.random.default_rng(0).normal(size=(40, 10))
    np.save("sharp.npy", sharp)
    text = run("sharp.npy", "-o", "flat.npy", "--sigma", "30").stdout
    assert shown(text, r"^rank     \d+; of the variance each axis has ([\d.]+%, ){5}\.\.\.$")
    assert "largest objective in [" in text


def test_samples_that_coincide_are_counted_once():
    np.save("twice.npy", np.vstack([X, X[:5]]))
    text = run("twice.npy", "-o", "flat.npy").stdout
    assert f"samples  {N + 5}, {N} distinct points" in text
    flat = np.load("flat.npy")
    np.testing.assert_array_equal(flat[:5], flat[N:])


def test_quality_is_measured_on_the_result(fitted):
    words = ("roll.csv", "-o", "flat.csv", "-t", "angle", "--quality")
    found = neighborhood_quality(X, fitted.embedding_)
    answer = run_json(*words)["quality"]
    assert answer == {"r_nx_area": found.area, "q_nx": found.q_nx[5], "K": 6, "n_evaluated": N}
    text = run(*words).stdout
    assert (
        f"quality  R_NX area {found.area:.3f}, Q_NX {found.q_nx[5]:.3f} at K = 6 neighbours\n"
    ) in text


def test_quality_of_many_samples_is_that_of_some(fitted):
    quality = unfold_module._measure_quality(fitted, X, most=20)
    facts = run_json("roll.csv", "-o", "flat.csv", "-t", "angle") | {"quality": quality}
    assert "at K = 6 neighbours (on 20 samples)" in "".join(unfold_module._lines(facts, None))


# Options


def test_every_option_reaches_the_estimator(recorded):
    line = (
        "roll.csv -o flat.csv -d 1 -k 9 --sigma 1e6 --solver lowrank --constraints at_most "
        "--tol 1e-3 --max-iter 500 --n-landmarks 30 --random-state 7 --metric manhattan "
        "--extra-edges --on-disconnected separate"
    )
    run(*line.split())
    parameters = recorded[0].get_params()
    expected = {
        "n_components": 1,
        "n_neighbors": 9,
        "sigma": 1e6,
        "solver": "lowrank",
        "tol": 1e-3,
        "constraints": "at_most",
        "max_iter": 500,
        "n_landmarks": 30,
        "random_state": 7,
        "metric": "manhattan",
        "extra_edges": True,
        "on_disconnected": "separate",
    }
    assert {name: parameters[name] for name in expected} == expected


def test_the_defaults_are_the_estimators(recorded):
    run("roll.csv", "-o", "flat.csv")
    given = recorded[0].get_params() | {"random_state": None}  # a seed, so that runs agree
    assert given == MaximumVarianceUnfolding().get_params()


def test_distances_kept_exactly():
    line = np.column_stack([np.arange(40.0), np.zeros((40, 2))])
    np.save("line.npy", line)
    answer = run_json("line.npy", "-o", "flat.npy", "-d", "1", "-k", "1", "--constraints", "equal")
    assert answer["certified"]
    assert answer["certificate"]["violation"] <= 1e-5
    steps = np.abs(np.diff(np.load("flat.npy")[:, 0]))
    np.testing.assert_allclose(steps, 1, rtol=1e-4)


def test_landmarks():
    words = ("roll.csv", "-o", "flat.csv", "-t", "angle", "--n-landmarks", "30")
    answer = run_json(*words)
    assert answer["n_landmarks"] == 30
    first = read_table("flat.csv", "angle").X
    assert first.shape == (N, 2)
    assert "largest variance of the 30 landmarks in [" in run(*words).stdout
    np.testing.assert_array_equal(read_table("flat.csv", "angle").X, first)
    run(*words, "--seed", "1")
    assert not np.array_equal(read_table("flat.csv", "angle").X, first)
    assert run_json(*words[:-1], "600")["n_landmarks"] is None


def test_separate_parts():
    np.save("two.npy", np.vstack([X, X + 1000]))
    words = ("two.npy", "-o", "flat.npy", "--on-disconnected")
    result = run(*words[:3])
    assert f"has 2 components of {N} and {N} samples" in result.stderr
    assert "raise --n-neighbors (6 now), or set --on-disconnected separate" in result.stderr
    assert len(np.load("flat.npy")) == 2 * N
    assert "has 2 components" in run(*words, "error", code=3).stderr
    assert f"{2 * N} distinct points, " in run(*words, "separate").stdout
    flat = np.load("flat.npy")
    assert flat[:N, 0].max() < flat[N:, 0].min()
    assert run_json(*words, "separate")["n_parts"] == 2


# Distances


def names_of(n):
    return [f"s{i}" for i in range(n)]


def as_labelled_csv(D, corner):
    rows = (
        ",".join([name, *map(str, row)]) for name, row in zip(names_of(N), D.tolist(), strict=True)
    )
    return "\n".join([",".join([corner, *names_of(N)]), *rows])


@pytest.mark.parametrize(("corner", "column"), [("", "name"), ("city", "city")])
def test_distances_with_names_keep_the_names(corner, column, fitted):
    Path("d.csv").write_text(as_labelled_csv(pairwise_distances(X), corner))
    run("d.csv", "-o", "flat.csv", "--metric", "precomputed", "--quality", "--plot")
    table = read_table("flat.csv", column)
    assert table.y.tolist() == names_of(N)
    assert_same_up_to_sign(table.X, fitted.embedding_)


def test_distances_in_other_files(fitted):
    D = pairwise_distances(X)
    np.save("d.npy", np.where(np.tri(N, dtype=bool), D, np.nan))  # one triangle is enough
    np.savez("d.npz", X=D, y=SIDE)
    write_table("d.parquet", Table(D, SIDE, names_of(N)), labels_name="side")
    run("d.npy", "-o", "flat.npy", "--metric", "precomputed")
    assert_same_up_to_sign(np.load("flat.npy"), fitted.embedding_)
    for words in (["d.npz"], ["d.parquet", "-t", "side"]):
        run(*words, "-o", "flat.npz", "--metric", "precomputed")
        table = read_table("flat.npz")
        assert_same_up_to_sign(table.X, fitted.embedding_)
        assert table.y.tolist() == SIDE.tolist()


# The figure


@pytest.fixture
def figures(monkeypatch):
    """The figures that are saved."""
    pytest.importorskip("matplotlib", reason="figures need matplotlib")
    from matplotlib.figure import Figure

    saved, save = [], Figure.savefig

    def keep(self, *arguments, **options):
        saved.append(self)
        return save(self, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", keep)
    return saved


def test_the_figure_has_the_name_of_the_output(figures, fitted):
    result = run("roll.csv", "-o", "flat.csv", "-t", "angle", "--plot")
    assert shown(result.stdout, r"^written  flat\.csv and flat\.png$")
    content = Path("flat.png").read_bytes()
    assert content.startswith(PNG)
    assert len(content) > 10_000
    left, right, bar = figures[0].axes
    points = left.collections[0].get_offsets()
    np.testing.assert_array_equal(np.sort(points, axis=0), np.sort(fitted.embedding_, axis=0))
    assert left.get_title() == f"roll.csv: {N} samples unfolded"
    assert bar.get_ylabel() == "angle"
    assert "of the variance in 2 dimensions" in right.get_title()
    bars = [patch.get_height() / 100 for patch in right.patches]
    shares = fitted.eigenvalues_ / fitted.eigenvalues_.sum()
    assert len(bars) == 5
    np.testing.assert_allclose(bars[: len(shares)], shares)
    assert not any(bars[len(shares) :])


def test_classes_get_a_legend(figures):
    write_table("sides.csv", Table(X, SIDE, NAMES), labels_name="side")
    assert run_json("sides.csv", "-o", "flat.csv", "-t", "side", "--plot")["figure"] == "flat.png"
    legend = figures[0].axes[0].get_legend()
    assert legend.get_title().get_text() == "side"
    assert [text.get_text() for text in legend.get_texts()] == ["far", "near"]


@pytest.mark.parametrize("n_components", [1, 3])
def test_figures_of_other_dimensions(n_components, figures):
    run("roll.csv", "-o", "flat.csv", "--plot", "-d", n_components)
    assert Path("flat.png").read_bytes().startswith(PNG)
    assert len(figures[0].axes) == 2  # no colours, no bar


@pytest.mark.parametrize(
    ("name", "start"), [("a.pdf", b"%PDF"), ("b.SVG", b"<?xml"), ("c.png", PNG)]
)
def test_a_figure_of_another_name(name, start, figures):
    run("roll.csv", "-o", "flat.npy", "--plot-file", name)
    assert Path(name).read_bytes().startswith(start)
    assert sorted(path.name for path in Path().iterdir()) == sorted(["flat.npy", name, "roll.csv"])


def test_without_matplotlib_nothing_is_begun(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("roll.csv", "-o", "flat.csv", "--plot", code=2)
    assert result.stderr == (
        "error: this needs matplotlib; install it with: pip install 'frobmetric[plot]'\n"
    )
    assert not Path("flat.csv").exists()
    run("roll.csv", "-o", "flat.csv")


# What goes wrong


def test_not_converged_is_4_and_still_written():
    result = run("roll.csv", "-o", "flat.csv", "--max-iter", "2", code=4)
    assert shown(result.stdout, r"^ +NOT certified to tol 1e-05 after 2 steps")
    (line,) = result.stderr.splitlines()
    assert line.startswith("warning: ")
    assert "after 2 steps" in line
    assert line.endswith("raise --max-iter or --tol")
    assert read_table("flat.csv").X.shape == (N, 2)
    result = run("roll.csv", "-o", "flat.csv", "--max-iter", "2", "--constraints", "equal", code=4)
    assert "raise --max-iter or --tol, or set --constraints at_most" in result.stderr
    assert "and misses a squared distance by" in result.stdout


def test_an_embedding_without_an_upper_bound():
    facts = {"certificate": {"primal": 5.0, "dual": None, "violation": 0.0}, "n_landmarks": None}
    assert unfold_module._describe_proof(facts, "variance") == (
        "largest variance at least 5, no upper bound yet"
    )


def test_more_dimensions_than_there_are():
    np.save("line.npy", np.arange(40.0)[:, None] * [1, 2, 2])
    result = run("line.npy", "-o", "flat.npy", "-d", "3")
    assert shown(
        result.stderr,
        r"^warning: the unfolding has rank 1, so the last 2 of --n-components 3 columns",
    )
    assert not np.load("flat.npy")[:, 1:].any()


# Ctrl-C


@pytest.mark.parametrize("step", ["_measure_quality", "_draw"])
def test_interrupted_after_the_embedding(step, monkeypatch):
    monkeypatch.setattr(unfold_module, step, terminals.interrupt)
    result = run("roll.csv", "-o", "flat.csv", "--quality", "--plot", code=130)
    assert result.stderr == "interrupted; the embedding is in flat.csv\n"
    assert shown(result.stdout, r"^written  flat\.csv$")
    assert read_table("flat.csv").X.shape == (N, 2)
