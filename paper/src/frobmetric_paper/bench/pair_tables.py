"""Tables of the benchmark of pair learners, from its cells."""

from itertools import groupby

import numpy as np

from ..harness.summary import paired_difference

GRID = (1e0, 1e1, 1e2, 1e3, 1e4, 1e6)
#: Values of C of the variants.
MIDDLE = (1e1, 1e2, 1e3, 1e4)
DEFAULT_C = (1e4,)
STRATEGIES = ("threshold", "triplets")
GROUP = ("set", "classes", "manner", "size")
OTHERS = ("LDML", "ITML")


def pair_page(parts):
    """Return the rows of all tables; a line is all runs of the same set, protocol and size."""
    cells = sorted((cell for part in parts.values() for cell in part), key=_group)
    lines = [(key, list(runs)) for key, runs in groupby(cells, key=_group)]
    names = dict.fromkeys(name for cell in cells for name in cell["methods"])
    methods = [name for name in names if name not in ("Euclid", *OTHERS)]
    return {
        "strategies": strategy_rows(lines),
        "differences": difference_rows(lines),
        "grid": grid_rows(cells, methods),
        "endings": ending_rows(cells, methods),
        "variants": variant_rows(lines, methods),
        "others": other_rows(cells),
    }


def _group(cell):
    return tuple(cell[name] for name in GROUP)


def fit_of(cell, method, grid=None):
    """Return the fit whose C, of those in a grid, has the largest validation area.

    Of equal ones it is that with the smallest C; a fit that failed has the numbers of Euclid.
    """
    euclid = cell["methods"]["Euclid"][0] | {"failed": True}
    fits = [fit for fit in cell["methods"][method] if grid is None or fit["parameter"] in grid]
    return max(
        (euclid if "failed" in fit else fit for fit in fits), key=lambda fit: fit["validation"]
    )


def mean_of(cells, method, measure="auc", grid=None):
    """Return the mean of a measure in percent."""
    return 100 * np.mean([fit_of(cell, method, grid)[measure] for cell in cells])


def difference(lines, method, base, grid=None, measure="auc"):
    """Return the mean of one method less another over lines, with its 95 % interval, in points."""
    values = [
        mean_of(runs, method, measure, grid) - mean_of(runs, base, measure, grid) for runs in lines
    ]
    if len(values) < 2:
        return f"{np.mean(values):+.2f}"
    found = paired_difference(values, test_share=0.0)
    return f"{found.mean:+.2f} ± {found.high - found.mean:.2f}"


def known_values(cells, method):
    """Return the values of C that a method has fits of."""
    fits = (fit for cell in cells for fit in cell["methods"].get(method, []))
    return sorted({fit["parameter"] for fit in fits})


def strategy_rows(lines):
    """Return a row for each line."""
    rows = []
    for key, runs in lines:
        row = dict(zip(GROUP, key, strict=True)) | {"runs": len(runs)}
        row["similar"] = np.mean([run["similar"] for run in runs])
        row["euclid"] = mean_of(runs, "Euclid")
        for method in STRATEGIES:
            choices = ((), ("auc", DEFAULT_C), ("accuracy",))
            row[method] = " / ".join(f"{mean_of(runs, method, *each):.1f}" for each in choices)
        rows.append(row | {"difference": difference([[run] for run in runs], *STRATEGIES)})
    return rows


def difference_rows(lines):
    """Return the difference of the strategies over several choices of lines."""
    lines = [((*key, _density(runs)), runs) for key, runs in lines]
    sets = sorted({key[0] for key, _ in lines})
    choices = {
        "all": [runs for _, runs in lines],
        "over sets": [[run for key, runs in lines if key[0] == s for run in runs] for s in sets],
    }
    kinds = ((slice(1, 3), ", ".join), (3, "{} pairs".format), (0, str), (4, str))
    for place, show in kinds:
        for value in sorted({key[place] for key, _ in lines}):
            choices[show(value)] = [runs for key, runs in lines if key[place] == value]
    columns = [(grid, measure) for grid in (None, DEFAULT_C) for measure in ("auc", "accuracy")]
    return [
        {"name": name, "lines": len(some)}
        | {"texts": [difference(some, *STRATEGIES, *column) for column in columns]}
        for name, some in choices.items()
    ]


