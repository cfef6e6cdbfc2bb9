"""Tables of the benchmark of pair learners, from its cells."""

from itertools import groupby

import numpy as np
from scipy.stats import t as student

from ..harness import page

DEFAULT_C = 1e4
STRATEGIES = ("threshold", "triplets")
GROUP = ("set", "classes", "manner", "size")
OTHERS = ("LDML", "ITML")


def pair_page(parts):
    """Return the tables of all cells."""
    cells = sorted((cell for part in parts.values() for cell in part), key=_group)
    tables = {
        "strategies": strategy_table,
        "differences": difference_table,
        "grid": grid_table,
        "endings": ending_table,
        "variants": variant_table,
        "others": other_table,
    }
    return {name: make(cells) for name, make in tables.items()}


def _group(cell):
    return tuple(cell[name] for name in GROUP)


def groups(cells):
    """Return the runs of each line: same set, classes, manner and number of pairs."""
    return [(key, list(runs)) for key, runs in groupby(cells, key=_group)]


def table(head, rows):
    """Return a table in Markdown."""
    return page.table(head, [list(map(str, row)) for row in rows])


# One number of one run


def at(cell, method, C):
    """Return the fit at this C; one that failed has the numbers of Euclid."""
    [fit] = [fit for fit in cell["methods"][method] if fit["parameter"] == C]
    return cell["methods"]["Euclid"][0] | {"failed": True} if "failed" in fit else fit


def chosen(cell, method, grid=None):
    """Return the fit with the largest validation area, of equal ones that with the smallest C."""
    values = [fit["parameter"] for fit in cell["methods"][method]]
    fits = [at(cell, method, value) for value in values if grid is None or value in grid]
    return max(fits, key=lambda fit: fit["validation"])


def fit_of(cell, method, C, grid=None):
    """Return the fit at this C; the chosen one if C is None."""
    return chosen(cell, method, grid) if C is None else at(cell, method, C)


def percent(values):
    """Return the mean in percent."""
    return 100 * float(np.mean(values))


def signed(values):
    """Return mean and half the width of its 95 % interval, in points."""
    text, n = f"{percent(values):+.2f}", len(values)
    if n < 2:
        return text
    half = student.ppf(0.975, n - 1) * np.std(values, ddof=1) / n**0.5
    return f"{text} ± {100 * half:.2f}"


def differences(lines, method, base, Cs, measures=("auc", "accuracy"), grid=None):
    """Return the first less the second method at each C, over runs of several lines."""
    texts = []
    for C in Cs:
        for name in measures:
            means = [
                np.mean(
                    [
                        fit_of(run, method, C, grid)[name] - fit_of(run, base, C, grid)[name]
                        for run in runs
                    ]
                )
                for runs in lines
            ]
            texts.append(signed(means))
    return texts


def grid_of(cells, method):
    """Return the values of C that a method has fits of."""
    fits = [fit for cell in cells for fit in cell["methods"].get(method, [])]
    return sorted({fit["parameter"] for fit in fits})


def methods_with_c(cells):
    """Return the names of the methods that have a C."""
    names = dict.fromkeys(name for cell in cells for name in cell["methods"])
    return [name for name in names if name not in ("Euclid", *OTHERS)]


# Tables


def strategy_table(cells):
    """Return a line for each set, classes, manner and size."""
    rows = []
    for key, runs in groups(cells):
        texts = [f"{percent([run['methods']['Euclid'][0]['auc'] for run in runs]):.1f}"]
        for method in STRATEGIES:
            fits = [chosen(run, method) for run in runs]
            default = [at(run, method, DEFAULT_C)["auc"] for run in runs]
            auc, accuracy = ([fit[name] for fit in fits] for name in ("auc", "accuracy"))
            texts.append(" / ".join(f"{percent(each):.1f}" for each in (auc, default, accuracy)))
        share = np.mean([run["similar"] for run in runs])
        texts += differences([[run] for run in runs], *STRATEGIES, [None], ("auc",))
        rows.append([*key, f"{share:.0%}", len(runs), *texts])
    heads = [f"{method}: AUC chosen / C = 1e4 / accuracy" for method in STRATEGIES]
    return table([*GROUP, "similar", "runs", "Euclid", *heads, "difference"], rows)


def difference_table(cells):
    """Return the difference of the strategies over several choices of lines."""
    lines = [((*key, _density(runs)), runs) for key, runs in groups(cells)]
    sets = sorted({key[0] for key, _ in lines})
    choices = {
        "all": [runs for _, runs in lines],
        "over sets": [[cell for cell in cells if cell["set"] == name] for name in sets],
    }
    kinds = ((slice(1, 3), ", ".join), (3, "{} pairs".format), (0, str), (4, str))
    for place, show in kinds:
        for value in sorted({key[place] for key, _ in lines}):
            choices[show(value)] = [runs for key, runs in lines if key[place] == value]
    rows = [
        [name, len(some), *differences(some, *STRATEGIES, [None, DEFAULT_C])]
        for name, some in choices.items()
    ]
    heads = [f"{what}, {C}" for C in ("chosen C", "C = 1e4") for what in ("AUC", "accuracy")]
    return table(["", "lines", *heads], rows)


