"""The commands for metrics: answers, exit codes, messages for mistakes."""

import pickle
import re
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from changed_maps import forge
from frobmetric import verify
from frobmetric.app.tables.reading import Table, read_table
from frobmetric.app.tables.writing import write_table
from frobmetric.embeddings import EmbeddingAdapter, EncoderBridge
from frobmetric.evaluation.compare import compare
from frobmetric.io import load, save
from frobmetric.metric import BoostMetric, FrobMetric, FrobMetricCV, TripletFrobMetric
from terminals import run, run_json

X, y = load_iris(return_X_y=True)
WINE = load_wine(return_X_y=True)
SPECIES = np.array(["setosa", "versicolor", "virginica"])[y]
NAMES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An own current folder with the iris data in it."""
    monkeypatch.chdir(tmp_path)
    write_table("iris.csv", Table(X, SPECIES, NAMES), labels_name="species")
    write_table("wine.csv", Table(*WINE, [f"f{i}" for i in range(13)]), labels_name="label")
    return tmp_path


@pytest.fixture(scope="module")
def model_bytes(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "iris.safetensors"
    data = Table(X, SPECIES, NAMES)
    save(FrobMetric(keep_dual=True).fit(data.dataframe(), data.y), path)
    return path.read_bytes()


@pytest.fixture
def model(folder, model_bytes):
    (folder / "iris.safetensors").write_bytes(model_bytes)
    return "iris.safetensors"


def test_fit_saves_a_certified_model():
    result = run("fit", "iris.csv", "--target", "species", "-o", "m.safetensors", "--cv", "0")
    assert "certified: relative gap" in result.stdout
    assert result.stderr == ""
    loaded = load("m.safetensors")
    assert loaded.status_ == "optimal"
    assert list(loaded.feature_names_in_) == NAMES
    np.testing.assert_allclose(loaded.components_, FrobMetric().fit(X, y).components_, rtol=1e-6)
    assert not hasattr(loaded, "dual_coef_")  # models are small


def test_a_model_can_keep_its_proof():
    arguments = ("fit", "iris.csv", "--target", "species", "--cv", "0")
    run(*arguments, "-o", "small")
    run(*arguments, "-o", "proven", "--keep-proof")
    assert hasattr(load("proven"), "dual_coef_")
    assert Path("small").stat().st_size < 20_000 < Path("proven").stat().st_size
    run("certify", "proven", "iris.csv", "--target", "species")
    error = run("certify", "small", "iris.csv", "--target", "species", code=4).stderr
    assert "small keeps no proof" in error
    assert "fit again with --keep-proof" in error


@pytest.mark.slow
def test_fit_chooses_the_options_and_reports():
    result = run("fit", "wine.csv", "-t", "label", "-o", "m.safetensors", "--keep-proof")
    loaded = load("m.safetensors")
    assert type(loaded) is FrobMetricCV
    chosen = FrobMetricCV(keep_dual=True).fit(*WINE)
    assert loaded.best_params_ == chosen.best_params_
    certificate, report = result.stdout.split("\n\n", 1)
    assert "certified: relative gap" in certificate
    assert report == f"{loaded.report_}\n"
    assert str(loaded.report_.setting) in certificate
    assert "evaluate" not in result.stdout
    answer = run_json("fit", "wine.csv", "-t", "label")
    assert answer["chosen"] == chosen.best_params_
    assert answer["report"]["sentences"] == loaded.report_.sentences()
    assert answer["units"] == loaded.units_
    assert answer["C"] == loaded.C_
    run("certify", "m.safetensors", "wine.csv", "-t", "label")
    tested = run("evaluate", "m.safetensors", "wine.csv", "--train", "wine.csv", "-t", "label")
    assert "178 held-out samples" in " ".join(tested.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--prior within", {"prior": "within", "units": "auto", "n_passes": "auto", "cv": 3}),
        ("--units raw --cv 2", {"units": "raw", "prior": "auto", "cv": 2}),
        # also if it is the default of FrobMetric
        ("--n-passes 2 -k 3", {"n_passes": 2, "n_neighbors": 3, "units": "auto"}),
        ("--units auto --tol 0.01", {"units": "auto", "tol": 0.01, "keep_dual": False}),
    ],
)
def test_options_that_are_given_are_not_chosen(arguments, expected):
    run("fit", "iris.csv", "-t", "species", "-o", "m", *arguments.split())
    parameters = load("m").get_params(deep=False)
    assert {name: parameters[name] for name in expected} == expected


@pytest.mark.parametrize(
    "arguments", ["--C 1000", "--cv 0", "--kernel rbf", "--n-directions 3", "--triplets t.npy"]
)
def test_nothing_is_chosen_where_it_cannot_be(arguments):
    np.save("t.npy", np.array([[0, 1, 60], [0, 2, 99]]))
    run("fit", "iris.csv", "-t", "species", "-o", "m", *arguments.split())
    assert type(load("m")) is FrobMetric


def test_a_choice_that_keeps_euclid_says_so(monkeypatch):
    monkeypatch.setattr("frobmetric.evaluation.selection.AHEAD", 5.0)
    rng = np.random.default_rng(0)
    np.savez("noise.npz", X=rng.normal(size=(90, 3)), y=np.arange(90) % 2)
    result = run("fit", "noise.npz", "--units", "raw")
    assert "samples: Euclid on raw features" in result.stdout
    assert "The learned metric does not help here; Euclid on raw features is kept." in result.stdout
    assert result.stderr.count("warning: ") == 1


def test_fit_as_json():
    answer = run_json("fit", "iris.csv", "-t", "species", "--cv", "0")
    loaded = load(answer["model"])
    assert answer["certified"] is True
    assert "report" not in answer
    assert answer["certificate"] == asdict(loaded.certificate_)
    assert (answer["n_samples"], answer["n_features"]) == (150, 4)


def test_every_option_of_a_fit_reaches_the_estimator():
    line = (
        "fit iris.csv -t species -o m --C 100 --n-neighbors 2 --n-impostors 4 --n-components "
        "3 --loss squared_hinge --n-passes 2 --tol 1e-2 --max-iter 500 --solver lbfgsb "
        "--n-jobs 1 --kernel polynomial --degree 2 --coef0 0.5 --n-directions 4 --keep-dual"
    )
    run(*line.split())
    parameters = load("m").get_params()
    expected = {
        "C": 100,
        "n_neighbors": 2,
        "n_impostors": 4,
        "n_components": 3,
        "n_passes": 2,
        "loss": "squared_hinge",
        "tol": 1e-2,
        "max_iter": 500,
        "solver": "lbfgsb",
        "n_jobs": 1,
        "kernel": "polynomial",
        "degree": 2,
        "coef0": 0.5,
        "n_directions": 4,
        "keep_dual": True,
    }
    assert {name: parameters[name] for name in expected} == expected


def test_components_by_rank():
    run("fit", "iris.csv", "-t", "species", "-o", "m", "--n-components", "rank")
    assert load("m").n_components == "rank"


def test_labels_and_triplets_together():
    triplets = np.array([[0, 1, 60], [0, 2, 99]])
    np.save("t.npy", triplets)
    answer = run_json("fit", "iris.csv", "-t", "species", "--triplets", "t.npy", "--with-labels")
    expected = FrobMetric().fit(X, y, triplets=triplets)
    assert answer["n_triplets"] == expected.n_triplets_
    np.testing.assert_array_equal(load("model.safetensors").components_, expected.components_)


def test_a_model_of_tuples_is_proved_in_python():
    metric = TripletFrobMetric(preprocessor=X, keep_dual=True).fit([[0, 1, 60], [0, 2, 99]])
    save(metric, "triplets.safetensors")
    result = run("certify", "triplets.safetensors", "iris.csv", "-t", "species", code=3)
    assert "learned from tuples" in result.stderr
    assert "certify(tuples, y)" in result.stderr


@pytest.mark.parametrize(
    "model",
    [EncoderBridge(n_maps=1, strength=1.0, calibration=0.0), EmbeddingAdapter(strength=1.0)],
    ids=lambda model: type(model).__name__,
)
def test_a_map_of_embeddings_has_nothing_to_prove_again(model):
    save(model.fit(X, y if isinstance(model, EmbeddingAdapter) else X), "map.safetensors")
    result = run("certify", "map.safetensors", "iris.csv", "-t", "species", code=3)
    assert f"is an {type(model).__name__}, whose file keeps the certificate" in result.stderr
    assert "keep-dual" not in result.stderr


def test_an_adapter_explains_a_distance_and_a_bridge_has_none():
    adapter = EmbeddingAdapter(strength=1.0).fit(X, y)
    save(adapter, "adapter.safetensors")
    answer = run_json("explain", "adapter.safetensors", "iris.csv", "-t", "species")
    assert answer["squared_distance"] == pytest.approx(adapter.explain(X[0], X[1]).total)
    save(EncoderBridge(n_maps=1, strength=1.0, calibration=0.0).fit(X, X), "bridge.safetensors")
    result = run("explain", "bridge.safetensors", "iris.csv", "-t", "species", code=3)
    assert "has no distance to explain" in result.stderr


def test_a_kernel_maps_new_samples():
    run_json("fit", "iris.csv", "-t", "species", "--kernel", "rbf", "--gamma", "0.1")
    run_json("transform", "model.safetensors", "iris.csv", "-t", "species", "-o", "mapped.npz")
    expected = FrobMetric(kernel="rbf", gamma=0.1).fit(X, y).transform(X)
    mapped = np.load("mapped.npz")["X"]  # without the directions that are zero
    np.testing.assert_allclose(mapped, expected[:, : mapped.shape[1]])
    assert not expected[:, mapped.shape[1] :].any()


@pytest.mark.parametrize("suffix", ["csv", "npy", "npz"])
def test_triplets_from_a_file(suffix):
    triplets = np.array([[0, 1, 60], [0, 2, 99]])
    if suffix == "csv":
        np.savetxt("t.csv", triplets, fmt="%d", delimiter=",", header="a,n,f", comments="")
    else:
        (np.save if suffix == "npy" else np.savez)(f"t.{suffix}", triplets)
    answer = run_json("fit", "iris.csv", "-t", "species", "--triplets", f"t.{suffix}")
    assert answer["n_triplets"] == 2
    expected = FrobMetric().fit(X, triplets=triplets).components_
    np.testing.assert_allclose(load(answer["model"]).components_, expected, atol=1e-6)


@pytest.mark.parametrize("suffix", [".parquet", ".npz", ".tsv"])
def test_other_formats(suffix):
    write_table(f"iris{suffix}", Table(X, SPECIES, NAMES), labels_name="species")
    target = () if suffix == ".npz" else ("-t", "species")
    assert run_json("fit", f"iris{suffix}", *target)["n_features"] == 4


def test_a_csv_without_names():
    Path("bare.csv").write_text("\n".join(Path("iris.csv").read_text().splitlines()[1:]))
    assert run_json("fit", "bare.csv", "--no-header", "-t", "-1")["certified"]


def test_not_converged_is_4_and_still_saved():
    options = ("--max-iter", "3", "--cv", "0", "--n-passes", "1")
    result = run("fit", "iris.csv", "-t", "species", "-o", "m", *options, code=4)
    assert "NOT certified" in result.stdout
    assert load("m").status_ == "max_iter"
    warnings = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
    assert len(warnings) == 1
    assert "raise --max-iter or --tol" in warnings[0]


def test_small_classes_are_one_plain_warning():
    line = "fit iris.csv -t species --n-neighbors 50 --n-impostors 1 --tol 0.5 --cv 0"
    result = run(*line.split())
    assert result.stderr.startswith("warning: classes with fewer than --n-neighbors + 1 = 51")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npy", ".npz"])
def test_transform(model, suffix):
    answer = run_json("transform", model, "iris.csv", "-o", f"out{suffix}", "-t", "species")
    assert (answer["n_rows"], answer["n_columns"]) == (150, 4)
    target = None if suffix.startswith(".np") else "species"
    table = read_table(f"out{suffix}", target=target)
    np.testing.assert_allclose(table.X, X @ load(model).components_.T, rtol=1e-12, atol=1e-12)
    if suffix != ".npy":
        assert table.y.tolist() == SPECIES.tolist()


def test_transform_finds_its_columns_in_any_order(model):
    order = [3, 1, 0, 2]
    shuffled = Table(X[:, order], SPECIES, [NAMES[j] for j in order])
    write_table("shuffled.csv", shuffled)
    run("transform", model, "iris.csv", "-o", "a.npy")
    run("transform", model, "shuffled.csv", "-o", "b.npy")
    np.testing.assert_array_equal(np.load("a.npy"), np.load("b.npy"))


def test_transform_of_a_nameless_table_says_so(model):
    np.save("x.npy", X)
    assert (
        "does not have valid feature names"
        in run("transform", model, "x.npy", "-o", "a.npy").stderr
    )
    np.save("x.npy", X[:, :3])
    result = run("transform", model, "x.npy", "-o", "a.npy", code=3)
    assert "has 3 columns of features; the model was learned from 4" in result.stderr


def test_a_nameless_model_takes_a_table_with_names():
    save(FrobMetric(keep_dual=True).fit(X, y), "m")
    assert run("transform", "m", "iris.csv", "-t", "species", "-o", "a.npy").stderr == ""
    assert run("certify", "m", "iris.csv", "-t", "species").stderr == ""
    write_table("numbered.csv", Table(X, y, NAMES))
    result = run("certify", "m", "numbered.csv", code=3)
    assert "has 5 columns of features; the model was learned from 4" in result.stderr
    assert "name it with --target" in result.stderr


def test_a_model_that_was_set_to_give_data_frames():
    pytest.importorskip("pandas", reason="a data frame is asked for")
    save(FrobMetric().fit(X, y).set_output(transform="pandas"), "m")
    run("transform", "m", "iris.csv", "-t", "species", "-o", "a.csv")
    assert read_table("a.csv", target="species").X.shape == (150, 4)


def noisy_file(name, n=300):
    """Write samples of which one feature of 21 tells the classes apart."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=n)
    useful = 4 * labels + rng.normal(size=n)
    np.savez(name, X=np.column_stack([useful, 2 * rng.normal(size=(n, 20))]), y=labels)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the chosen metric has|the learned metric does not help")
