"""EncoderBridge: finds what it should, chooses with care, refuses bad input, obeys scikit-learn."""

import pickle
from operator import attrgetter

import numpy as np
import pytest
from sklearn.base import clone

from changed_maps import with_part
from frobmetric.embeddings import EncoderBridge
from frobmetric.embeddings.bridge.choice import Trial
from frobmetric.evaluation.paired import paired_recalls

OPTIONS = {"n_maps": 1, "neighbor_weight": 0, "random_state": 0}


def encoders(n=300, noise=0.05, seed=0):
    """Return vectors of the same texts by two encoders, which differ by a map and noise."""
    rng = np.random.default_rng(seed)
    meaning = rng.standard_normal((n, 6))
    new, old = (
        meaning @ rng.standard_normal((6, d)) + noise * rng.standard_normal((n, d)) for d in (8, 10)
    )
    return new, old


@pytest.fixture(scope="module")
def texts():
    return encoders()


@pytest.mark.parametrize("unit_length", [True, False])
def test_a_linear_change_is_undone(unit_length):
    new, old = encoders(noise=1e-6)
    options = OPTIONS | {"strength": 1e-6, "unit_length": unit_length}
    bridge = EncoderBridge(**options).fit(new[:200], old[:200], index=old[200:])
    expected = old / np.linalg.norm(old, axis=1, keepdims=True) if unit_length else old
    if unit_length:  # the lengths of new vectors say nothing then
        assert bridge.score(new[200:], old[200:]) > 0.5
        np.testing.assert_allclose(np.linalg.norm(bridge.transform(new), axis=1), 1)
    else:
        np.testing.assert_allclose(bridge.transform(new), expected, atol=1e-3)
        assert bridge.score(new[200:], old[200:]) > 0.95


def test_the_report_states_recall_on_pairs_kept_aside(texts):
    new, old = texts
    bridge = EncoderBridge(**OPTIONS).fit(new[:200], old[:200], index=old[200:])
    report = bridge.report_
    assert (report.n_pairs, report.n_calibration, report.n_index) == (160, 40, 100)
    mean, low, high = report.recall
    assert 0 < low < mean < high
    assert "40 held-out pairs" in str(report)
    assert report.recalls[0] == pytest.approx(mean)
    assert report.recalls[-1] == 1
    assert np.all(np.diff(report.recalls) >= -1e-12)
    assert bridge.certificate_.relative_gap < 1e-9


def test_local_maps_are_chosen_where_they_find_more(rng):
    new = rng.standard_normal((600, 4)) + 6 * np.eye(4)[rng.integers(2, size=600)]
    is_first = new[:, :1] > 3
    old = np.hstack([np.where(is_first, new, new[:, [3, 2, 1, 0]] * [1, -1, 1, -1]), new[:, :1]])
    options = {"neighbor_weight": 0, "random_state": 0, "n_neighbors": 5, "unit_length": False}
    bridge = EncoderBridge(n_maps=2, **options).fit(new, old)
    assert bridge.report_.setting.n_maps == 2
    assert bridge.bridge_.cells.n_maps == 2
    assert bridge.report_.trials[0].is_chosen
    linear = EncoderBridge(n_maps=2, **options).fit(new, new @ rng.standard_normal((4, 5)))
    assert linear.report_.setting.n_maps == 1


def test_a_protected_map_is_certified_and_stated(texts):
    new, old = encoders(noise=1.0)
    options = OPTIONS | {"neighbor_weight": 2.0, "tol": 1e-4}
    bridge = EncoderBridge(**options).fit(new, old)
    assert bridge.report_.setting.neighbor_weight == 2
    assert bridge.status_ == "optimal"
    assert 0 < bridge.certificate_.relative_gap <= 1e-4
    assert "protected" in str(bridge.report_)
    plain = EncoderBridge(**OPTIONS).fit(new, old)
    assert not np.allclose(bridge.transform(new), plain.transform(new))


