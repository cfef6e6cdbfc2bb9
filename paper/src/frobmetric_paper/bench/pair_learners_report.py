"""The page of results of pair_learners.py, from its cells."""

from functools import partial
from itertools import groupby

import numpy as np
from scipy.stats import t as student

from .record import as_markdown

DEFAULT_C = 1e4
WAYS = ("threshold", "triplets")
GROUP = ("set", "classes", "manner", "size")
INTRODUCTION = """\
Area under the ROC curve (AUC) and accuracy, in %, of test pairs. "Chosen" is C by the AUC of \
validation pairs; seen or unseen says whether classes of the training pairs are in the test, \
balanced or random how the pairs of either part were drawn. The threshold is the one most often \
right on the training pairs. A run that could not learn (no triplet can be formed) counts as \
Euclid, and is counted. Differences are paired: the same pairs, mean over runs of a set, and \
95 % intervals over the lines that they are a mean of. Lines of one set are not independent, so \
these intervals are too narrow as a statement on other data; "over sets" takes the mean of a set \
as one number. How many triplets the pairs give was looked at after the results. Of the faces, \
View 1 is one test; its runs differ in which quarter of the training pairs C is chosen by. The \
variants have a shorter grid of C, and are compared with the threshold on the same one. The best \
fixed C is read off these test pairs. Seconds are of a machine that others used; compare steps."""


def write(kept, path):
    rows = sorted(kept["cells"], key=_group)
    sections = [
        INTRODUCTION,
        "## The two ways\n\n" + ways_table(rows),
        "## Threshold minus triplets, in points\n\n" + difference_table(rows),
        "## One C for all\n\n" + grid_table(rows),
        "## How the runs ended\n\n" + ending_table(rows),
        "## Variants of the threshold\n\n" + variant_table(rows),
        "## Others, where they ran\n\n" + rival_table(rows),
        "\n\n".join([*map(as_markdown, kept["runs"]), *kept.get("notes", [])]),
    ]
    path.write_text("\n\n".join(sections) + "\n")


def _group(row):
    return tuple(row[name] for name in GROUP)


def groups(rows):
    """The runs of each line: same set, manner and number of pairs."""
    return [(key, list(found)) for key, found in groupby(rows, key=_group)]


# One number of one run


def at(row, method, C):
    """The fit at this C; one that failed has the numbers of Euclid."""
    [fit] = [fit for fit in row["methods"][method] if fit["parameter"] == C]
    return row["methods"]["Euclid"][0] | {"failed": True} if "failed" in fit else fit


def chosen(row, method, grid=None):
    """The fit with the largest validation area, of equal ones that with the smallest C."""
    values = [fit["parameter"] for fit in row["methods"][method]]
    fits = [at(row, method, value) for value in values if grid is None or value in grid]
    return max(fits, key=lambda fit: fit["validation"])


def percent(values):
    return 100 * float(np.mean(values))


def interval(values):
    """Mean and half the width of its 95 % interval."""
    n = len(values)
    if n < 2:
        return percent(values), np.nan
    return percent(values), 100 * float(student.ppf(0.975, n - 1) * np.std(values, ddof=1) / n**0.5)


def signed(values):
    mean, half = interval(values)
    return f"{mean:+.2f}" + ("" if np.isnan(half) else f" ± {half:.2f}")


def table(head, lines):
    """Markdown."""
    rule = "|" + "---|" * len(head)
    return "\n".join(
        "| " + " | ".join(map(str, line)) + " |" if line is not rule else rule
        for line in (head, rule, *lines)
    )


# Tables


def ways_table(rows):
    lines = []
    for key, runs in groups(rows):
        cells = [f"{percent([run['methods']['Euclid'][0]['auc'] for run in runs]):.1f}"]
        for way in WAYS:
            fits = [chosen(run, way) for run in runs]
            default = percent([at(run, way, DEFAULT_C)["auc"] for run in runs])
            auc, accuracy = (percent([fit[name] for fit in fits]) for name in ("auc", "accuracy"))
            cells.append(f"{auc:.1f} / {default:.1f} / {accuracy:.1f}")
        found = [chosen(run, WAYS[0])["auc"] - chosen(run, WAYS[1])["auc"] for run in runs]
        share = np.mean([run["similar"] for run in runs])
        lines.append([*key, f"{share:.0%}", len(runs), *cells, signed(found)])
    what = "AUC chosen / C = 1e4 / accuracy"
    head = [*GROUP, "similar", "runs", "Euclid", *(f"{way}: {what}" for way in WAYS), "difference"]
    return table(head, lines)


def difference_table(rows):
    found = [((*key, _density(runs)), runs) for key, runs in groups(rows)]
    choices = [("all", lambda key: True)]
    for what, say in ((slice(1, 3), ", ".join), (3, "{} pairs".format), (0, str), (4, str)):
        values = sorted({key[what] for key, _ in found})
        choices += [(say(value), partial(_has, what, value)) for value in values]
    lines = []
    for name, is_in in choices:
        some = [runs for key, runs in found if is_in(key)]
        lines.append([name, len(some), *_differences(some, *WAYS, [None, DEFAULT_C])])
    by_set = [
        [run for key, runs in found if key[0] == name for run in runs]
        for name in sorted({key[0] for key, _ in found})
    ]
    lines.insert(1, ["over sets", len(by_set), *_differences(by_set, *WAYS, [None, DEFAULT_C])])
    return table(
        ["", "lines", "AUC, chosen C", "accuracy, chosen C", "AUC, C = 1e4", "accuracy, C = 1e4"],
        lines,
    )


