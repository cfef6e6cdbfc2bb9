"""Numbers as text: the one home of their format in pages, figures and progress lines."""

from __future__ import annotations

NOTHING = "–"
#: Shortest time that is shown, in seconds.
SHORTEST = 0.001
#: Text in place of a number, by outcome.
OUTCOME_TEXT = {"missing": "not installed", "failed": "failed", "skipped": NOTHING}


def number(value, digits=4):
    """Return some digits of a number, without an exponent where that is short."""
    if value is None:
        return NOTHING
    rounded = f"{value:.{digits - 1}e}"
    exponent = int(rounded.partition("e")[2])
    if not -5 < exponent < 7:
        return rounded
    decimals = max(0, digits - 1 - exponent) if value else 0
    return f"{value:,.{decimals}f}"


def percent(mean, std=None):
    """Return a number in percent as the paper writes it: 2.32 (0.31)."""
    if mean is None:
        return NOTHING
    return f"{mean:.2f}" if std is None else f"{mean:.2f} ({std:.2f})"


def with_error(mean, error):
    """Return mean and standard error: 87.52 ± 0.31."""
    return f"{mean:.2f}" if error is None else f"{mean:.2f} ± {error:.2f}"


def change(before, after):
    """Return a number between 0 and 1 before and after learning."""
    return NOTHING if after is None else f"{before:.3f} → {after:.3f}"


def seconds(value, is_bound=False):
    """Return a time as text; "<" marks an upper bound, such as a millisecond for less than that."""
    if value is None:
        return NOTHING
    value, is_bound = (SHORTEST, True) if value < SHORTEST else (value, is_bound)
    return f"< {value:g} s" if is_bound else f"{number(value, 3)} s"


def outcome(cell):
    """Return in a word or two why a cell, or a summary of cells, has no answer."""
    if cell.outcome == "limit":
        return cell.remark.partition(" when ")[0]
    return OUTCOME_TEXT.get(cell.outcome, NOTHING)


def parameters(chosen):
    """Return parameters by name, for example C = 1e4, n_passes = 2."""
    if not chosen:
        return NOTHING
    return ", ".join(f"{name} = {parameter(value)}" for name, value in chosen.items())


def parameter(value):
    """Return the value of a parameter without needless digits."""
    if not isinstance(value, int | float):
        return "none" if value is None else str(value)
    return f"{value:.3g}".replace("e+0", "e").replace("e-0", "e-")


def difference(found):
    """Return mean and interval, with a star where zero is outside: +1.20 [0.31, 2.09] *."""
    if found is None:
        return NOTHING
    star = " *" if found.is_clear else ""
    return f"{found.mean:+.2f} [{found.low:+.2f}, {found.high:+.2f}]{star}"


def interval(difference):
    """Return mean and interval: +1.20 (+0.31 to +2.09)."""
    return f"{difference.mean:+.2f} ({difference.low:+.2f} to {difference.high:+.2f})"


def limits(cells):
    """Return the limits of a fit that cells were run with: 15 s, or 15 to 300 s."""
    found = sorted({cell.limit for cell in cells if cell.outcome != "skipped"})
    ends = dict.fromkeys([*found[:1], *found[-1:]])
    return f"{' to '.join(f'{each:,g}' for each in ends)} s" if ends else NOTHING


def listed(texts):
    """Return texts as a list in a sentence: a, b and c."""
    *first, last = texts
    return f"{', '.join(first)} and {last}" if first else last


def plural(n, noun):
    """Return a number of things: 1 run, 2 runs."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def count(n, whole):
    """Return how many of all there are: 3 of 5, or 5."""
    return str(n) if n == whole else f"{n} of {whole}"


def short(number):
    """Return three digits without a power of ten."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def mark(text, is_best):
    """Return text with a star where it is the best of its kind."""
    return f"{text} *" if is_best else text
