"""What the paper reports in Table I: errors of 3-NN in percent, and seconds of learning."""

from __future__ import annotations

from ..table.spec import Published

COLUMNS = ("mnist", "usps", "letters", "yale", "balance", "wine", "iris")
#: Shorter than a second, as the paper says it.
LESS = "< 1"

#: Mean and standard deviation; a single number for a single run, None where the paper has a dash.
ERRORS = {
    "Euclidean": (
        3.19,
        (4.78, 0.40),
        5.42,
        (28.07, 2.07),
        (18.60, 3.96),
        (28.08, 7.49),
        (3.64, 4.18),
    ),
    "PCA": (3.10, (3.49, 0.62), None, (28.65, 2.18), None, None, None),
    "LDA": (8.76, (6.96, 0.68), 4.44, (5.08, 1.15), (12.58, 2.38), (0.77, 1.62), (3.18, 3.07)),
    "SVM": (2.97, (2.15, 0.30), 2.96, (4.94, 2.14), (5.59, 3.61), (1.15, 1.86), (3.64, 3.59)),
    "RCA": (7.85, (5.35, 0.52), 4.64, (7.65, 1.08), (17.42, 3.58), (0.38, 1.22), (3.18, 3.07)),
    "NCA": (None, None, None, None, (18.28, 3.58), (28.08, 7.49), (3.18, 3.74)),
    "LMNN": (2.30, (3.49, 0.62), 3.82, (14.75, 12.11), (12.04, 5.59), (3.46, 3.82), (3.64, 2.87)),
    # a footnote: LMNN solved for M
    "lmnn_matrix": (None, None, None, None, None, (20.77, 14.18), None),
    "ITML": (2.80, (3.85, 1.13), 7.20, (19.39, 2.11), (10.11, 4.06), (28.46, 8.35), (3.64, 3.59)),
    "BoostMetric": (
        2.76,
        (2.53, 0.47),
        3.06,
        (6.91, 1.90),
        (10.11, 3.45),
        (3.08, 3.53),
        (3.18, 3.74),
    ),
    "FrobMetric": (
        2.56,
        (2.32, 0.31),
        2.72,
        (9.20, 1.06),
        (9.68, 3.21),
        (3.85, 4.44),
        (3.64, 3.59),
    ),
}
SECONDS = {
    "LMNN": (39_600.0, 20.0, 1249.0, 896.0, 5.0, 2.0, 2.0),
    "ITML": (1479.0, 72.0, 55.0, 5970.0, 8.0, 4.0, 4.0),
    "BoostMetric": (34_200.0, 338.0, 3.0, 572.0, LESS, 2.0, LESS),
    "FrobMetric": (280.0, 9.0, 13.0, 335.0, LESS, LESS, LESS),
}


def published(errors=ERRORS, seconds=SECONDS, columns=COLUMNS):
    """The table as row -> column -> Published."""
    nothing = (None,) * len(columns)
    return {
        row: {
            column: _cell(error, time)
            for column, error, time in zip(
                columns, errors[row], seconds.get(row, nothing), strict=True
            )
            if error is not None or time is not None
        }
        for row in errors
    }


def _cell(error, time):
    mean, std = error if isinstance(error, tuple) else (error, None)
    return Published(mean, std, 1.0 if time == LESS else time, time == LESS)
