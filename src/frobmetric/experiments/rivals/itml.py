"""metric-learn's ITML_Supervised at its defaults."""

from .metric_learn_environment import metric_learn

RIVAL = metric_learn("itml", "ITML_Supervised")
