"""The report of a model, without a browser: what it finds, and what it holds."""

import json
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from frobmetric import FrobMetric, FrobMetricCV, TripletFrobMetric, report
from frobmetric.app.pages.content import data_of

X, y = load_iris(return_X_y=True)
HOSTILE = "</script><script>document.title='owned'</script>"


@pytest.fixture(scope="module")
def page():
    wine = load_wine(as_frame=True)
    labels = wine.target_names[wine.target]
    return report(FrobMetric().fit(wine.data, labels), wine.data, labels, n_refits=3, cv=3)


@pytest.fixture(scope="module")
def html(page):
    return page.to_html()


def _data(html):
    return json.loads(re.search(r'id="data">(.*?)</script>', html, re.DOTALL)[1])


def test_the_verdict_comes_first(html, page):
    first = html.index(page.comparison["model"].percent())
    assert html.index('id="verdict"') < first < html.index('id="proof"') < html.index('id="map"')
    assert page.comparison.n_folds == 3
    assert "optimal is not useful" in html


def test_the_page_is_self_contained(html):
    assert "default-src &#39;none&#39;" in html or "default-src 'none'" in html
    markup = re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)
    assert not re.search(r'(?:src|href)="(?!#|data:)', markup)
    assert html.count("plotly.js v") == 1  # embedded once


def test_numbers_of_all_samples_are_in_the_data(html, page):
    data = _data(html)
    assert data["n"] == 178
    assert data["classes"] == ["class_0", "class_1", "class_2"]
    assert data["features"][0] == "alcohol"
    assert data["table"]["shape"] == [178, 13]
    assert data["neighbors"][0]["shape"] == [178, 8]
    assert data["spectra"][1][-1] == pytest.approx(1.0)


def test_features_that_matter_have_intervals(page, html):
    important = page.findings.importance
    assert important.n_refits == 3
    assert (important.intervals[:, 0] <= important.intervals[:, 1]).all()
    assert important.after.sum() == pytest.approx(1.0)
    assert "from the spread over 3 refits to 90 samples each, with the same options" in html


def test_confusion_counts_are_those_of_the_held_out_votes(html, page):
    comparison = page.comparison
    assert (comparison["model"].predicted != comparison.truth).sum() == comparison["model"].n_errors
    np.testing.assert_array_equal(comparison.truth, page.findings.labels[comparison.tested])
    tables = re.findall(r'class="confusion">(.*?)</table>', html, re.DOTALL)
    for table, row in zip(tables, (comparison.euclidean, comparison["model"]), strict=True):
        counts = np.array(re.findall(r"<td[^>]*>(\d+)</td>", table), dtype=int).reshape(3, 3)
        assert counts.sum() == 178
        assert counts.sum() - counts.trace() == row.n_errors


def test_to_dict_is_json(page):
    content = json.loads(json.dumps(page.to_dict()))
    assert content["comparison"]["verdict"] == page.comparison.verdict
    assert [f["after"] for f in content["features"]] == sorted(
        (f["after"] for f in content["features"]), key=abs, reverse=True
    )
    assert content["n_shown"] == 178


def test_facts_say_what_was_fitted_on_what(page):
    facts = dict(page.facts)
    assert facts["Model"] == "FrobMetric"
    assert facts["Samples"] == "178, with 13 features (float64)"
    assert len(facts["Checksum of the data"]) == 16
    assert "scikit-learn" in facts["Versions"]
    assert facts["Options"] == "all at their defaults"
    assert "n_neighbors=3" in facts["Options left at their defaults"]


def test_options_that_are_no_defaults_come_first(html):
    page = report(FrobMetric(C=50.0), X, y, n_refits=0, cv=2)
    facts = dict(page.facts)
    assert facts["Options"] == "C=50.0"
    assert "C=" not in facts["Options left at their defaults"]
    assert "<summary>at their defaults</summary>" in html
    assert "Options left" not in html