def _density(runs):
    """Return in words how many triplets the pairs were completed to."""
    fits = [(fit, run) for run in runs for fit in run["methods"]["triplets"]]
    mean = np.mean([fit.get("n_rows", 0) / run["n_pairs"]["train"] for fit, run in fits])
    limits = {1: "fewer triplets than pairs", 5: "1 to 5 triplets a pair"}
    return next((words for most, words in limits.items() if mean < most), "5 or more")


def grid_table(cells):
    """Return the mean AUC at each C over balanced and over random pairs."""
    grid, rows = grid_of(cells, STRATEGIES[0]), []
    for manner in ("balanced", "random"):
        for method in methods_with_c(cells):
            some = [c for c in cells if c["manner"] == manner and method in c["methods"]]
            if not some:
                continue
            known = grid_of(some, method)
            areas = [
                [fit_of(c, method, C)["auc"] for c in some] if C in known else None for C in grid
            ]
            areas.append([chosen(cell, method)["auc"] for cell in some])
            texts = ["" if area is None else f"{percent(area):.2f}" for area in areas]
            rows.append([manner, method, len(some), *texts])
    return table(["pairs", "", "runs", *(f"{C:.0e}" for C in grid), "chosen"], rows)


def ending_table(cells):
    """Return gaps, steps and seconds of the fits at each C."""
    rows = []
    for method in methods_with_c(cells):
        for C in grid_of(cells, method):
            every = [
                f for cell in cells for f in cell["methods"].get(method, []) if f["parameter"] == C
            ]
            fits = [fit for fit in every if "failed" not in fit]
            if not fits:
                continue
            gap, steps, seconds = ([f[k] for f in fits] for k in ("gap", "n_iter", "seconds"))
            counts = [len(every), len(every) - len(fits), sum(fit["warned"] > 0 for fit in fits)]
            ends = [f"{max(gap):.1e}", f"{np.median(steps):.0f}", max(steps)]
            times = [f"{np.median(seconds):.2f}", f"{max(seconds):.2f}"]
            rows.append([method, f"{C:.0e}", *counts, *ends, *times])
    heads = ["fits", "without triplets", "not converged", "largest gap", "median steps"]
    return table(["", "C", *heads, "most steps", "median s", "most s"], rows)


def _protocols(cells):
    return sorted({(cell["classes"], cell["manner"]) for cell in cells})


def variant_table(cells):
    """Return each variant less the threshold, at equal C and each with its own chosen C."""
    rows = []
    for method in (name for name in methods_with_c(cells) if name.startswith("threshold,")):
        some = [cell for cell in cells if method in cell["methods"]]
        grid = grid_of(some, method)
        for protocol in _protocols(some):
            lines = [runs for key, runs in groups(some) if key[1:3] == protocol]
            fixed = differences(lines, method, "threshold", grid, ("auc",))
            free = differences(lines, method, "threshold", [None], grid=grid)
            rows.append([method, ", ".join(protocol), len(lines), *fixed, *free])
    heads = [f"C = {C:.0e}" for C in grid_of(cells, "threshold, prior identity")]
    return table(["", "classes, pairs", "lines", *heads, "chosen", "accuracy, chosen"], rows)


def other_table(cells):
    """Return AUC, accuracy and seconds of the runs that other learners have."""
    some = [cell for cell in cells if "LDML" in cell["methods"]]
    names = ["Euclid", *STRATEGIES, "threshold, prior identity", "triplets, identities known"]
    names += [name for name in OTHERS if all(name in cell["methods"] for cell in some)]
    rows = []
    for protocol in _protocols(some):
        runs = [cell for cell in some if (cell["classes"], cell["manner"]) == protocol]
        texts = []
        for name in names:
            fits = [chosen(run, name) for run in runs]
            n_failed = sum("failed" in fit for run in runs for fit in run["methods"][name])
            auc, accuracy = (percent([fit[key] for fit in fits]) for key in ("auc", "accuracy"))
            seconds = np.median([fit["seconds"] for fit in fits])
            text = f"{auc:.1f} / {accuracy:.1f} / {seconds:.2f}"
            texts.append(text + (f" ({n_failed} fits failed)" if n_failed else ""))
        rows.append([", ".join(protocol), len(runs), *texts])
    return table(["AUC / accuracy / s", "runs", *names], rows)