def test_protection_is_chosen_only_if_it_gains(texts):
    bridge = EncoderBridge(n_maps=1, random_state=0).fit(*texts)
    (trial,) = bridge.report_.trials
    assert (
        bool(bridge.report_.setting.neighbor_weight)
        == trial.is_chosen
        == (trial.gain.interval[0] > 0)
    )


def test_trust_knows_queries_unlike_the_pairs():
    new, old = encoders(600, noise=0.3)
    bridge = EncoderBridge(**OPTIONS).fit(new[:500], old[:500])
    trust = bridge.trust(new[500:])
    assert trust.min() >= 0
    assert trust.max() < 1
    strange = 5 * np.random.default_rng(1).standard_normal((100, 8))
    assert bridge.trust(strange).mean() < trust.mean()
    mapped, is_trusted = bridge.predict_trusted(new[500:], alpha=0.2)
    np.testing.assert_array_equal(mapped, bridge.predict(new[500:]))
    np.testing.assert_array_equal(is_trusted, trust >= 0.8 - 1e-12)


def test_without_calibration_there_is_no_trust(texts):
    bridge = EncoderBridge(**OPTIONS).fit(*texts)
    bridge.set_params(calibration=0.0).fit(*texts)  # nothing is left of the fit before
    assert bridge.report_.recall is None
    assert not hasattr(bridge, "trust_")
    assert bridge.report_.n_pairs == 300
    with pytest.raises(ValueError, match="no pairs were kept"):
        bridge.trust(texts[0])


@pytest.mark.parametrize(("prior", "n_pairs"), [("rotation", 80), ("identity", 20)])
def test_priors_serve_where_pairs_are_few(prior, n_pairs):
    rng = np.random.default_rng(0)
    new = rng.standard_normal((400, 30))
    turned = np.linalg.qr(rng.standard_normal((30, 30)))[0] if prior == "rotation" else np.eye(30)
    old = new @ turned + 0.3 * rng.standard_normal((400, 30))
    recalls = [
        EncoderBridge(**OPTIONS, prior=name, calibration=0.0)
        .fit(new[:n_pairs], old[:n_pairs], index=old[300:])
        .score(new[100:300], old[100:300])
        for name in ("zero", prior)
    ]
    assert recalls[1] > recalls[0]


def test_duplicates_are_counted_and_change_nothing(texts):
    new, old = texts
    twice = [np.vstack([Z, Z[:50]]) for Z in texts]
    bridge, plain = EncoderBridge(**OPTIONS).fit(*twice), EncoderBridge(**OPTIONS).fit(new, old)
    assert bridge.report_.n_duplicates == 50
    assert "50 duplicate pairs" in str(bridge.report_)
    np.testing.assert_array_equal(bridge.transform(new), plain.transform(new))