def test_cards_show_the_columns_that_matter_most(page, html):
    data, important = _data(html), page.findings.importance
    assert data["caption"]["columns"] == important.order[:4].tolist()
    name = page.findings.feature_names[important.order[0]]
    value = page.findings.spaces.X[page.sample.rows[7], important.order[0]]
    assert float(data["caption"]["texts"][0][7]) == pytest.approx(value, rel=1e-3)
    assert html.count(f'<span class="label">{name}</span>') == len(
        re.findall(r'class="tile" data-place', html)
    )


def test_names_take_the_place_of_row_numbers():
    names = [f"{HOSTILE} {i}" for i in range(150)]
    page = report(FrobMetric(), X, y, names=names, n_refits=0, cv=2)
    html = page.to_html()
    assert len(_data(html)["names"]) == 150
    assert HOSTILE not in html
    markup = re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    assert '<span class="row">row ' not in markup


def test_save_and_repr(page, tmp_path):
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert repr(page) == f"ModelReport(verdict={page.comparison.verdict!r}, n_shown=178)"
    assert "<table" in page._repr_html_()


def test_hostile_names_are_escaped():
    labels = np.array([HOSTILE, "<img src=x onerror=alert(1)>", "$\\alpha$ & {{ 7 * 7 }}"])[y]
    names = [HOSTILE, "<b>", "&amp;", "\x1b[31m"]
    options = {"feature_names": names, "title": HOSTILE, "n_refits": 0, "cv": 2}
    html = report(FrobMetric(), X, labels, **options).to_html()
    assert HOSTILE not in html
    assert "<img" not in re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)
    data = _data(html)
    assert sorted(data["classes"]) == sorted(set(labels.tolist()))
    assert data["features"] == [HOSTILE, "<b>", "&amp;", "\\x1b[31m"]


def test_test_samples_are_used_with_the_model_as_it_is():
    metric = FrobMetric().fit(X[::2], y[::2])
    options = {"X_test": X[1::2], "y_test": y[1::2], "n_refits": 0}
    page = report(metric, X[::2], y[::2], **options)
    assert page.comparison.n_folds == 0
    assert page.findings.is_tested.tolist() == [False] * 75 + [True] * 75
    assert page.findings.dimensions["n_test"] == 75
    assert "tested as it is" in page.to_html()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the learned metric does not help here")
def test_a_choice_is_kept_in_the_folds_unless_asked():
    model = FrobMetricCV(Cs=[10.0], prior=None, n_neighbors=3, n_passes=1).fit(X, y)
    page = report(model, X, y, cv=2, n_refits=0)
    assert "choose_again=True" in page.findings.notes[0]
    assert page.comparison["model"].label == "FrobMetric"
    hints = " ".join(hint.sentence() for hint in page.comparison.hints)
    assert "FrobMetricCV" not in hints  # these options were chosen by it
    assert "n_passes" not in hints


def test_a_pipeline_with_a_classifier():
    model = make_pipeline(StandardScaler(), FrobMetric(), KNeighborsClassifier(3))
    page = report(model, X, y, cv=2, n_refits=2)
    assert page.findings.importance.n_refits == 2
    assert page.findings.spaces.matrix.shape == (4, 4)
    assert "has no dual variables" in page.findings.doubts.notes[0]


@pytest.mark.slow
def test_the_best_of_a_search():
    pipeline = make_pipeline(FrobMetric(), KNeighborsClassifier(3))
    search = GridSearchCV(pipeline, {"frobmetric__C": [10.0, 100.0]}, cv=2).fit(X, y)
    page = report(search, X, y, cv=2, n_refits=0)
    assert dict(page.facts)["Model"] == "FrobMetric"
    assert dict(page.facts)["Options"] == f"C={search.best_params_['frobmetric__C']}"


@pytest.mark.slow
def test_a_kernel_is_split_over_components():
    scaled, labels = StandardScaler().fit_transform(X)[::3], y[::3]
    model = FrobMetric(kernel="rbf", n_directions=5)
    page = report(model, scaled, labels, cv=2, n_refits=2)
    assert page.findings.importance is None
    data = _data(page.to_html())
    assert "matrix" not in data
    assert data["learned"]["shape"][1] <= 16


def test_another_transformer_and_many_classes(rng):
    labels = np.arange(150) % 15
    page = report(PCA(3), X + labels[:, None], labels, cv=2, n_refits=0)
    html = page.to_html()
    assert "carries no certificate" in html
    assert "taken for" in html


