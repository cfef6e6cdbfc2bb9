"""What the paper reports of maximum variance unfolding, in its tables, its text and a caption.

The methods have the paper's names: "FrobMetric" is the perturbed problem, "MVU" the original one,
solved by CSDP.
"""

#: Of the first two tables: data set -> measure -> method -> value.
SPREAD = {
    "swiss_roll": {
        "alstd": {"FrobMetric": 0.113, "MVU": 0.038, "Isomap": 0.245, "LLE": 0.328},
        "aled": {"FrobMetric": 0.311, "MVU": 0.102, "Isomap": 0.668, "LLE": 0.886},
        "alcd": {"FrobMetric": 0.983, "MVU": 0.964, "Isomap": 0.969, "LLE": 0.994},
        "gscd": {"FrobMetric": 0.1163, "MVU": 0.0404, "Isomap": 0.2572, "LLE": 0.3317},
    },
    "teapots": {
        "alstd": {"FrobMetric": 0.377, "MVU": 0.481, "Isomap": 0.0611, "LLE": 0.0805},
        "aled": {"FrobMetric": 1.0, "MVU": 1.28, "Isomap": 0.173, "LLE": 0.232},
        "alcd": {"FrobMetric": 0.995, "MVU": 0.942, "Isomap": 0.997, "LLE": 0.995},
        "gscd": {"FrobMetric": 0.3792, "MVU": 0.5105, "Isomap": 0.0613, "LLE": 0.0808},
    },
}
#: Seconds, where the text gives them: data set -> method -> value.
SECONDS = {
    "teapots": {"FrobMetric": 4.0, "MVU": 85.0},
    "faces": {"FrobMetric": 131.0, "MVU": 4732.0},
}
#: How many times faster than MVU the perturbed problem is said to be in the figure of time.
TIMES_FASTER = 15
#: What the paper says that its figures show.
WORDS = {
    "swiss_roll": "MVU is best in ALSTD, ALED and GSCD and FrobMetric second; FrobMetric keeps "
    "neighbourhoods as well as MVU, and better than Isomap and LLE; B_NX is below zero for all.",
    "teapots": "Both FrobMetric and MVU keep the order of the views. FrobMetric is slightly better "
    "than MVU in ALSTD, ALED, ALCD and GSCD, and worse than Isomap and LLE.",
    "teapots_3": "Both FrobMetric and MVU keep the order of the views.",
    "faces": "A figure of the embedding by FrobMetric, without numbers but for the times.",
    "time": "FrobMetric with sigma = 1e2 is about 15 times faster than MVU.",
}
