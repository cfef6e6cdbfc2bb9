"""metric-learn's ITML_Supervised."""

from .metric_learn_environment import metric_learn

# Errors on validation parts with gamma = 1, 0.1, 0.01, 10: 5, 15, 18, 5 % on Balance, 31, 28, 30,
# 26 % on Wine (20 % with 100); learned from parts of the data, in 10 passes, 10.1, 10.7, 13.3,
# 14.7 % on USPS and 44, 35, 26, 54 % on letters. The inverse covariance as prior, instead of the
# paper's identity, gives 3.7 % on Wine. A pass over the constraints is a loop in Python: 100 first,
# and the default of 1,000 last, where running over the limit does no harm to what was found.
RIVAL = metric_learn(
    "itml",
    "ITML_Supervised",
    label="ITML",
    paper_name="ITML",
    search={
        "gamma": (1.0, 0.1, 0.01, 10.0, 100.0),
        "prior": ("identity", "covariance"),
        "max_iter": (100, 1000),
    },
)