def test_zero_vectors_have_an_answer(texts):
    new, old = (Z.copy() for Z in texts)
    new[3], old[5] = 0, 0
    bridge = EncoderBridge(**OPTIONS).fit(new, old)
    assert np.isfinite(bridge.transform(np.zeros((1, 8)))).all()
    assert np.isfinite(bridge.trust(np.zeros((1, 8)))).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, Y: (X, Y[:-1], None), "inconsistent numbers of samples"),
        (lambda X, Y: (X[:3], Y[:3], None), "minimum of 5"),
        (lambda X, Y: (X, Y, Y[:, :4]), "index has 4 features and y has 10"),
        (lambda X, Y: (X, Y, Y[:1]), "minimum of 2"),
        (lambda X, Y: (X, np.where(Y > 3, np.nan, Y), None), "y contains NaN"),
        (lambda X, Y: (np.where(X > 3, np.inf, X), Y, None), "X contains infinity"),
        (lambda X, Y: (X, Y, np.full((9, 10), np.nan)), "index contains NaN"),
        (lambda X, Y: (X, None, None), "needs the old vectors"),
        (lambda X, Y: (X[[0] * 9], Y[[0] * 9], None), "only 1 of the 9 pairs differ"),
        (lambda X, Y: (X[:0], Y[:0], None), "0 sample"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(texts, change, message):
    X, Y, index = change(*texts)
    bridge = EncoderBridge(**OPTIONS)
    with pytest.raises(ValueError, match=message):
        bridge.fit(X, Y, index=index)
    assert vars(bridge) == vars(clone(bridge))


@pytest.mark.parametrize("unit_length", [True, False])
def test_parameters_changed_after_a_fit_change_no_answer(texts, unit_length):
    new, old = texts
    bridge = EncoderBridge(**OPTIONS, unit_length=unit_length).fit(new[:200], old[:200])
    scores = bridge.transform(new), bridge.trust(new), bridge.score(new[200:], old[200:])
    bridge.set_params(unit_length=not unit_length, n_neighbors=1, good_recall=1.0, n_maps=3)
    bridge = pickle.loads(pickle.dumps(bridge))
    after = bridge.transform(new), bridge.trust(new), bridge.score(new[200:], old[200:])
    for one, other in zip(scores, after, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_failed_fit_leaves_what_was(texts):
    new, old = texts
    bridge = EncoderBridge(**OPTIONS).fit(new, old)
    before, learned = dict(vars(bridge)), bridge.map_
    with pytest.raises(ValueError, match="index has 4 features"):
        bridge.fit(new[:, :5], old, index=old[:, :4])
    assert vars(bridge) == before
    assert bridge.map_ is learned
    with pytest.raises(AttributeError, match="trust_ is read-only: it is part of map_"):
        bridge.trust_ = None


@pytest.mark.parametrize(
    ("path", "change", "message"),
    [
        (
            "index.vectors",
            lambda Z: Z[:, 1:],
            r"coefficients has shape \(9, 10\); expected \(9, 9\)",
        ),
        ("bridge.cells.mean", lambda Z: Z * np.nan, "mean must hold finite numbers"),
        ("bridge.cells.centers", lambda Z: Z[:, 1:], r"centers has shape .*; expected \(None, 8\)"),
        ("bridge.cells.scale", lambda s: -s, "cell_scale = -.* is not a positive number"),
        ("old_scale", lambda s: np.inf, "old_scale = inf is not a positive number"),
        ("index.is_unit", lambda is_unit: not is_unit, "only one of map and index"),
        ("trust.n_calibration", lambda n: -1, "more bad calibration pairs"),
        ("trust.coefficients", lambda v: v[:3], r"trust.coefficients has shape \(3,\)"),
    ],
)
def test_parts_that_do_not_fit_make_no_value(texts, path, change, message):
    learned = EncoderBridge(**OPTIONS).fit(*texts).map_
    with pytest.raises(ValueError, match=message):
        with_part(learned, path, change(attrgetter(path)(learned)))


def test_too_large_a_share_for_calibration_is_refused(texts):
    with pytest.raises(ValueError, match=r"calibration=0.99 leaves 3 of 300"):
        EncoderBridge(**OPTIONS, calibration=0.99).fit(*texts)
    with pytest.raises(ValueError, match="alpha is 1"):
        EncoderBridge(**OPTIONS).fit(*texts).predict_trusted(texts[0], alpha=1)


def test_few_pairs_lower_the_number_of_maps_and_of_neighbours(texts):
    new, old = texts
    bridge = EncoderBridge(random_state=0, neighbor_weight=0).fit(new[:8], old[:8])
    assert bridge.report_.n_neighbors == 5
    assert bridge.report_.setting.n_maps == 1


def test_a_trial_without_differences_is_not_chosen():
    trial = Trial(None, paired_recalls(np.ones(4), np.ones(4)))
    assert not trial.is_chosen
    assert trial.cells()[-1] == "+0.0 [+0.0, +0.0]"


# scikit-learn's own checks

SETTINGS = [EncoderBridge(random_state=0, n_maps=2, neighbor_weight=0, strength=0.1)]
SETTINGS += [pytest.param(EncoderBridge(unit_length=False), marks=pytest.mark.slow)]
MORE_CHECKS = ["check_set_output_transform", "check_transformer_get_feature_names_out"]
MORE_CHECKS += ["check_dataframe_column_names_consistency", "check_param_validation"]