def test_evaluate_tests_each_sample_by_a_metric_learned_without_it():
    noisy_file("noisy.npz")
    answer = run_json("evaluate", "noisy.npz")
    assert answer["verdict"] == "helped"
    assert answer["errors"]["pvalue"] < 0.05
    assert (answer["n_test"], answer["n_train"], answer["n_folds"]) == (300, 240, 5)
    assert list(answer["rows"]) == ["raw", "scaled", "model", "rule"]
    for row in answer["rows"].values():
        low, high = row["interval"]
        assert low <= row["error"] <= high
    with np.load("noisy.npz") as data:
        options = {"baselines": ("raw", "scaled")}
        expected = compare(FrobMetricCV(), data["X"], data["y"], **options)
        plain = compare(FrobMetric(), data["X"], data["y"], **options)
    assert answer["errors"] == expected.errors.to_dict()
    fixed = run_json("evaluate", "noisy.npz", "--cv", "0")
    assert fixed["errors"] == plain.errors.to_dict()
    again = run_json("evaluate", "noisy.npz", "--cv", "0", "--seed", "1", "--folds", "3")
    assert again["n_folds"] == 3
    assert again["errors"] != fixed["errors"]
    text = run("evaluate", "noisy.npz", "--cv", "0", "--n-votes", "5").stdout
    assert "the 5 nearest neighbours" in text
    assert "FrobMetric helps here" in text
    text = run("evaluate", "noisy.npz", "--C", "1000", "-k", "5").stdout
    assert "the 3 nearest neighbours" in text


