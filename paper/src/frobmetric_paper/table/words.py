"""Numbers of a table of methods and data sets as words."""

from __future__ import annotations

from ..mvu.words import NOTHING, OUTCOMES, number

#: What stands beside an error that is far from the paper's.
MARK = "†"


def percent(mean, std=None):
    """An error as the paper writes it: 2.32 (0.31)."""
    if mean is None:
        return NOTHING
    return f"{mean:.2f}" if std is None else f"{mean:.2f} ({std:.2f})"


def change(before, after):
    """A number between 0 and 1 without a metric, and with it."""
    return NOTHING if after is None else f"{before:.3f} → {after:.3f}"


def outcome_words(found):
    """Why a cell, or a summary of cells, has no answer, in a word or two."""
    if found.outcome == "limit":
        return found.remark.partition(" when ")[0]
    return OUTCOMES.get(found.outcome, NOTHING)


def error(summary, is_far=False):
    """The error of a method on a data set, or why there is none."""
    if summary.error is None:
        return outcome_words(summary)
    mark = f" {MARK}" if is_far else ""
    return f"{percent(summary.error, summary.std)}{mark}"


def seconds(value, is_bound=False):
    """A time of the table."""
    if value is None:
        return NOTHING
    return f"< {value:g} s" if is_bound else f"{number(value, 3)} s"


def duration(value):
    """A time for people who wait: 12 s, 3 min, 1.5 h."""
    if value < 100:
        return f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 6000 else f"{value / 3600:.1f} h"


def parameters(chosen):
    """For example C = 1e4, n_passes = 2."""
    if not chosen:
        return NOTHING
    return ", ".join(f"{name} = {value_words(value)}" for name, value in chosen.items())


def value_words(value):
    """A parameter: numbers without needless digits."""
    if not isinstance(value, int | float):
        return str(value)
    return f"{value:.3g}".replace("e+0", "e").replace("e-0", "e-")


def difference(found):
    """+1.20 [0.31, 2.09], with a star where zero is left out."""
    if found is None:
        return NOTHING
    star = " *" if found.is_clear else ""
    return f"{found.mean:+.2f} [{found.low:+.2f}, {found.high:+.2f}]{star}"


def runs(summary):
    """How many of the runs have an answer."""
    if summary.runs == summary.asked:
        return str(summary.runs)
    return f"{summary.runs} of {summary.asked}"
