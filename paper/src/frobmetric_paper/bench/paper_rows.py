"""FrobMetric on the large rows of the paper's table: error, seconds and gap."""

from functools import partial

from frobmetric import FrobMetric, mine_triplets
from frobmetric.learning.coordinates import unit_mean_square
from frobmetric.neighbors import knn_error

from ..baselines.ours import PAPER
from ..harness.benchmark import Benchmark, Options
from ..harness.formatting import mark
from ..harness.timing import best_of
from .levers import errors_of, load

#: Test error in % and seconds of the paper's FrobMetric.
PUBLISHED = {"mnist": (2.56, 280), "usps": (2.32, 9), "letters": (2.72, 13)}


def measure_paper_rows(name, options):
    """Return a row for each C; the fit is timed as a whole and without the search."""
    split, repeat = load(name, options), options.choose(options.repeat, 1)
    X, y = split.X_train, split.y_train
    scaled = unit_mean_square(X)[0]
    mining = best_of(partial(mine_triplets, scaled, y), repeat)
    euclid, rows = 100 * knn_error(X, y, split.X_test, split.y_test), []
    for C in options.choose((1e3, 1e4, 1e5), (1e4,)):
        fit = best_of(partial(FrobMetric(**PAPER | {"C": C}).fit, X, y), repeat)
        metric = fit.result
        validation, test = errors_of(metric.transform, split)
        rows.append(
            {
                "C": C,
                "triplets": metric.n_triplets_,
                "steps": metric.n_iter_,
                "rank": metric.rank_,
                "relative_gap": metric.certificate_.relative_gap,
                "seconds": fit.seconds,
                "seconds_solving": metric.history_[-1].seconds,
                "seconds_mining": mining.seconds,
                "validation_error": validation,
                "test_error": test,
                "euclid_test_error": euclid,
            }
        )
    return rows


def paper_rows_page(parts):
    """Return the rows of all sets, beside the paper's numbers."""
    rows = []
    for name, data in parts.items():
        best = min(row["validation_error"] for row in data)
        paper = dict(zip(("paper_error", "paper_seconds"), PUBLISHED[name], strict=True))
        for row in data:
            test = mark(f"{row['test_error']:.2f}", row["validation_error"] == best)
            rows.append(row | {"set": name, "test": test} | paper)
    return {"rows": rows}


PARTS = {name: partial(measure_paper_rows, name) for name in PUBLISHED}
BENCHMARK = Benchmark(parts=PARTS, page=paper_rows_page, options=Options(threads=2))