def test_evaluate_beside_other_methods():
    options = ("--baselines", "raw, scaled,lda,nca", "--folds", "2", "--cv", "0")
    answer = run_json("evaluate", "iris.csv", "-t", "species", *options)
    assert list(answer["rows"]) == ["raw", "scaled", "lda", "nca", "model"]


def test_evaluate_tests_a_third_of_many_samples():
    labels = np.arange(5010) % 2
    rows = np.random.default_rng(0).normal(size=(5010, 2)) + 3 * labels[:, None]
    np.savez("many.npz", X=rows, y=labels)
    line = "evaluate many.npz --units raw -k 1 --n-passes 1 --tol 0.5"
    answer = run_json(*line.split(), "--cv", "0")
    assert (answer["n_test"], answer["n_train"], answer["n_folds"]) == (1670, 3340, 1)
    assert run_json(*line.split(), "--cv", "0", "--folds", "2")["n_test"] == 5010


@pytest.mark.slow
def test_evaluate_says_when_it_did_not_help():
    rng = np.random.default_rng(0)
    labels = np.arange(200) % 2
    np.savez("hidden.npz", X=rng.normal(size=(200, 3)) + labels[:, None], y=labels)
    text = run("evaluate", "hidden.npz", "--n-components", "1", "--C", "1e-3").stdout
    assert "FrobMetric helps here" not in text
    assert "What to try next:\n* --" in text
    np.savez("noise.npz", X=rng.normal(size=(200, 3)), y=labels)
    result = run("evaluate", "noise.npz")
    assert "always answering the most frequent class" in result.stdout
    assert "does not help" not in result.stderr  # the verdict says it for all folds together


