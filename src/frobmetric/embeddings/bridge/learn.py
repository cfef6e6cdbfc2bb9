"""Learn a bridge from pairs: options by held-out recall, the map, and trust by pairs kept aside."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.points import Array
from ...evaluation.paired import paired_recalls
from .choice import (
    Bridge,
    BridgeReport,
    BridgeSetting,
    Solver,
    Trial,
    choose_protection,
    choose_ridge,
    trust_curve,
)
from .encoder_map import EncoderMap
from .paired import BridgeRecipe, FitData
from .ridge import Cells
from .trust import Questions, TrustScore

#: Shares of the stored curve of trust.
N_SHARES = 101


def learn_bridge(recipe: BridgeRecipe, data: FitData) -> EncoderMap:
    """Return the map that a recipe asks for, learned from checked and scaled pairs."""
    solver = Solver(recipe.tol, recipe.max_iter)
    setting, trials = choose_ridge(data.choice, data.index, data.n_maps, recipe.strength)
    cells = Cells.of(data.pairs.X, setting.n_maps, data.pairs.seed)
    if recipe.neighbor_weight is None:
        setting, more = choose_protection(data.choice, data.index, setting, cells, solver)
        trials = [*trials, *more]
    elif recipe.neighbor_weight > 0:
        setting = BridgeSetting(setting.n_maps, setting.strength, float(recipe.neighbor_weight))
    path, questions = data.pairs.path(cells), data.index.questions(data.pairs.Y)
    bridge = solver.bridge(data.pairs, path, cells, setting, questions)
    left_out = data.pairs.Y - path.left_out_errors(setting.strength)
    report, trust = _calibrate(data, bridge, (left_out, questions), trials, recipe.good_recall)
    return EncoderMap(data.features, *data.scales, bridge, data.index, report, trust)


def _calibrate(
    data: FitData,
    bridge: Bridge,
    training: tuple[Array, Questions],
    trials: list[Trial],
    good_recall: float,
) -> tuple[BridgeReport, TrustScore | None]:
    """Return the report of a map, and the calibrated trust in it.

    `training` are the left-out predictions of the fitted pairs, and their questions.
    """
    (X, Y), index, trust = data.calibration, data.index, None
    given: dict[str, Any] = {"n_pairs": len(data.pairs.X), "n_calibration": len(X)}
    given |= {"n_index": len(index.vectors), "n_neighbors": index.n_neighbors}
    given |= {"n_duplicates": data.n_duplicates, "recall": None}
    if len(X):
        questions, mapped = index.questions(Y), bridge(X)
        recall = questions.recall(mapped)
        trust = TrustScore.learn(data.pairs.X, *training)
        score = trust.score(index, X, mapped, questions.labels)
        trust = trust.calibrated(score, recall < good_recall)
        found = paired_recalls(np.zeros(len(recall)), recall)
        shares, recalls = trust_curve(score, recall)
        kept = np.linspace(0, len(X), min(N_SHARES, len(X) + 1)).round().astype(int)
        given |= {"recall": (found.estimate, *found.interval)}
        given |= {"shares": tuple(shares[kept].tolist()), "recalls": tuple(recalls[kept].tolist())}
    return BridgeReport(bridge.setting, tuple(trials), **given), trust
