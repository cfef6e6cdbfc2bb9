"""metric-learn's SCML_Supervised at its defaults."""

from .metric_learn_environment import metric_learn

RIVAL = metric_learn("scml", "SCML_Supervised", label="SCML")
