"""Teaching by clicks: chosen questions beside random ones, with recorded answers of people.

The simulated person answers from the recorded comparisons of shoes, each of which was answered
once. A fifth of the comparisons, at random, is held out: a question about one of them, or about
three shoes that nobody compared, is skipped and does not count.
"""

import numpy as np

from frobmetric.app.teaching import TeachingSession
from frobmetric.app.teaching.questions import question_keys

from ..harness.benchmark import Benchmark, Options
from .shoes import is_right, load

MARKS = (25, 50, 100, 200)
#: Ways of asking, and the numbers of answers at which each is measured.
WAYS = {"random": MARKS, "chosen, every fifth random": MARKS[:3]}
SHARE = 5


def split(triplets, seed):
    """Return comparisons to ask about and those that are held out."""
    order = np.random.default_rng([seed, 7]).permutation(triplets.astype(np.intp))
    n_test = len(order) // SHARE
    return order[n_test:], order[:n_test]


def ask(X, known, n_answers, seed):
    """Return the answers of a session whose person knows only these comparisons."""
    session, n = TeachingSession(X, seed=seed), len(X)
    near = dict(zip(question_keys(known, n).tolist(), known[:, 1].tolist(), strict=True))
    while len(session.answers) < n_answers:
        answer = near.get(int(question_keys(session.question, n)[0]))
        if answer is None:
            session.skip()
        else:
            session.answer(answer == session.question[1])
    return session.answers


def measure_seed(X, triplets, seed, marks):
    """Return the agreement with held-out comparisons by way of asking and number of answers."""
    known, held_out = split(triplets, seed)
    drawn = np.random.default_rng([seed, 8]).choice(len(known), max(marks["random"]), replace=False)
    chosen = "chosen, every fifth random"
    answers = {"random": known[drawn], chosen: ask(X, known, max(marks[chosen]), seed)}
    agreement = {"Euclid": {0: is_right(X, held_out).mean()}}
    for way, numbers in marks.items():
        models = {n: TeachingSession(X, answers[way][:n], seed=seed).model() for n in numbers}
        agreement[way] = {
            n: is_right(X @ model.components_.T, held_out).mean() for n, model in models.items()
        }
    return agreement


def measure(options):
    """Return the agreements of each seed."""
    _, X, triplets = load(options)
    marks = options.choose(WAYS, dict.fromkeys(WAYS, (5,)))
    n_seeds = options.choose(options.repeat, 2)
    return options.runs(n_seeds, lambda seed: measure_seed(X, triplets, seed, marks))


def teach_page(parts):
    """Return the table, and the difference that the target is about."""
    values = {"rows": []}
    seeds = parts.get("agreement", [])

    def of(way, n):
        return 100 * np.array([seed[way][n] for seed in seeds])

    for way in seeds[0] if len(seeds) > 1 else ():
        for n in seeds[0][way]:
            mean, error = summary(of(way, n))
            values["rows"].append({"way": way, "n": int(n), "mean": mean, "error": error})
    if len(seeds) > 1 and "200" in seeds[0]["random"]:
        for n in ("100", "200"):
            mean, error = summary(of("chosen, every fifth random", "100") - of("random", n))
            values[f"gain_{n}"] = f"{mean:+.1f} ± {error:.1f}"
    return values | {"n_seeds": len(seeds)}


def summary(values):
    """Return mean and standard error."""
    return values.mean(), values.std(ddof=1) / np.sqrt(len(values))


BENCHMARK = Benchmark(parts={"agreement": measure}, page=teach_page, options=Options(repeat=8))
