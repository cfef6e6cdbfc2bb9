"""Benchmark of embeddings: methods on drawn texts, resuming, tables and the small version."""

import json

import numpy as np
import pytest

from frobmetric_paper.baselines import MAP
from frobmetric_paper.bench import __main__, embedding_tables, embeddings, find
from frobmetric_paper.bench.embedding_problems import Answer, pack, unit
from frobmetric_paper.bench.embedding_tables import Measured, embeddings_page
from frobmetric_paper.bench.intent_problems import LabelProblem
from frobmetric_paper.data.embeddings import Collection, Intents, ScoredPairs
from frobmetric_paper.harness.benchmark import Options
from frobmetric_paper.harness.worker import ProgramFailedError


def draw_vectors(n, rng, y=None):
    """Return vectors of unit length, near the centre of their class if there is one."""
    centers = 0 if y is None else 1.5 * np.random.default_rng(5).normal(size=(40, 6))[y]
    return unit(centers + rng.normal(size=(n, 6)) * [1, 1, 1, 1, 3, 3])


@pytest.fixture(autouse=True)
def drawn(monkeypatch):
    """Put small drawn sets in the place of the texts."""
    rng, y = np.random.default_rng(0), np.arange(640) % 40
    intents = Intents("drawn", draw_vectors(640, rng, y), y, np.arange(640) // 40 % 2 == 0)
    topic = np.arange(90) % 10
    documents, queries = draw_vectors(90, rng, topic), draw_vectors(60, rng, np.arange(60) % 10)
    rows = [(q, d, 1 + d % 2) for q in range(60) for d in range(q % 10, 90, 10)]
    search = Collection(documents, queries, np.array(rows))
    X, pairs = draw_vectors(300, rng), rng.integers(300, size=(600, 2))
    pairs[:, 1] = np.where(pairs[:, 0] == pairs[:, 1], (pairs[:, 1] + 1) % 300, pairs[:, 1])
    score = np.clip(2.5 + 2.5 * np.einsum("ij,ij->i", X[pairs[:, 0], :4], X[pairs[:, 1], :4]), 0, 5)
    years = 2012 + np.arange(600) % 3
    scored = ScoredPairs(X, pairs, score, years, np.arange(600) % 6 > 0)
    monkeypatch.setattr(embeddings, "load_intents", lambda *args, **given: intents)
    monkeypatch.setattr(embeddings, "load_cranfield", lambda *args, **given: search)
    monkeypatch.setattr(embeddings, "load_sts", lambda *args, **given: scored)


@pytest.fixture
def in_process(monkeypatch):
    """Let baselines learn without a worker."""

    def run(self, target, arrays, values, limit, threads):
        module, _, name = target.name.rpartition(":")
        function = getattr(__import__(module, fromlist=[name]), name)
        return function(arrays | values)[0], {"seconds": 0.1}

    monkeypatch.setattr("frobmetric_paper.baselines.maps.MapBaseline.run", run)


def quick(**given):
    return Options(is_quick=True, **given)


# Methods


@pytest.mark.slow
def test_unchanged_is_measured_on_all_tasks():
    data = embeddings.measure_method(embeddings.learn_nothing, quick())
    assert list(data) == list(embeddings.QUICK_TASKS)
    measures = [set(records["wordllama"]["mean"]) for records in data.values()]
    assert measures[0] == {"1-NN", "3-NN", "nearest mean"}
    assert measures[-1] == {"nearest mean", "logistic regression"}
    assert all(0 < v < 1 for r in data.values() for v in r["wordllama"]["mean"].values())
    json.dumps(data)


def test_ridge_map_chooses_in_the_first_problem(in_process):
    problems = list(embeddings.label_problems("drawn", 5, "wordllama", quick()))
    record = embeddings.measure_task(embeddings.METHODS["ridge_map"], problems * 2, quick())
    assert record["seconds"][0] > record["seconds"][1] == 0.1
    assert record["chosen"]["side"] in ("both", "query")
    assert len(record["chosen"]["strengths"]) == 1


def test_only_queries_can_be_mapped_only_where_there_are_some(in_process):
    (problem,) = embeddings.score_problems("wordllama", quick())
    learned = embeddings.METHODS["ridge_map"](problem, None, quick())
    assert learned.chosen["side"] == "both"


def test_methods_that_do_not_fit_a_task_say_why():
    options = quick()
    data = embeddings.measure_method(embeddings.learn_logistic, options)
    assert "mean" in data["hwu64, 5 labels"]["wordllama"]
    assert data["sts"]["wordllama"] == {"reason": "a classifier of known classes"}
    nudge = embeddings.METHODS["nudge"]
    (problem,) = embeddings.score_problems("wordllama", options)
    with pytest.raises(embeddings.NotForThisTaskError, match="moves documents"):
        nudge(problem, None, options)


def test_programs_that_fail_leave_a_reason(monkeypatch):
    def fail(self, *args, **given):
        raise ProgramFailedError("out of memory")

    monkeypatch.setattr("frobmetric_paper.baselines.maps.MapBaseline.fit", fail)
    data = embeddings.measure_method(embeddings.METHODS["ridge_map"], quick())
    assert data["cranfield"]["wordllama"] == {"reason": "failed", "detail": "out of memory"}


def test_documents_by_inner_product(rng):
    queries, moved = unit(rng.normal(size=(20, 4))), rng.normal(size=(30, 4))
    answer = embeddings.as_answer(moved, MAP["nudge"].families[1])
    Q, D = answer.queries(queries), answer.documents(None)
    nearest = np.argmin(((Q[:, None] - D) ** 2).sum(axis=2), axis=1)
    np.testing.assert_array_equal(nearest, np.argmax(queries @ moved.T, axis=1))


def test_the_adapter_gets_what_the_problem_tells():
    options = quick()
    makers = (
        lambda: embeddings.label_problems("drawn", 5, "wordllama", options),
        lambda: embeddings.search_problems("wordllama", options),
        lambda: embeddings.score_problems("wordllama", options),
        lambda: embeddings.intent_problems(embeddings.PairProblem, "drawn", "wordllama", options),
    )
    names = []
    for make in makers:
        X, feedback = embeddings.told(next(iter(make())))
        assert X.shape[1] == 6
        names.append(type(feedback).__name__)
    assert names == ["ndarray", "RelevantDocuments", "GradedPairs", "SimilarPairs"]


def test_the_adapter_learns_and_reports():
    (problem,) = embeddings.label_problems("drawn", 5, "wordllama", quick())
    learned = embeddings.METHODS["adapter"](problem, None, quick())
    assert learned.detail["report"]
    assert learned.seconds > 0
    assert {"judge", "judge_probe"} == set(learned.judges)
    with pytest.raises(embeddings.NotForThisTaskError):
        embeddings.METHODS["adapter_query"](problem, None, quick())


def test_stored_vectors_are_moved_for_labels_only():
    (problem,) = embeddings.label_problems("drawn", 5, "wordllama", quick())
    learned = embeddings.METHODS["adapter_stored"](problem, None, quick())
    assert learned.detail["report"].startswith(("accuracy", "no significant gain", "embedding"))
    assert len(learned.answer.documents(problem.X)) == len(problem.X)
    (problem,) = embeddings.search_problems("wordllama", quick())
    with pytest.raises(embeddings.NotForThisTaskError):
        embeddings.METHODS["adapter_stored"](problem, None, quick())


def test_stored_records_are_not_measured_again():
    seen = []

    def method(problem, chosen, options):
        seen.append(type(problem))
        return embeddings.Learned(Answer(), 0.0)

    stored = {name: {"wordllama": {}} for name in embeddings.QUICK_TASKS[1:]}
    embeddings.measure_method(method, quick(stored=stored))
    assert seen == [LabelProblem]


# Tables


def record(rng, shift, *measures, **more):
    """Return a record of 40 units whose gain over the first one is `shift` points."""
    units = {name: pack(0.5 + rng.normal(scale=0.01, size=40) + shift / 100) for name in measures}
    return {"units": units, "mean": {}, "seconds": [1.0], "chosen": None, "said": []} | more


def make_parts():
    """Return results in which the adapter wins with labels and loses to NUDGE in search."""
    rng = np.random.default_rng(0)
    said = [{"report": "MRR 0.5 -> 0.6", "strength": 30.0, "gap": 1e-4}]
    shifts = {"unchanged": (0, 0, 0), "adapter": (5, 1, 3), "nudge": (3, 6, None)}
    shifts["ridge_map"] = (2, -4, 0.9)
    parts = {}
    for method, (label, search, transfer) in shifts.items():
        more = {"said": said} if method == "adapter" else {}
        data = {
            "hwu64, 5 labels": {"use": record(rng, label, *embedding_tables.RULES, **more)},
            "cranfield": {"use": record(rng, search, "nDCG@10", "nDCG@10 without -1", **more)},
        }
        if transfer is not None:
            measures = embedding_tables.TRANSFER
            data["hwu64, transfer"] = {"use": record(rng, transfer, *measures, **more)}
        parts[method] = data
    probe = record(rng, 4, "logistic regression")
    parts["logistic"] = {"hwu64, 5 labels": {"use": probe}, "cranfield": {"use": {"reason": "-"}}}
    chosen = {"strengths": [0.3], "side": "both"}
    parts["ridge_map"]["cranfield"]["use"]["chosen"] = chosen
    return parts


def test_cells():
    measured = Measured(make_parts())
    assert [cell.measure for cell in measured.primary] == ["1-NN", "nDCG@10"]
    cell = measured.primary[0]
    gain = cell.gain("adapter")
    assert gain.mean == pytest.approx(5, abs=1)
    assert gain.low > 0
    assert cell.gain("adapter", "nudge").mean == pytest.approx(2, abs=1)


def test_targets_and_losses():
    values = embeddings_page(make_parts())
    met = {row["target"]: (row["reached"], row["verdict"]) for row in values["targets"]}
    assert met["clearly worse than the unchanged embedding on none"] == ("0 of 2", "yes")
    assert met["clearly better on two thirds"] == ("2 of 2", "yes")
    assert met["not below NUDGE on three quarters, by the mean"] == ("1 of 2", "no")
    assert met["transfer: a gain of at least 1 point, interval without zero"] == ("2 of 2", "yes")
    (loss,) = values["losses"]
    assert (loss["task"], loss["method"]) == ("cranfield", "NUDGE")
    assert "worse" in loss["gain"]


def test_other_tables():
    values = embeddings_page(make_parts())
    rows = {row["method"]: row for row in values["summary"]}
    assert rows["ridge map"]["clearly_worse"] == 1
    assert rows["ridge map"]["not_below"] == "2 of 2"
    assert rows["EmbeddingAdapter"]["not_below"] is None
    assert "better" in values["measures"]
    assert "LR raw" in values["labels"]
    assert values["reports"][0]["strengths"] == "30"
    assert values["settings"][0]["chosen"] == "side both, strength 0.3"
    assert "1" in values["seconds"]


def test_figure(tmp_path):
    embedding_tables.draw(make_parts(), tmp_path / "gains.png")
    assert (tmp_path / "gains.png").stat().st_size > 10_000
    embedding_tables.draw({}, tmp_path / "none.png")
    assert not (tmp_path / "none.png").exists()


# The command


def test_small_version(tmp_path, monkeypatch):
    for name in (*__main__.THREAD_VARIABLES, "NUMBA_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    given = ["embeddings", "--quick", "-o", str(tmp_path), "--only", "unchanged", "logistic"]
    assert __main__.main(given) == 0
    assert list(find("embeddings").cells(tmp_path)["unchanged"].data) == list(
        embeddings.QUICK_TASKS
    )
    text = (tmp_path / "embeddings.md").read_text(encoding="utf-8")
    assert text.startswith("# Maps of embeddings")
