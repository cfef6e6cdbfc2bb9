"""Maps of embeddings, learned from labels, pairs, scores and relevant documents, beside rivals.

A part is a method, so that one can be measured again without the others. Its data are, for each
task and encoder, the judgements of each unit (see `embedding_problems`), the seconds of each
problem and what was chosen. Rivals choose their settings on folds of the training part of a task's
first problem, and keep them for the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from frobmetric.embeddings import (
    EmbeddingAdapter,
    GradedPairs,
    Labels,
    RelevantDocuments,
    SimilarPairs,
    move_stored,
)

from ..baselines import MAP
from ..data.embeddings import ENCODERS, load_cranfield, load_intents, load_sts
from ..harness.benchmark import Benchmark, Options
from ..harness.timing import timed
from ..harness.worker import ProgramError
from .embedding_problems import Answer, ScoreProblem, SearchProblem, pack, unit
from .embedding_tables import draw, embeddings_page
from .intent_problems import LabelProblem, PairProblem, TransferProblem, draw_labels

#: Labels of each class, None for all, and how often they are drawn.
DRAWS = {5: 5, 10: 5, 50: 3, None: 1}
#: Folds of queries and of intents; two of the five folds of intents are new at a time.
N_FOLDS, NEW_FOLDS = 5, ((0, 1), (2, 3), (4, 0))
#: Sizes of the small version: texts of an intent, intents, and draws.
QUICK_TEXTS, QUICK_INTENTS = 8, 24


# Tasks: (encoder, options) -> problems


def intents(name, encoder, options):
    """Return texts with intents; some of them for the small version."""
    data = load_intents(name, encoder, folder=options.folder)
    rows = np.arange(len(data.y))
    if options.is_quick:
        rows = rows[data.y < QUICK_INTENTS]
        rng, kinds = np.random.default_rng(0), 2 * data.y + data.is_test
        rows = np.sort(draw_labels(kinds, rows, QUICK_TEXTS, rng))
    return data.X[rows], data.y[rows], data.is_test[rows]


def label_problems(name, n_labels, encoder, options):
    """Yield a problem for each draw of labels, with the same test texts."""
    X, y, is_test = intents(name, encoder, options)
    for seed in range(options.choose(DRAWS[n_labels], 1)):
        rng = np.random.default_rng([seed, n_labels or 0])
        some = draw_labels(y, np.flatnonzero(~is_test), n_labels, rng)
        yield LabelProblem(X[some], y[some], X[is_test], y[is_test], seed)


def intent_problems(kind, name, encoder, options):
    """Yield a problem for each choice of new intents, 40 % of all."""
    X, y, is_test = intents(name, encoder, options)
    n = y.max() + 1
    fold = np.random.default_rng(0).permutation(n) % N_FOLDS
    for seed, new in enumerate(options.choose(NEW_FOLDS, NEW_FOLDS[:1])):
        yield kind(X, y, is_test, np.isin(fold, new), seed=seed)


def search_problems(encoder, options):
    """Yield a problem for each fold of the queries."""
    data = load_cranfield(encoder, folder=options.folder)
    queries = np.arange(len(data.queries))[: options.choose(None, 60)]
    fold = np.random.default_rng(0).permutation(len(queries)) % N_FOLDS
    for k in range(options.choose(N_FOLDS, 1)):
        given = data.queries, data.documents, data.relevance
        yield SearchProblem(*given, queries[fold != k], queries[fold == k], k)


def score_problems(encoder, options):
    """Yield the one problem: learn from 2012, test each year."""
    data = load_sts(encoder, folder=options.folder)
    train = np.flatnonzero(~data.is_test)[: options.choose(None, 200)]
    tests = {
        str(year): np.flatnonzero(data.is_test & (data.year == year))[: options.choose(None, 200)]
        for year in np.unique(data.year)
    }
    parts = {name: (data.pairs[rows], data.score[rows]) for name, rows in tests.items()}
    yield ScoreProblem(data.X, data.pairs[train], data.score[train], parts)


def _tasks():
    for name in ("banking77", "hwu64"):
        for n_labels in DRAWS:
            label = f"{name}, {n_labels or 'all'} labels"
            yield label, partial(label_problems, name, n_labels)
    yield "cranfield", search_problems
    yield "sts", score_problems
    for name in ("banking77", "hwu64"):
        yield f"{name}, pairs of new intents", partial(intent_problems, PairProblem, name)
    for name in ("banking77", "hwu64"):
        yield f"{name}, transfer", partial(intent_problems, TransferProblem, name)


TASKS = dict(_tasks())
#: Tasks of the small version.
QUICK_TASKS = ("hwu64, 5 labels", "cranfield", "sts", "hwu64, pairs of new intents")
QUICK_TASKS += ("hwu64, transfer",)


# Methods: (problem, chosen settings or None) -> Learned


@dataclass(frozen=True)
class Learned:
    """Result of a method on a problem, and how it is to be judged."""

    answer: Answer
    seconds: float
    chosen: object = None  # settings, which later problems of the task get
    detail: dict | None = None  # what it says about itself
    #: Judgements to make: the rules of the problem, and logistic regression on mapped vectors.
    judges: tuple[str, ...] = ("judge",)


class NotForThisTaskError(Exception):
    """The method cannot learn from what the task tells."""


def learn_nothing(problem, chosen, options):
    """Return the embedding as it is."""
    is_transfer = type(problem) is TransferProblem
    return Learned(Answer(), 0.0, judges=("judge", "judge_probe") if is_transfer else ("judge",))


def learn_logistic(problem, chosen, options):
    """Return the embedding as it is, to be classified by tuned logistic regression."""
    if type(problem) is not LabelProblem:
        raise NotForThisTaskError("a classifier of known classes")
    return Learned(Answer(), 0.0, judges=("judge_probe",))


def as_answer(array, family):
    """Return the answer of a rival: a map of vectors, or moved documents."""
    if "variant" not in family:
        mapped = partial(_mapped, array)
        return Answer(mapped, mapped if family.get("side", "both") == "both" else np.asarray)
    if family["variant"] == "NUDGEN":
        return Answer(np.asarray, lambda documents: array)
    # the nearest by L2 is the one of largest inner product if all documents have equal length
    square = np.einsum("ij,ij->i", array, array)
    padded = np.column_stack([array, np.sqrt(np.maximum(square.max() - square, 0))])
    return Answer(lambda X: np.column_stack([X, np.zeros(len(X))]), lambda documents: padded)


def _mapped(W, X):
    return unit(X @ W)


def learn_by_baseline(name, problem, chosen, options):
    """Return the answer of a rival; without a choice it is made first, and its time counts."""
    baseline = MAP[name]
    if not hasattr(problem, baseline.learns_from):
        raise NotForThisTaskError("moves documents, and has no map of others")
    families = [
        family
        for family in baseline.families
        if problem.has_queries or family.get("side", "both") == "both"
    ]
    given = {"limit": options.limit, "threads": options.threads}
    seconds, settings = 0.0, chosen
    if chosen is None:
        seconds, settings = choose_setting(baseline, families, problem, given)
    arrays = getattr(problem, baseline.learns_from)
    (array,), detail = baseline.fit(arrays, settings, seed=problem.seed, **given)
    judges = ("judge", "judge_probe") if type(problem) is TransferProblem else ("judge",)
    return Learned(as_answer(array, settings), seconds + detail["seconds"], settings, judges=judges)


def choose_setting(baseline, families, problem, given):
    """Return seconds, and the family with the one strength that is best on the inner problems."""
    rates, seconds = {}, 0.0
    for inner in problem.inner():
        arrays = getattr(inner, baseline.learns_from)
        for k, family in enumerate(families):
            found, detail = baseline.fit(arrays, family, seed=inner.seed, **given)
            answers = [as_answer(array, family) for array in found]
            taken, values = timed(lambda inner=inner, given=answers: [*map(inner.rate, given)])
            seconds += detail["seconds"] + taken
            for j, value in enumerate(values):
                rates[k, j] = rates.get((k, j), 0.0) + value
    k, j = max(rates, key=rates.__getitem__)
    return seconds, families[k] | {"strengths": [families[k]["strengths"][j]]}


# The adapter


def told(problem):
    """Return vectors and feedback of the training part, as EmbeddingAdapter takes them."""
    kind = problem.feedback
    if kind == "labels":
        return problem.labels
    if kind == "known classes":
        X, y = problem.labels
        return X, Labels(y, hold_out="classes")
    if kind == "relevance":
        queries = problem.queries[problem.train]
        return problem.documents, RelevantDocuments(queries, problem.told)
    pairs = problem.pairs
    if kind == "scores":
        return problem.X, GradedPairs(pairs["rows"], problem.score)
    return problem.X[problem.known], SimilarPairs(pairs["rows"], pairs["similarity"])


def learn_adapter(side, problem, chosen, options):
    """Return the answer of EmbeddingAdapter, whose fit includes the choice of the strength."""
    if side == "query" and problem.feedback != "relevance":
        raise NotForThisTaskError("queries and documents are of one kind")
    X, feedback = told(problem)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that the embedding is unchanged
        seconds, model = timed(lambda: EmbeddingAdapter(side=side).fit(X, feedback))
    is_classified = problem.feedback in ("labels", "known classes")
    judges = ("judge", "judge_probe") if is_classified else ("judge",)
    answer = Answer(model.transform_query, model.transform)
    gap = model.certificate_.relative_gap
    detail = {"report": str(model.report_), "strength": model.strength_, "gap": gap}
    return Learned(answer, seconds, detail=detail, judges=judges)


def learn_stored(problem, chosen, options):
    """Return the answer of EmbeddingAdapter with labelled texts moved towards their class."""
    if problem.feedback != "labels":
        raise NotForThisTaskError("moves labelled vectors that are stored")
    X, y = problem.labels
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that the embedding is unchanged
        seconds, model = timed(lambda: EmbeddingAdapter().fit(X, y))
    taken, stored = timed(lambda: move_stored(model, X, y))
    answer = Answer(model.transform_query, lambda documents: stored.vectors)
    detail = {"report": str(stored.report), "strength": stored.share}
    detail["gap"] = model.certificate_.relative_gap
    return Learned(answer, seconds + taken, detail=detail)


# Results


def mean_of_known(values):
    """Return the mean over problems for each unit that some problem tests."""
    values = np.array(values)
    return np.nanmean(values[:, ~np.isnan(values).all(axis=0)], axis=0)


def measure_task(method, problems, options):
    """Return the record of a method on a task and encoder."""
    judged, seconds, details, chosen = {}, [], [], None
    for problem in problems:
        learned = method(problem, chosen, options)
        chosen = learned.chosen
        seconds.append(round(learned.seconds, 3))
        details.append(learned.detail)
        for name in learned.judges:
            taken, found = timed(partial(getattr(problem, name), learned.answer))
            for measure, values in found.items():
                judged.setdefault(measure, []).append(values)
            if method is learn_logistic:
                seconds[-1] = round(taken, 3)
    measures = {name: mean_of_known(values) for name, values in judged.items()}
    record = {"units": {name: pack(values) for name, values in measures.items()}}
    record |= {"mean": {name: round(float(v.mean()), 5) for name, v in measures.items()}}
    return record | {"seconds": seconds, "chosen": chosen, "said": [d for d in details if d]}


def measure_method(method, options):
    """Return the data of a method: records by task and encoder; stored ones are not repeated."""
    data = options.stored or {}
    # label tasks last: they take longest
    in_turn = sorted(TASKS, key=lambda name: name.endswith("labels"))
    for name in options.choose(in_turn, QUICK_TASKS):
        for encoder in options.choose(tuple(ENCODERS), ("wordllama",)):
            records = data.setdefault(name, {})
            if encoder in records:
                continue
            try:
                problems = TASKS[name](encoder, options)
                records[encoder] = measure_task(method, problems, options)
            except NotForThisTaskError as error:
                records[encoder] = {"reason": str(error)}
            except ProgramError as error:
                records[encoder] = {"reason": error.outcome, "detail": str(error)[-300:]}
            options.store(in_order(data))
    return in_order(data)


def in_order(data):
    """Return the records in the order of the tasks, which a completed part may not have."""
    return {name: data[name] for name in TASKS if name in data}


METHODS: dict[str, Callable] = {"unchanged": learn_nothing, "logistic": learn_logistic}
METHODS["adapter"] = partial(learn_adapter, "both")
METHODS["adapter_query"] = partial(learn_adapter, "query")
METHODS["adapter_stored"] = learn_stored
RIVALS = ("ridge_map", "adam_matrix", "nudge")
METHODS |= {name: partial(learn_by_baseline, name) for name in RIVALS}
PARTS = {name: partial(measure_method, method) for name, method in METHODS.items()}
BENCHMARK = Benchmark(
    parts=PARTS, page=embeddings_page, draw=draw, options=Options(repeat=1, limit=600.0)
)