def _density(runs):
    """Return in words how many triplets the pairs were completed to."""
    fits = [(fit, run) for run in runs for fit in run["methods"]["triplets"]]
    mean = np.mean([fit.get("n_rows", 0) / run["n_pairs"]["train"] for fit, run in fits])
    limits = {1: "fewer triplets than pairs", 5: "1 to 5 triplets a pair"}
    return next((words for most, words in limits.items() if mean < most), "5 or more")


def grid_rows(cells, methods):
    """Return the mean AUC at each C over balanced and over random pairs."""
    rows = []
    for manner in ("balanced", "random"):
        for method in methods:
            some = [c for c in cells if c["manner"] == manner and method in c["methods"]]
            if some:
                known = known_values(some, method)
                at = [mean_of(some, method, grid=(C,)) if C in known else None for C in GRID]
                row = {"manner": manner, "method": method, "runs": len(some), "at": at}
                rows.append(row | {"chosen": mean_of(some, method)})
    return rows


def ending_rows(cells, methods):
    """Return gaps, steps and seconds of the fits at each C."""
    rows = []
    for method in methods:
        every = [fit for cell in cells for fit in cell["methods"].get(method, [])]
        for C in known_values(cells, method):
            tried = [fit for fit in every if fit["parameter"] == C]
            fits = [fit for fit in tried if "failed" not in fit]
            if not fits:
                continue
            gaps, steps, seconds = ([f[key] for f in fits] for key in ("gap", "n_iter", "seconds"))
            row = {"method": method, "C": C, "fits": len(tried), "failed": len(tried) - len(fits)}
            row |= {"warned": sum(fit["warned"] > 0 for fit in fits), "gap": max(gaps)}
            row |= {"steps": np.median(steps), "most_steps": max(steps)}
            rows.append(row | {"seconds": np.median(seconds), "most_seconds": max(seconds)})
    return rows


def variant_rows(lines, methods):
    """Return each variant less the threshold, at equal C and each with its own chosen C."""
    rows = []
    for method in (name for name in methods if name.startswith("threshold,")):
        some = [(key[1:3], runs) for key, runs in lines if method in runs[0]["methods"]]
        known = known_values((run for _, runs in some for run in runs), method)
        for protocol in sorted({key for key, _ in some}):
            pair = [runs for key, runs in some if key == protocol], method, "threshold"
            at = [difference(*pair, (C,)) if C in known else None for C in MIDDLE]
            row = {"method": method, "protocol": ", ".join(protocol), "lines": len(pair[0])}
            chosen = [difference(*pair, known, measure) for measure in ("auc", "accuracy")]
            rows.append(row | {"at": at, "chosen": chosen})
    return rows


def other_rows(cells):
    """Return AUC, accuracy and seconds of the runs that other learners have."""
    some = [cell for cell in cells if "LDML" in cell["methods"]]
    names = ["Euclid", *STRATEGIES, "threshold, prior identity", "triplets, identities known"]
    rows = []
    for protocol in sorted({(cell["classes"], cell["manner"]) for cell in some}):
        runs = [cell for cell in some if (cell["classes"], cell["manner"]) == protocol]
        texts = []
        for name in (*names, *OTHERS):
            if not all(name in run["methods"] for run in runs):
                texts.append(None)
                continue
            auc, accuracy = (mean_of(runs, name, measure) for measure in ("auc", "accuracy"))
            seconds = np.median([fit_of(run, name)["seconds"] for run in runs])
            n_failed = sum("failed" in fit for run in runs for fit in run["methods"][name])
            text = f"{auc:.1f} / {accuracy:.1f} / {seconds:.2f}"
            texts.append(text + (f" ({n_failed} fits failed)" if n_failed else ""))
        rows.append({"protocol": ", ".join(protocol), "runs": len(runs), "texts": texts})
    return rows
