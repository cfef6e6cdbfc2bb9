"""metric-learn's LMNN at its defaults."""

from .metric_learn_environment import metric_learn

RIVAL = metric_learn("lmnn", "LMNN")
