"""Tables of the benchmark of the defaults, from the errors of each split."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.stats import rankdata

from ..data.many import SETS
from ..harness import page
from ..harness.formatting import interval, mark, short
from ..harness.summary import Difference, paired_difference

RAW, SCALED, LDA = EUCLID_AND_LDA = "Euclid raw", "Euclid scaled", "LDA"
DEFAULT, CHOSEN, RULE = OURS = "FrobMetric()", "FrobMetricCV()", "FrobMetricCV(), its rule"
#: Other learners of metrics by the names of their parts.
RIVALS = {"nca": "NCA", "lmnn": "LMNN", "itml": "ITML", "scml": "SCML"}
HINDSIGHT = "best setting by hindsight"
#: Methods that classify by 3-NN, which are ranked.
RANKED = (*EUCLID_AND_LDA, DEFAULT, CHOSEN, *RIVALS.values())
#: Points that are added to both errors of a ratio, which may be of errors of zero.
OFFSET = 0.1
#: Time of another method, relative to that of FrobMetricCV, within which its errors are compared.
TIME_RATIO = 20


@dataclass(frozen=True)
class SetErrors:
    """Errors in percent and seconds on one set, by method and split."""

    errors: dict  # method -> ndarray of shape (n_splits,)
    seconds: dict  # method -> mean seconds; of a rival those of the first split, with its choice
    reasons: dict  # rival -> reason why it has no errors
    setting: str = ""  # name of the best setting

    @classmethod
    def collect(cls, parts, name):
        """Return what the parts have measured completely on a set."""
        records = {part: data[name] for part, data in parts.items() if name in data}
        reasons = {
            RIVALS[part]: record["reason"] for part, record in records.items() if "reason" in record
        }
        rows = {key: row for record in records.values() for key, row in record["rows"].items()}
        n_splits = max((len(row["error"]) for row in rows.values()), default=0)
        rows = {
            key: row
            for key, row in rows.items()
            if len(row["error"]) == n_splits and key not in reasons
        }
        errors = {key: np.array(row["error"]) for key, row in rows.items()}
        settings = [*records.get("settings", {"rows": {}})["rows"], RAW, SCALED]
        known = [key for key in settings if key in errors]
        best = min(known, key=lambda key: errors[key].mean(), default="")
        if "settings" in records and best:
            errors[HINDSIGHT] = errors[best]
        seconds = {key: float(np.mean(row["seconds"])) for key, row in rows.items()}
        firsts = {key: rows[key]["seconds"][0] for key in RIVALS.values() if key in rows}
        return cls(errors, seconds | firsts, reasons, best)

    @cached_property
    def means(self):
        """Mean error of each method."""
        return {method: float(errors.mean()) for method, errors in self.errors.items()}

    @property
    def euclid(self):
        """Name of the better of both Euclids, by the mean over the splits."""
        return min((RAW, SCALED), key=self.means.__getitem__)

    @cached_property
    def ranks(self):
        """Rank of each method that classifies by 3-NN, from 1; equal errors share ranks."""
        known = [method for method in RANKED if method in self.means]
        ranks = rankdata([self.means[method] for method in known])
        return dict(zip(known, ranks.tolist(), strict=True))

    def difference(self, method):
        """Return the Difference of a method to the better Euclid, with the interval of t."""
        differences = self.errors[method] - self.errors[self.euclid]
        if len(differences) < 2:
            return Difference(float(differences.mean()), -np.inf, np.inf, 1, "runs")
        return paired_difference(differences, test_share=0.0)

    def is_in_time(self, rival):
        """Return whether a rival took at most `TIME_RATIO` times the time of FrobMetricCV."""
        return self.seconds[rival] <= TIME_RATIO * self.seconds[CHOSEN]


def relative(errors, others):
    """Return ratios of errors after `OFFSET` was added to both."""
    return (np.asarray(errors) + OFFSET) / (np.asarray(others) + OFFSET)


def with_method(sets, *methods):
    """Return the sets on which all of these methods and both Euclids were measured."""
    needed = {RAW, SCALED, *methods}
    return {name: each for name, each in sets.items() if needed <= set(each.errors)}


def mean_of(sets, method):
    """Return the mean over sets of the mean error of a method."""
    return float(np.mean([each.means[method] for each in sets.values()]))


# Tables by set


def set_rows(parts):
    """Return what each set is."""
    rows = []
    for name, each in SETS.items():
        sizes = [data[name]["size"] for data in parts.values() if name in data]
        if sizes:
            about = {"kind": each.kind, "description": each.description}
            rows.append({"set": name} | about | sizes[0])
    return rows


def error_table(sets):
    """Return the mean error of each method on each set."""
    shown = (*EUCLID_AND_LDA, *OURS, HINDSIGHT, *RIVALS.values())
    known = {m for each in sets.values() for m in (*each.errors, *each.reasons)}
    methods, rows = [m for m in shown if m in known], []
    for name, each in sets.items():
        found = [each.means[m] for m in methods if m in each.means and m != HINDSIGHT]
        lowest = min(found, default=None)
        cells = [
            mark(f"{each.means[m]:.2f}", m != HINDSIGHT and each.means[m] == lowest)
            if m in each.means
            else each.reasons.get(m, "")
            for m in methods
        ]
        rows.append([name, *cells, *([each.setting] if HINDSIGHT in methods else [])])
    setting = ["best setting"] if HINDSIGHT in methods else []
    return page.table(["set", *methods, *setting], rows, texts=setting)


def difference_text(difference):
    """Return the mean and the interval, with a word if it is a loss or a gain that is clear."""
    text = interval(difference)
    if not difference.is_clear:
        return text
    return f"{text} {'worse' if difference.mean > 0 else 'better'}"


def difference_table(sets):
    """Return the differences to the better Euclid."""
    methods = [m for m in (LDA, *OURS) if with_method(sets, m)]
    rows = []
    for name, each in with_method(sets).items():
        cells = [difference_text(each.difference(m)) if m in each.errors else "" for m in methods]
        rows.append([name, each.euclid, f"{each.means[each.euclid]:.2f}", *cells])
    if not methods or not rows:
        return ""
    return page.table(["set", "better Euclid", "error", *methods], rows, texts=["better Euclid"])


def seconds_table(sets):
    """Return the seconds of each method on each set."""
    known = {m for each in sets.values() for m in each.seconds}
    methods, rows = [m for m in (LDA, DEFAULT, CHOSEN, *RIVALS.values()) if m in known], []
    for name, each in sets.items():
        cells = [
            f"{each.seconds[m]:.2f}" if m in each.seconds else each.reasons.get(m, "")
            for m in methods
        ]
        rows.append([name, *cells])
    return page.table(["set", *methods], rows) if methods else ""


# Summaries over sets


def summarise(sets, method):
    """Return the row of a method: errors relative to the better Euclid, ranks, gains and losses."""
    some = with_method(sets, method).values()
    errors = np.array([each.means[method] for each in some])
    euclid = np.array([each.means[each.euclid] for each in some])
    row = {"method": method, "n_sets": len(some), "error": errors.mean()}
    row |= {"ratio": errors.mean() / euclid.mean(), "relative": relative(errors, euclid).mean()}
    ranks = [each.ranks[method] for each in some if method in each.ranks]
    worst = max(some, key=lambda each: each.means[method] - each.means[each.euclid])
    names = [name for name, each in sets.items() if each is worst]
    differences = [each.difference(method) for each in some]
    is_clear = np.array([difference.is_clear for difference in differences])
    return row | {
        "rank": float(np.mean(ranks)) if ranks else None,
        "worst": float((errors - euclid).max()),
        "worst_set": names[0],
        "better": int(np.sum(errors < euclid)),
        "worse": int(np.sum(errors > euclid)),
        "clearly_better": int(np.sum(is_clear & (errors < euclid))),
        "clearly_worse": int(np.sum(is_clear & (errors > euclid))),
    }


def summary_rows(sets):
    """Return a row for each method but the rivals, on the sets on which it was measured."""
    methods = (*EUCLID_AND_LDA, *OURS, HINDSIGHT)
    return [summarise(sets, method) for method in methods if with_method(sets, method)]


def rival_rows(sets):
    """Return two rows for each rival: on the sets that it finished, and on those in time."""
    rows = []
    for rival in RIVALS.values():
        finished = with_method(sets, rival, DEFAULT, CHOSEN)
        in_time = {name: each for name, each in finished.items() if each.is_in_time(rival)}
        for label, some in (("finished", finished), ("in time", in_time)):
            if some:
                rows.append({"rival": rival, "sets": label} | compare_rival(some, rival))
    return rows


def compare_rival(sets, rival):
    """Return errors and ranks of a rival and of both defaults on some sets."""
    theirs, ours = (np.array([each.means[m] for each in sets.values()]) for m in (rival, CHOSEN))
    ranks = {
        key: float(np.mean([each.ranks[method] for each in sets.values()]))
        for key, method in (("rank", rival), ("rank_default", DEFAULT), ("rank_cv", CHOSEN))
    }
    return ranks | {
        "n_sets": len(sets),
        "error": theirs.mean(),
        "error_default": mean_of(sets, DEFAULT),
        "error_cv": ours.mean(),
        "relative": relative(ours, theirs).mean(),
        "better": int(np.sum(ours < theirs)),
        "worse": int(np.sum(ours > theirs)),
    }


def hindsight_text(sets):
    """Return how FrobMetricCV compares with the best setting of each set."""
    some = with_method(sets, CHOSEN, HINDSIGHT)
    if not some:
        return ""
    ours, best = (mean_of(some, method) for method in (CHOSEN, HINDSIGHT))
    ratios = [relative(each.means[CHOSEN], each.means[HINDSIGHT]) for each in some.values()]
    ratio = ours / best if best else np.inf
    return f"{ours:.2f} % against {best:.2f} %: {ratio:.3f} times; {np.mean(ratios):.3f}"


def defaults_page(parts):
    """Return all tables; those for which a part is absent are empty."""
    times = [
        row
        | {key: short(row[key]) for key in ("single", "choice")}
        | {"ratio": row["choice"] / row["single"]}
        for row in parts.get("times", [])
    ]
    measured = {name: data for name, data in parts.items() if name != "times"}
    sets = {name: SetErrors.collect(measured, name) for name in SETS}
    sets = {name: each for name, each in sets.items() if each.errors or each.reasons}
    return {
        "sets": set_rows(measured),
        "errors": error_table(sets) if sets else "",
        "differences": difference_table(sets),
        "summary": summary_rows(sets),
        "rivals": rival_rows(sets),
        "hindsight": hindsight_text(sets),
        "seconds": seconds_table(sets),
        "times": times,
    }
