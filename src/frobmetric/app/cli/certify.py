"""The command certify: the certificate of a model, recomputed from its training data."""

from __future__ import annotations

import inspect
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ...core import CertificateError
from ...learning.prove import uses_labels
from ...model.agreement import disagreements
from ...model.linear_map import required
from ...model.shell import map_of
from ...runtime.environment import replacing, target_file
from .declaration import Positive, command
from .fit import gap_verdict
from .models import load_model, read_features
from .terminal import ExitCode, Report

#: Relative gap from which on nothing is proven, whatever the tolerance.
LARGEST_GAP = 0.99


@command()
def certify(
    model: Path,
    data: Path,
    *,
    target: str | None = None,
    tol: Positive | None = None,
    exact: bool = False,
    proof: Path | None = None,
    header: bool = True,
) -> Report:
    """Recompute the certificate of a model from its training data.

    Recomputes the certificate from the proof that a fit with --keep-proof left in the model, and
    compares it, and what else the file claims of the data, with these data. With labels (--target),
    the triplets, and a prior and units that depend on labels, are compared too.

    Parameters
    ----------
    tol
        Relative gap to demand; the tolerance of the model if not given.
    exact
        Verify the certificate in exact arithmetic, which takes longer.
    proof
        File, such as proof.npz, for the proof in exact arithmetic, which `python -m
        frobmetric.verify` verifies without the model and without the library.
    """
    if proof is not None:
        target_file(proof)
    estimator = load_model(model)
    if "keep_dual" not in estimator.get_params():
        raise ValueError(
            f"{model} is an {type(estimator).__name__}, whose file keeps the certificate of its "
            "fit and nothing to prove it with again; read it in Python: "
            "frobmetric.load(path).certificate_, or fit again, which proves it anew"
        )
    learned = map_of(estimator)
    if learned.evidence is None:
        raise CertificateError(
            f"{model} keeps no proof: it has the metric and the claim of its fit, but no dual "
            "variables to check it with; fit again with --keep-proof"
        )
    if "preprocessor" in estimator.get_params():
        raise ValueError(
            f"{model} is a {type(estimator).__name__}, learned from tuples, which a table does not "
            "hold; prove it in Python: frobmetric.load(path).set_params(preprocessor=X)"
            ".certify(tuples, y)"
        )
    table = read_features(estimator, data, target, header)
    options = {"exact": True} if exact or proof is not None else {}
    if options and "exact" not in inspect.signature(estimator.certify).parameters:
        kind = type(estimator).__name__
        raise ValueError(
            f"{model} is a {kind}, which has no proof in exact arithmetic; expected a "
            "FrobMetric or FrobMetricCV; leave out --exact and --proof"
        )
    claimed = estimator.certificate_
    recomputed = estimator.certify(table.dataframe(), table.y, **options)
    differing = disagreements(claimed, recomputed, estimator.history_)
    tol = tol or required(required(learned.run, "run").tol, "tolerance")
    is_certified = not differing and recomputed.is_within(tol)
    verdict = gap_verdict(recomputed, tol) + ", and the claim holds" * is_certified
    if table.y is None and uses_labels(learned):
        verdict += "\nlabels were not given (--target): that the triplets are theirs is not checked"
    if differing:
        verdict = (
            f"NOT certified: the file claims another {', '.join(differing)} than its metric and "
            "these data give; it was changed after the fit"
        )
    facts: dict[str, Any] = {"tol": tol, "disagreements": differing, "certified": is_certified}
    facts |= {"claimed": asdict(claimed), "recomputed": asdict(recomputed)}
    about = "\n(of the table that the model prepares)" * (learned.features.preparation is not None)
    arrays = facts["recomputed"].pop("proof", None)
    text = f"claimed:    {claimed}\nrecomputed: {recomputed}\n{verdict}{about}"
    if proof is not None:
        with replacing(proof) as file:
            np.savez(file, **arrays)
        text += f"\nproof in {proof}; verify it by: python -m frobmetric.verify {proof}"
    return Report(ExitCode.of(is_certified), text, facts)
