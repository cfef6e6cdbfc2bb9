"""Contents of a report: findings as packed numbers for the scripts, and as texts and tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from ...checks.text import shown
from ...evaluation.paired import decimals, format_interval
from ...evaluation.row import EUCLIDEAN, ComparisonRow
from ...evaluation.table import Comparison
from ...plotting.style import COLOURS
from .captions import Column, largest
from .doubts import Doubts
from .importance import Importance
from .packing import pack_numbers, pack_whole, packed_size, rounded
from .spaces import Spaces

#: Bytes, before base64, that samples with their texts, and the matrix of the map, may take in a
#: page; the rest of it takes about 5 MB.
MOST_BYTES = 2_200_000
#: Number of samples below which the features are left out of a page, unless they are pictures.
FEW_POINTS = 1000
#: Numbers of neighbours and of components of a sample that a page holds.
N_NEIGHBORS, N_COMPONENTS = 8, 16
#: Bytes, before base64, of a sample on both maps: neighbours, places, row number, class and votes.
BYTES_ON_MAPS = 2 * (2 * N_NEIGHBORS + 2 * 2 + 1) + 4
#: Number of samples whose texts are measured.
N_MEASURED = 1000
#: Numbers of features, of classes of a table and of confusions that are listed.
N_FEATURES, N_CLASSES, N_CONFUSIONS = 15, 12, 10
#: Length of a name of a class from which on the table of confusions shows only its beginning.
LONG_NAME = 18
OPENINGS = {
    "helped": "helps here",
    "hurt": "does harm here",
    "no difference": "makes no difference here",
    "nothing to gain": "has nothing to gain here",
    "unclear": "may or may not help: these samples are too few to tell",
}


@dataclass(frozen=True, eq=False)
class Findings:
    """All results of a report.

    Attributes
    ----------
    comparison, spaces, importance, doubts
        Results; importance is None if the map is not linear.
    dimensions : dict
        Errors by number of dimensions; empty if they could not be measured.
    feature_names : list of str
    columns : list of Column
        Columns of the table before its preparation.
    names : list of str or None
        Names of all samples.
    labels : ndarray of shape (n,)
        Classes of all samples, with the samples of X first.
    votes : tuple of two ndarrays of shape (n,)
        Held-out votes, before and after.
    is_tested : ndarray of shape (n,)
        Whether each sample has a held-out vote.
    image_shape : tuple or None
    metric : estimator or None
        Metric of this library.
    notes : list of str
        Remarks on the test.
    """

    comparison: Comparison
    spaces: Spaces
    importance: Importance | None
    doubts: Doubts
    dimensions: dict[str, Any]
    feature_names: list[str]
    columns: list[Column]
    names: list[str] | None
    labels: np.ndarray
    votes: tuple[np.ndarray, np.ndarray]
    is_tested: np.ndarray
    image_shape: tuple[int, ...] | None
    metric: Any
    notes: list[str]

    @property
    def classes(self) -> np.ndarray:
        """All classes, also those that were only predicted."""
        return np.unique(np.concatenate([self.labels, *self.votes]))

    @property
    def class_names(self) -> list[str]:
        """Classes as text."""
        return [shown(name) for name in self.classes]

    def name(self, row: int) -> str:
        """Return what a sample is called."""
        return f"row {row}" if self.names is None else self.names[row]

    def caption(self, rows: np.ndarray) -> dict[str, Any]:
        """Return the columns that matter most, and their values of some samples."""
        if self.image_shape is not None:
            return {"columns": [], "texts": []}
        X, numbers = self.spaces.X[rows], largest(self.columns, self.importance)
        return {"columns": numbers, "texts": [self.columns[j].texts(X) for j in numbers]}

    def values(self, row: int) -> list[tuple[str, str]]:
        """Return labels and values of the columns that matter most of one sample."""
        caption = self.caption(np.array([row]))
        labels = [self.columns[j].label for j in caption["columns"]]
        return [(label, text) for label, (text,) in zip(labels, caption["texts"], strict=True)]

    def codes(self, labels: np.ndarray) -> np.ndarray:
        """Return the numbers of classes."""
        return np.searchsorted(self.classes, labels)


@dataclass(frozen=True, eq=False)
class Sample:
    """Samples that a page shows: their row numbers, and whether it holds their features."""

    rows: np.ndarray
    has_features: bool

    @classmethod
    def of(
        cls, findings: Findings, max_points: int, seed: int, most_bytes: int = MOST_BYTES
    ) -> Sample:
        """Draw the samples in doubt, and others as far as the page stays small."""
        X, matrix = findings.spaces.X, findings.spaces.matrix
        fixed = 0 if matrix is None else 2 * matrix.size
        learned = 2 * min(N_COMPONENTS, findings.spaces.after.shape[1])
        always = BYTES_ON_MAPS + _bytes_of_texts(findings)
        row = packed_size(1, X) + (learned if matrix is None else 0) + always
        limit = max(0, most_bytes - fixed) // row
        n_wanted = min(len(X), max_points)
        has_features = limit >= min(n_wanted, FEW_POINTS) or findings.image_shape is not None
        if not has_features:
            limit = most_bytes // (learned + always)
        n_shown = min(n_wanted, max(limit, 2))
        doubts = findings.doubts
        wanted = np.unique(
            np.concatenate([doubts.samples, doubts.triplets.ravel()]).astype(np.intp)
        )
        others = np.setdiff1d(np.arange(len(X)), wanted)
        n_others = min(len(others), max(0, n_shown - len(wanted)))
        drawn = np.random.default_rng(seed).choice(others, n_others, replace=False)
        return cls(np.sort(np.concatenate([wanted, drawn])), has_features)

    def places(self, rows: np.ndarray) -> list[Any]:
        """Return the places of rows among those that are shown."""
        return np.searchsorted(self.rows, rows).tolist()


def _bytes_of_texts(findings: Findings) -> int:
    """Return the bytes, before base64, that the name and the caption of a sample take on average.

    Texts are not in base64; four characters of base64 hold three bytes.
    """
    n = len(findings.labels)
    rows = np.linspace(0, n - 1, min(n, N_MEASURED)).astype(np.intp)
    names = [] if findings.names is None else [findings.names[i] for i in rows.tolist()]
    return 3 * len(json.dumps([names, findings.caption(rows)["texts"]])) // (4 * len(rows))


def data_of(findings: Findings, sample: Sample) -> dict[str, Any]:
    """Return the data of the scripts of the page, as plain values."""
    spaces, rows = findings.spaces, sample.rows
    before, after, shares = spaces.planes()
    near_before, near_after = spaces.neighbors(rows, N_NEIGHBORS)
    votes = [findings.codes(vote)[rows] for vote in findings.votes]
    codes, is_tested = findings.codes(findings.labels)[rows], findings.is_tested[rows]
    change = 1 + (votes[0] != codes) + 2 * (votes[1] != codes)  # right, put right, spoiled, wrong
    data = {
        "n": len(rows),
        "rows": pack_whole(rows),
        "classes": findings.class_names,
        "colours": list(COLOURS),
        "y": pack_whole(codes),
        "change": pack_whole(np.where(is_tested, change, 0)),
        "votes": [pack_whole(vote) for vote in votes],
        "planes": [pack_numbers(plane[rows]) for plane in (before, after)],
        "shares": rounded(shares, 3),
        "neighbors": [pack_whole(near) for near in (near_before, near_after)],
        "names": None if findings.names is None else [findings.names[i] for i in rows.tolist()],
        "columns": [
            [column.label, column.places, column.categories] for column in findings.columns
        ],
        "caption": findings.caption(rows),
        "features": findings.feature_names,
        "image": findings.image_shape,
        "spectra": [rounded(curve[:200], 4) for curve in spaces.spectra()],
        "dimensions": findings.dimensions,
        "start": _starts(findings, sample, near_after),
    }
    if findings.image_shape is not None and findings.importance is not None:
        both = (findings.importance.before, findings.importance.after)
        data["importance"] = [rounded(np.maximum(0.0, share), 4) for share in both]
    return data | _details(spaces, sample)


def _details(spaces: Spaces, sample: Sample) -> dict[str, Any]:
    """Return features and matrix, or the leading coordinates of the learned space."""
    if sample.has_features:
        table = spaces.X[sample.rows]
        details: dict[str, Any] = {"table": pack_numbers(table), "unit": rounded(spaces.unit)}
        details["range"] = [float(table.min()), float(table.max())]
        if spaces.matrix is not None:
            norms = np.linalg.norm(spaces.matrix, axis=1)
            matrix = spaces.matrix[norms > 1e-9 * norms.max(initial=0.0)]
            details["matrix"] = pack_numbers(matrix) if len(matrix) else None
            return details
        return details | {"learned": pack_numbers(spaces.after[sample.rows, :N_COMPONENTS])}
    return {"table": None, "learned": pack_numbers(spaces.after[sample.rows, :N_COMPONENTS])}


def _starts(findings: Findings, sample: Sample, near: np.ndarray) -> list[int]:
    """Return the places of the two samples that are chosen at first: one put right if any."""
    labels = findings.labels[sample.rows]
    before, after = (vote[sample.rows] for vote in findings.votes)
    fixed = np.flatnonzero((before != labels) & (after == labels))
    first = int(fixed[0]) if len(fixed) else 0
    return [first, int(near[first, 0])]


def sections_of(findings: Findings, sample: Sample) -> dict[str, Any]:
    """Return the texts and tables of the page."""
    n, n_shown = len(findings.labels), len(sample.rows)
    return {
        "verdict": _verdict(findings),
        "certificate": _certificate(findings.metric),
        "importance": _importance(findings),
        "confusion": _confusion(findings),
        "doubts": _doubts(findings, sample),
        "dimensions": findings.dimensions,
        "classes": findings.class_names,
        "n_samples": n,
        "n_shown": n_shown,
        "n_features": findings.spaces.X.shape[1],
        "has_features": sample.has_features,
        "is_linear": findings.spaces.matrix is not None,
        "has_pictures": findings.image_shape is not None,
        "euclid": EUCLIDEAN[findings.comparison.euclidean.key],
    }


def _verdict(findings: Findings) -> dict[str, Any]:
    comparison = findings.comparison
    errors: Any = comparison.errors  # of classes
    digits = decimals(comparison.n_test)
    first, *others = comparison.sentences()
    model = comparison["model"]
    others = [text for text in others if not text.startswith("Optimisation")]
    return {
        "kind": errors.verdict,
        "opening": f"{model.label} {OPENINGS[errors.verdict]}",
        "before": comparison.euclidean.percent(),
        "after": model.percent(),
        "points": f"{100 * errors.estimate:+.{digits}f}",
        "interval": format_interval(errors.interval, digits, sign="+"),
        "better": comparison.better_baselines(),
        "fixed": errors.n_fixed,
        "broken": errors.n_broken,
        "pvalue": f"{errors.pvalue:.2g}",
        "n_test": comparison.n_test,
        "n_folds": comparison.n_folds,
        "n_train": comparison.n_train,
        "n_neighbors": comparison.n_neighbors,
        "detail": first.partition(": ")[2],
        "notes": [text for text in others if text not in comparison.better_baselines()]
        + findings.notes,
        "hints": [hint.to_dict() for hint in comparison.hints],
    } | _error_bars(comparison.measured, digits)


def _error_bars(rows: Sequence[ComparisonRow], digits: int) -> dict[str, Any]:
    """Return errors and intervals in percent of the largest end, and the largest end as text."""
    largest = max(row.interval[1] for row in rows)
    unit = 100 / largest
    bars = [
        {
            "label": row.label,
            "is_model": row.key == "model",
            "percent": row.percent(),
            "interval": format_interval(row.interval, digits),
            "left": unit * row.interval[0],
            "width": unit * (row.interval[1] - row.interval[0]),
            "at": unit * row.error,
        }
        for row in rows
    ]
    return {"largest": f"{100 * largest:.{digits}f} %", "rows": bars}


def _certificate(metric: Any) -> dict[str, Any] | None:
    """Return the certificate in words; None if the model has none."""
    certificate = getattr(metric, "certificate_", None)
    if certificate is None:
        return None
    tol = metric.tol
    return {
        "is_certified": certificate.is_within(tol),
        "gap": f"{100 * certificate.error:.2g} %",
        "tol": f"{100 * tol:.2g} %",
        "text": str(certificate),
    }


def _importance(findings: Findings) -> dict[str, Any] | None:
    important = findings.importance
    if important is None:
        return None
    order = important.order[:N_FEATURES]
    shown_after = important.after if important.intervals is None else important.intervals[:, 1]
    unit = 100 / max(
        np.max([important.before[order], important.after[order], shown_after[order]]), 1e-12
    )
    rows = []
    for i in order.tolist():
        row = {"name": findings.feature_names[i], "place": i}
        row |= {"before": _percent(important.before[i]), "after": _percent(important.after[i])}
        row["width_before"] = unit * max(0.0, important.before[i])
        row["width_after"] = unit * max(0.0, important.after[i])
        if important.intervals is not None:
            low, high = np.maximum(0.0, important.intervals[i])
            row |= {"left": unit * low, "width": unit * (high - low)}
            row["interval"] = format_interval(tuple(important.intervals[i]), 1)
        rows.append(row)
    rest = 1.0 - float(important.after[order].sum())
    return {
        "rows": rows,
        "n_others": len(important.after) - len(order),
        "rest": _percent(rest),
        "n_refits": important.n_refits,
        "n_samples": important.n_samples,
        "note": important.note,
    }


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _confusion(findings: Findings) -> dict[str, Any]:
    """Return the tables of true classes by voted ones, or the most frequent confusions."""
    rows = np.flatnonzero(findings.is_tested)
    truth = findings.codes(findings.labels[rows])
    n_classes = len(findings.classes)
    counts = [
        confusion_matrix(truth, findings.codes(vote[rows]), labels=np.arange(n_classes))
        for vote in findings.votes
    ]
    lists = [_frequent(table, findings.class_names) for table in counts]
    tables = None if n_classes > N_CLASSES else [_shaded(table) for table in counts]
    long = [name for name in findings.class_names if len(name) > LONG_NAME]
    return {"tables": tables, "lists": lists, "long": long, "is_wide": n_classes > 4}


def _shaded(counts: np.ndarray) -> list[list[dict[str, Any]]]:
    """Return cells with their count, and the strength of their colour, by share of the row."""
    sums = np.maximum(1, counts.sum(axis=1, keepdims=True))
    strength = np.rint(100 * np.sqrt(counts / sums)).astype(int)
    return [
        [
            {"count": int(c), "strength": int(s), "is_right": i == j}
            for j, (c, s) in enumerate(zip(*row, strict=True))
        ]
        for i, row in enumerate(zip(counts, strength, strict=True))
    ]


def _frequent(counts: np.ndarray, names: list[str]) -> list[tuple[str, str, int]]:
    wrong = counts - np.diag(counts.diagonal())
    order = np.argsort(-wrong, axis=None, kind="stable")[:N_CONFUSIONS]
    pairs = (np.unravel_index(i, wrong.shape) for i in order)
    return [(names[i], names[j], int(wrong[i, j])) for i, j in pairs if wrong[i, j]]


def _card(findings: Findings, row: int, place: int) -> dict[str, Any]:
    """Return the content of the card of a sample."""
    card = {"row": row, "place": place, "name": findings.name(row)}
    return card | {"label": shown(findings.labels[row]), "values": findings.values(row)}


def _doubts(findings: Findings, sample: Sample) -> dict[str, Any]:
    doubts, names = findings.doubts, findings.class_names
    votes = findings.codes(findings.votes[1])
    samples = [
        _card(findings, int(row), place)
        | {"vote": names[votes[row]], "share": f"{100 * share:.0f} %"}
        for row, place, share in zip(
            doubts.samples, sample.places(doubts.samples), doubts.shares, strict=True
        )
    ]
    triplets = [
        {
            "margin": f"{margin:.3g}",
            "parts": [
                _card(findings, int(row), place) | {"role": role}
                for role, row, place in zip(
                    ("sample", "near one", "far one"), rows, sample.places(rows), strict=True
                )
            ],
        }
        for rows, margin in zip(doubts.triplets, doubts.margins, strict=True)
    ]
    share = _percent(doubts.n_at_bound / doubts.n_triplets) if doubts.n_triplets else ""
    return {"samples": samples, "triplets": triplets, "share": share, "notes": doubts.notes} | {
        "n_triplets": doubts.n_triplets
    }
