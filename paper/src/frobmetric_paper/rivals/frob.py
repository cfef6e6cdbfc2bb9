"""FrobMetric as in the paper: the triplets are given, C is chosen."""

from frobmetric.metric.frob import FrobMetric

from .in_python import command
from .ours import fit, load_compiled
from .rival import Rival

#: Called by child.py before its clock starts.
warm_up = load_compiled


def learn(task):
    return fit(FrobMetric(**task["parameters"]), task)


RIVAL = Rival(
    name="frob",
    label="FrobMetric",
    paper_name="FrobMetric",
    learns_from="triplets",
    needs="nothing",
    search={"C": (1e4, 1e3, 1e5, 1e2, 1e1, 1e6)},
    command=command("function", f"{__name__}:learn"),
    stays=True,
)