def test_evaluate_warns_once_for_all_folds():
    options = ("-k", "45", "--n-impostors", "1", "--cv", "0")
    distinct = X + 1e-3 * np.arange(150)[:, None]  # equal rows are one sample, in some folds fewer
    write_table("distinct.csv", Table(distinct, SPECIES, NAMES), labels_name="species")
    result = run("evaluate", "distinct.csv", "-t", "species", *options)
    assert result.stderr.count("warning: classes with fewer than --n-neighbors + 1 = 46") == 1


def test_evaluate_a_given_model(model):
    odd = np.arange(150) % 2 == 1
    write_table("train.csv", Table(X[odd], SPECIES[odd], NAMES), labels_name="species")
    write_table("test.csv", Table(X[~odd], SPECIES[~odd], NAMES), labels_name="species")
    answer = run_json("evaluate", model, "test.csv", "-t", "species", "--train", "train.csv")
    assert (answer["n_test"], answer["n_train"]) == (75, 75)
    result = run("evaluate", model, "test.csv", "-t", "species", "--train", "test.csv")
    assert "is tested on itself" in result.stderr


def test_evaluate_of_what_is_not_certified():
    options = ("--max-iter", "3", "--cv", "0")
    result = run("evaluate", "iris.csv", "-t", "species", *options, code=4)
    assert "5 of 5 fits are NOT certified as optimal" in result.stdout
    assert "--max-iter 30" in result.stdout


