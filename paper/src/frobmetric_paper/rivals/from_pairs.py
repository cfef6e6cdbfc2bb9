"""LDML and metric-learn's ITML, given pairs instead of labels."""

from dataclasses import replace

from . import itml, ldml
from .in_python import command
from .metric_learn_environment import python_of_environment

#: Called by child.py before its clock starts.
warm_up = ldml.warm_up


def learn(task):
    L, bias, detail = ldml.learn_from_pairs(
        task["X"], task["pairs"], task["same"], **task["parameters"]
    )
    return L, detail | {"bias": bias, "n_pairs": len(task["pairs"])}


LDML = replace(
    ldml.RIVAL, learns_from="pairs", command=command("function", f"{__name__}:learn"), search={}
)
ITML = replace(
    itml.RIVAL,
    learns_from="pairs",
    command=lambda task: command(
        "pair_estimator", "metric_learn:ITML", python=python_of_environment()
    )(task),
    search={},
)
