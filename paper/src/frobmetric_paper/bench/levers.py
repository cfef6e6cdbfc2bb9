"""What raises the accuracy of a learned metric: one option of FrobMetric changed at a time.

    python benchmarks/levers.py [--folder DIR] [--only usps letters] [--runs 3]

Every variant chooses its C on the validation part, as the paper's protocol has it; the test error
is that of the chosen C, looked at once. The sets are those of the paper's first table. Writes
benchmarks/results/levers.json and levers.md, keeping what they have of other sets.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from frobmetric import FrobMetric, NearestClass
from frobmetric.neighbors import knn_predict

from ..classification.measure import at_unit_scale
from ..data import labelled as datasets
from .record import as_markdown, run_record

RESULTS = Path(__file__).parents[3] / "results"
SETS = ("usps", "letters", "yale", "balance", "wine", "iris")
GRID = (1e-2, 1e1, 1e3, 1e4, 1e5, 1e6)
#: For the set whose fits take half a minute each.
FEW = {"mnist": (1e5,)}
BASE = "3 + 3 neighbours, one pass"
#: What is changed, by the words of the table.
VARIANTS = {
    BASE: {},
    "2 passes": {"n_passes": 2},
    "3 passes": {"n_passes": 3},
    "10 impostors": {"n_impostors": 10},
    "10 + 10 neighbours": {"n_neighbors": 10, "n_impostors": 10},
    "20 + 10 neighbours, 2 passes": {"n_neighbors": 20, "n_impostors": 10, "n_passes": 2},
    "prior identity": {"prior": "identity"},
    "prior covariance": {"prior": "covariance"},
    "prior within": {"prior": "within"},
    "prior within, 3 passes": {"prior": "within", "n_passes": 3},
    "prior discriminant": {"prior": "discriminant"},
    "pull 1/3 (LMNN)": {"pull": 1 / 3},
    "pull 0.1": {"pull": 0.1},
    "squared hinge": {"loss": "squared_hinge"},
}
#: Rules that classify with the metric of the first variant.
RULES = {
    "3 distances of each class": ("distances", 3),
    "center of 3 of each class": ("center", 3),
    "center of 5 of each class": ("center", 5),
    "center of 8 of each class": ("center", 8),
    "center of 12 of each class": ("center", 12),
}


def error(labels, y):
    return 100 * float(np.mean(labels != y))


def chosen(split, options, grid):
    """Validation and test error of the C with the smallest validation error, and its map."""
    best = None
    for C in grid:
        metric = FrobMetric(C=C, n_components="rank", **options).fit(split.X_train, split.y_train)
        Z, V, T = map(metric.transform, (split.X_train, split.X_validation, split.X_test))
        found = error(knn_predict(Z, split.y_train, V), split.y_validation)
        if best is None or found < best[0]:
            best = found, (Z, V, T)
    found, (Z, V, T) = best
    return found, error(knn_predict(Z, split.y_train, T), split.y_test), (Z, V, T)


def measure(split, grid):
    """(validation, test) error of each variant and each rule on one split."""
    errors = {}
    for name, options in VARIANTS.items():
        *errors[name], mapped = chosen(split, options, grid)
        if name == BASE:
            errors |= {rule: by_class(split, mapped, *how) for rule, how in RULES.items()}
    return errors


def by_class(split, mapped, rule, k):
    Z, V, T = mapped
    model = NearestClass(k, rule=rule).fit(Z, split.y_train)
    return [error(model.predict(V), split.y_validation), error(model.predict(T), split.y_test)]


def table(sets):
    """Markdown: a row a variant, validation and test error of each set; the best are bold."""
    names = [*VARIANTS, *RULES]
    lines = ["| " + " | ".join(["", *sets]) + " |", "|" + "---|" * (len(sets) + 1)]
    means = {
        name: {key: np.mean([run[key] for run in runs], axis=0) for key in names}
        for name, runs in sets.items()
    }
    lowest = {name: min(found[key][0] for key in names) for name, found in means.items()}
    for key in names:
        cells = []
        for name, found in means.items():
            mark = "**" if found[key][0] == lowest[name] else ""
            cells.append(f"{mark}{found[key][0]:.2f}{mark} / {found[key][1]:.2f}")
        lines.append(f"| {key} | " + " | ".join(cells) + " |")
    runs = [str(len(found)) for found in sets.values()]
    return "\n".join([*lines, "| runs | " + " | ".join(runs) + " |"])


def write(sets, records):
    (RESULTS / "levers.json").write_text(json.dumps({"runs": records, "sets": sets}, indent=1))
    commands = "\n\n".join(
        f"{', '.join(names)}: {as_markdown(record)}" for record, names in by_record(records)
    )
    (RESULTS / "levers.md").write_text(
        "Error in % on the validation / test part, mean over splits. Each row changes one thing in "
        "the first; C is chosen on the validation part in each. The last rows classify with the "
        "metrics of the first, by other rules than 3-NN. Bold: the smallest validation error.\n\n"
        f"{table(sets)}\n\n{commands}\n"
    )


def by_record(records):
    """Each record once, with the sets that it made."""
    texts = {}
    for name, record in records.items():
        texts.setdefault(json.dumps(record), []).append(name)
    return [(json.loads(text), names) for text, names in texts.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", nargs="*", default=list(SETS))
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UserWarning)  # a metric of zero is the error that it makes
    path = RESULTS / "levers.json"
    kept = json.loads(path.read_text()) if path.exists() else {"runs": {}, "sets": {}}
    sets, records = kept["sets"], kept["runs"]
    for name in options.only:
        n_runs = 1 if name in ("mnist", "letters") else options.runs
        grid = FEW.get(name, GRID)
        splits = (datasets.load(name, seed=seed, folder=options.folder) for seed in range(n_runs))
        sets[name] = [measure(at_unit_scale(split), grid) for split in splits]
        records[name] = run_record()
        write(sets, records)
        print(name, json.dumps(sets[name][0]), flush=True)


if __name__ == "__main__":
    main()