def test_a_fit_says_how_to_see_whether_it_helps():
    text = run("fit", "iris.csv", "-t", "species", "--cv", "0").stdout
    assert "This is about the optimisation. To see whether the metric helps:" in text
    assert text.endswith("frobmetric evaluate iris.csv --target species\n")
    np.save("t.npy", np.array([[0, 1, 60], [0, 2, 99]]))
    assert "evaluate" not in run("fit", "iris.csv", "-t", "species", "--triplets", "t.npy").stdout


def test_certify(model):
    answer = run_json("certify", model, "iris.csv", "--target", "species")
    assert answer["certified"]
    assert answer["disagreements"] == []
    assert answer["claimed"].pop("scope") == answer["recomputed"].pop("scope") == ""
    assert answer["claimed"] == pytest.approx(answer["recomputed"], rel=1e-6)
    assert "and the claim holds" in run("certify", model, "iris.csv").stdout


@pytest.mark.parametrize("options", [("--exact",), ("--proof", "proof.npz")])
def test_certify_in_exact_arithmetic(model, options):
    answer = run_json("certify", model, "iris.csv", *options)
    assert answer["certified"]
    assert answer["recomputed"]["scope"] == "verified in exact arithmetic"
    assert "proof" not in answer["recomputed"]
    for field in ("primal", "dual", "distance_bound"):
        assert answer["recomputed"][field] == pytest.approx(answer["claimed"][field], rel=1e-6)
    assert Path("proof.npz").exists() == ("--proof" in options)


