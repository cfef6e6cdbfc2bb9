"""What the paper reports of faces: its two tables, in percent and seconds."""

from dataclasses import dataclass

#: Columns and rows of the table over dimensions and triplets.
DIMENSIONS = (100, 200, 300, 400)
N_TRIPLETS = (3_000, 6_000, 9_000, 12_000, 15_000, 18_000)

#: (number of triplets, dimensions) -> accuracy in percent, and what stands in brackets after it.
ACCURACY = {
    (count, dimensions): pair
    for count, row in zip(
        N_TRIPLETS,
        (
            ((82.10, 1.21), (83.29, 1.59), (83.81, 1.04), (84.08, 1.18)),
            ((82.26, 1.27), (83.55, 1.28), (84.06, 1.06), (83.91, 1.48)),
            ((82.40, 1.30), (83.62, 1.18), (84.08, 0.92), (84.34, 1.23)),
            ((82.50, 1.22), (83.86, 1.18), (84.13, 0.84), (84.19, 1.31)),
            ((82.55, 1.30), (83.70, 1.22), (84.29, 0.77), (84.27, 0.90)),
            ((82.72, 1.24), (83.69, 1.23), (84.20, 0.84), (84.32, 1.45)),
        ),
        strict=True,
    )
    for dimensions, pair in zip(DIMENSIONS, row, strict=True)
}

#: The same -> seconds of processor time.
SECONDS = {
    (count, dimensions): seconds
    for count, row in zip(
        N_TRIPLETS,
        (
            (51, 215, 373, 937),
            (100, 222, 661, 1_312),
            (142, 534, 1_349, 3_499),
            (186, 647, 1_295, 6_418),
            (235, 704, 1_706, 3_616),
            (237, 830, 2_342, 7_621),
        ),
        strict=True,
    )
    for dimensions, seconds in zip(DIMENSIONS, row, strict=True)
}


@dataclass(frozen=True)
class Line:
    """A line of the paper's table of results by others.

    Attributes
    ----------
    authors : str
    single, several : str
        Accuracy with one descriptor and one classifier, and with more; empty if there is none.
    single_name, several_name : str
        What the paper's figure calls them.
    """

    authors: str
    single: str = ""
    single_name: str = ""
    several: str = ""
    several_name: str = ""


PUBLISHED = (
    Line("Turk et al.", "60.02 (0.79)", "Eigenfaces"),
    Line("Nowak et al.", "73.93 (0.49)", "Nowak-funneled"),
    Line("Huang et al.", "70.52 (0.60)", "Merl", "76.18 (0.58)", "Merl+Nowak"),
    Line("Wolf et al., 2008", several="78.47 (0.51)", several_name="Hybrid descriptor-based"),
    Line("Wolf et al., 2009", "72.02", "", "86.83 (0.34)", "Combined b/g samples based methods"),
    Line("Pinto et al.", "79.35 (0.55)", "V1-like/MKL"),
    Line("Taigman et al.", "83.20 (0.77)", "", "89.50 (0.40)", "Multishot combined"),
    Line("Kumar et al.", several="85.29 (1.23)", several_name="attribute + simile classifiers"),
    Line(
        "Cao et al.", "81.22 (0.53)", "single LE + holistic", "84.45 (0.46)", "multiple LE + comp"
    ),
    Line("Guillaumin et al.", "83.2 (0.4)", "LDML", "87.5 (0.4)", "LMNN + LDML"),
    Line("the paper", "84.34 (1.23)", "FrobMetric on SIFT"),
)