def _density(runs):
    """In words, how many triplets the pairs were completed to."""
    fits = [(fit, run) for run in runs for fit in run["methods"]["triplets"]]
    mean = np.mean([fit.get("n_rows", 0) / run["n_pairs"]["train"] for fit, run in fits])
    limits = {1: "fewer triplets than pairs", 5: "1 to 5 triplets a pair"}
    return next((words for most, words in limits.items() if mean < most), "5 or more")


def _has(what, value, key):
    return key[what] == value


def _differences(some, method, base, values, measures=("auc", "accuracy"), grid=None):
    """First less second method at each C, None being the chosen one, over runs of several lines."""

    def of(run, name, C, measure):
        return (chosen(run, name, grid) if C is None else at(run, name, C))[measure]

    return [
        signed(
            [
                np.mean([of(run, method, C, m) - of(run, base, C, m) for run in runs])
                for runs in some
            ]
        )
        for C in values
        for m in measures
    ]


def _grid(rows, method):
    return sorted(
        {
            fit["parameter"]
            for row in rows
            if method in row["methods"]
            for fit in row["methods"][method]
        }
    )


def ours(rows):
    """Names of the methods that have a C."""
    names = {name: None for row in rows for name in row["methods"]}
    return [name for name in names if name not in ("Euclid", "LDML", "ITML")]


def grid_table(rows):
    """Mean AUC at each C over balanced and over random pairs; and how often C was chosen."""
    grid, lines = _grid(rows, WAYS[0]), []
    for manner in ("balanced", "random"):
        for method in ours(rows):
            some = [row for row in rows if row["manner"] == manner and method in row["methods"]]
            if not some:
                continue
            own = _grid(some, method)
            cells = [
                f"{percent([at(row, method, C)['auc'] for row in some]):.2f}" if C in own else ""
                for C in grid
            ]
            best = percent([chosen(row, method)["auc"] for row in some])
            lines.append([manner, method, len(some), *cells, f"{best:.2f}"])
    return table(["pairs", "", "runs", *(f"{C:.0e}" for C in grid), "chosen"], lines)


def ending_table(rows):
    """Seconds, and the share of fits that warned, at each C."""
    lines = []
    for method in ours(rows):
        for C in _grid(rows, method):
            every = [
                fit
                for row in rows
                if method in row["methods"]
                for fit in row["methods"][method]
                if fit["parameter"] == C
            ]
            fits = [fit for fit in every if "failed" not in fit]
            gaps, seconds = ([fit[name] for fit in fits] for name in ("gap", "seconds"))
            steps = [fit["n_iter"] for fit in fits]
            lines.append(
                [
                    method,
                    f"{C:.0e}",
                    len(every),
                    len(every) - len(fits),
                    sum(fit["warned"] > 0 for fit in fits),
                    f"{max(gaps):.1e}",
                    f"{np.median(steps):.0f}",
                    max(steps),
                    f"{np.median(seconds):.2f}",
                    f"{max(seconds):.2f}",
                ]
            )
    return table(
        [
            "",
            "C",
            "fits",
            "without triplets",
            "not converged",
            "largest gap",
            "median steps",
            "most steps",
            "median s",
            "most s",
        ],
        lines,
    )


def variant_table(rows):
    """Each variant less the threshold as it is, at equal C and each with its own chosen C."""
    lines = []
    for method in ours(rows):
        if not method.startswith("threshold,"):
            continue
        for classes, manner in sorted({(row["classes"], row["manner"]) for row in rows}):
            some = [
                (key, [run for run in runs if method in run["methods"]])
                for key, runs in groups(rows)
                if key[1:3] == (classes, manner)
            ]
            some = [runs for _, runs in some if runs]
            if some:
                lines.append([method, f"{classes}, {manner}", len(some), *_against(some, method)])
    return table(
        [
            "",
            "classes, pairs",
            "lines",
            *(f"C = {C:.0e}" for C in (1e1, 1e2, 1e3, 1e4)),
            "chosen",
            "accuracy, chosen",
        ],
        lines,
    )


def _against(some, method, base="threshold"):
    grid = _grid([run for runs in some for run in runs], method)
    return [
        *_differences(some, method, base, grid, ("auc",)),
        *_differences(some, method, base, [None], grid=grid),
    ]


def rival_table(rows):
    """Mean AUC over the runs in which all of them learned."""
    names = [
        "Euclid",
        *WAYS,
        "threshold, prior identity",
        "triplets, identities known",
        "LDML",
        "ITML",
    ]
    lines = []
    for classes, manner in sorted({(row["classes"], row["manner"]) for row in rows}):
        some = [
            row
            for row in rows
            if (row["classes"], row["manner"]) == (classes, manner)
            and "LDML" in row["methods"]
            and "ITML" in row["methods"]
        ]
        if not some:
            continue
        cells = []
        for name in names:
            fits = [chosen(row, name) for row in some]
            n_failed = sum("failed" in fit for row in some for fit in row["methods"][name])
            auc, accuracy = (percent([fit[m] for fit in fits]) for m in ("auc", "accuracy"))
            seconds = np.median([fit["seconds"] for fit in fits])
            cells.append(
                f"{auc:.1f} / {accuracy:.1f} / {seconds:.2f}"
                + (f" ({n_failed} fits failed)" if n_failed else "")
            )
        lines.append([f"{classes}, {manner}", len(some), *cells])
    return table(["AUC / accuracy / s", "runs", *names], lines)