def test_a_learner_from_tuples_is_tested_as_it_is():
    triplets = [[0, 1, 60], [60, 61, 110], [110, 111, 60], [0, 2, 110]]
    metric = TripletFrobMetric(preprocessor=X).fit(triplets)
    page = report(metric, X, y)
    assert "its errors are too small" in page.findings.notes[0]
    assert page.findings.dimensions == {}
    assert "cannot be fitted again" in page.to_html()


def test_pictures():
    digits = load_digits()
    rows = np.flatnonzero(digits.target < 3)[:90]
    model, options = FrobMetric(tol=0.1), {"image_shape": (8, 8), "n_refits": 0, "cv": 2}
    page = report(model, digits.data[rows], digits.target[rows], **options)
    data = _data(page.to_html())
    assert data["image"] == [8, 8]
    assert data["table"]["type"] == "u1"
    assert data["features"][9] == "pixel 1, 1"
    assert len(data["importance"][1]) == 64


def test_more_samples_than_asked_for_are_drawn():
    page = report(FrobMetric(), X, y, max_points=60, n_refits=0, cv=2)
    assert len(page.sample.rows) == 60
    wanted = page.findings.doubts.triplets.ravel()
    assert np.isin(wanted, page.sample.rows).all()
    assert "a random 60 of 150 samples" in page.to_html()


def test_features_that_are_too_many_are_left_out(page):
    draw = partial(type(page.sample).of, page.findings, 10_000, 0)
    assert draw().has_features
    sample = draw(most_bytes=10_000)
    assert not sample.has_features
    assert 50 < len(sample.rows) < 178
    html = replace(page, sample=sample).to_html()
    assert _data(html)["table"] is None
    assert "over the leading directions of the learned space" in html


@pytest.mark.parametrize("letter", ["a", "ы"])  # the second one takes six bytes in a page
def test_names_and_captions_count_as_bytes_of_a_page(page, letter):
    names = [f"{i:<10}" + 30 * letter for i in range(178)]
    findings = replace(page.findings, names=names)
    draw = type(page.sample).of
    with_names, without = (draw(each, 10_000, 0, 12_000) for each in (findings, page.findings))
    assert len(with_names.rows) < len(without.rows)
    data = data_of(findings, with_names)
    packed = [data[name] for name in ("rows", "y", "change", "table", "learned") if name in data]
    packed += [*data["votes"], *data["planes"], *data["neighbors"]]
    size = sum(len(each["data"]) for each in packed if each is not None)
    size += len(json.dumps(data["names"])) + len(json.dumps(data["caption"]["texts"]))
    assert size < 12_000 * 4 / 3


def test_sparse_samples():
    page = report(FrobMetric(), sp.csr_array(X), y, n_refits=0, cv=2)
    assert page.findings.spaces.X.shape == (150, 4)


def test_stages_are_told():
    said = []
    report(FrobMetric(), X, y, n_refits=0, cv=2, callback=said.append)
    assert said[0] == "1 of 5: fitting the model"
    assert said[-1] == "5 of 5: measuring dimensions"
    assert len(said) == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"image_shape": (3, 3)}, r"image_shape is \(3, 3\); X has 4 features"),
        ({"feature_names": ["a"]}, "feature_names has 1 names; X has 4"),
        ({"max_points": 1}, "max_points"),
        ({"n_refits": -1}, "n_refits"),
        ({"names": ["a", "b"]}, "names has 2 names for 150 samples"),
    ],
)
def test_mistakes_say_what_to_do(options, message):
    with pytest.raises(ValueError, match=message):
        report(FrobMetric(), X, y, **options)


def test_numbers_that_are_too_large_are_refused():
    with pytest.raises(ValueError, match=r"X has numbers up to 7.9e\+200, whose squares"):
        report(FrobMetric(), X * 1e200, y)


def test_values_of_a_kernel_are_refused():
    with pytest.raises(ValueError, match="takes values of a kernel"):
        report(FrobMetric(kernel="precomputed"), X @ X.T, y)