def test_a_proof_in_a_file_is_verified_alone(model, capsys):
    text = run("certify", model, "iris.csv", "--proof", "proof.npz").stdout
    assert text.endswith("verify it by: python -m frobmetric.verify proof.npz\n")
    assert verify.main(["proof.npz"]) == 0
    proof = verify.read("proof.npz")
    interval = [load(model).certificate_.dual, load(model).certificate_.primal]
    np.testing.assert_allclose(proof["claim"], interval, rtol=1e-9)
    np.savez("proof.npz", **proof | {"weight": 1.001 * proof["weight"]})
    assert verify.main(["proof.npz"]) == 4
    assert "NOT proven" in capsys.readouterr().err
    np.savez("proof.npz", **proof | {"u": 1.001 * proof["u"]})
    assert verify.main(["proof.npz"]) == 4


def test_certify_in_exact_arithmetic_is_not_for_every_model():
    save(BoostMetric(keep_dual=True).fit(X, y), "boost")
    for option in (("--exact",), ("--proof", "p.npz")):
        result = run("certify", "boost", "iris.csv", "-t", "species", *option, code=3)
        assert "is a BoostMetric, which has no proof in exact arithmetic" in result.stderr
    assert not Path("p.npz").exists()


def test_certify_to_another_tolerance(model):
    assert "NOT certified" in run("certify", model, "iris.csv", "--tol", "1e-9", code=4).stdout


@pytest.mark.parametrize("field", ["primal", "dual", "gap", "relative_gap", "distance_bound"])
def test_certify_notices_a_changed_claim(model, field):
    estimator = load(model)
    claim = estimator.certificate_
    save(forge(estimator, f"certificate.{field}", getattr(claim, field) * 0.5), model)
    result = run("certify", model, "iris.csv", code=4)
    assert f"NOT certified: the file claims another {field} than" in result.stdout
    assert run_json("certify", model, "iris.csv", code=4)["disagreements"] == [field]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: forge(m, "components", m.components_ * 1.1), "the model was changed"),
        (lambda m: forge(m, "evidence.u", m.dual_coef_ * 0.5), "the model was changed"),
        (lambda m: forge(m, "evidence.u", m.dual_coef_ - 1), "components_ differ|outside"),
        (lambda m: forge(m, "recipe.C", 1e2), "is outside"),
        (lambda m: forge(m, "recipe.C", 2e3), "NOT certified"),
    ],
)
def test_certify_notices_a_changed_model(model, change, message):
    estimator = load(model)
    change(estimator)
    save(estimator, model)
    assert re.search(message, run("certify", model, "iris.csv", code=4).output)


def test_certify_notices_other_data(model):
    write_table("other.csv", Table(X * [1, 1, 1, 1.5], SPECIES, NAMES))
    assert "these are other data" in run("certify", model, "other.csv", code=4).stderr
    write_table("fewer.csv", Table(X[:50], SPECIES[:50], NAMES))
    assert "learned from row 149 too" in run("certify", model, "fewer.csv", code=4).stderr


def test_certify_needs_the_dual_variables():
    save(FrobMetric().fit(X, y), "m")
    answer = run_json("certify", "m", "iris.csv", "-t", "species", code=4)
    assert "fit again with --keep-proof" in answer["error"]


def test_explain(model):
    answer = run_json("explain", model, "iris.csv", "-t", "species", "--rows", "3, 77")
    expected = load(model).pair_distance(X[None, [3, 77]])[0] ** 2
    assert answer["squared_distance"] == pytest.approx(expected)
    assert sum(answer["parts"].values()) == pytest.approx(expected)
    assert list(answer["parts"]) == NAMES
    save(FrobMetric(C=10.0).fit(X, y), "nameless")  # the table has the names
    answer = run_json("explain", "nameless", "iris.csv", "-t", "species")
    assert list(answer["parts"]) == NAMES
    printed = run("explain", model, "iris.csv", "--by", "components").stdout
    assert printed.startswith("components ")
    assert "component 0" in printed


def test_a_loaded_model_is_no_pickle(model):
    content = Path(model).read_bytes()
    with pytest.raises((pickle.UnpicklingError, ValueError)):  # by what the first byte says
        pickle.loads(content)
    assert b"frobmetric" in content
