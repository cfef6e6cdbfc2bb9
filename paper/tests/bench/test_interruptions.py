"""The benchmark of killed fits: a small one of it, and the rows of its page."""

import numpy as np
import pytest

from frobmetric_paper.bench.interruptions import COPIES, Fit, interrupt, interruptions_page

CASE = {"n": 200, "D": 20, "tol": 1e-4, "n_passes": 2}


@pytest.mark.slow
def test_a_killed_fit_ends_as_a_whole_one(tmp_path):
    fit = Fit(tmp_path, CASE)
    seconds, whole = fit.run()
    row = interrupt(fit, seconds, np.random.default_rng(0))
    assert row["kills"] >= 1
    assert row["refused"] == row["damaged"] == COPIES * row["states"]
    assert (row["status"], row["triplets"]) == ("optimal", whole["triplets"])
    assert row["objective"] == pytest.approx(whole["objective"], rel=1e-4)
    assert row["is_clean"]


def test_the_page_counts_fits_that_are_not_the_same():
    same = {"case": "a", "seconds": 2.0, "status": "optimal", "gap": 1e-5, "difference": 0.0}
    same |= {"kills": 2, "states": 1, "damaged": 20, "refused": 20, "drafts": 1, "is_clean": True}
    same |= {"same_triplets": True, "stages": ["no file", "pass 1, begun"]} | CASE
    other = same | {"gap": 1e-3, "difference": 1e-3, "same_triplets": False, "refused": 19}
    page = interruptions_page({"local": [same, other]})
    (row,) = page["local"]
    counts = {"fits": 2, "kills": 4, "certified": 1, "equal": 1, "same_triplets": 1, "refused": 39}
    assert {name: row[name] for name in counts} == counts
    assert {entry["stage"]: entry["kills"] for entry in page["stages"]} == {
        "no file": 2,
        "pass 1, begun": 2,
    }


def test_the_page_compares_the_fastest_fits():
    names = {
        "bytes": 2e6,
        "share": 0.01,
        "states": 3,
        "fingerprint": 0.0,
        "gap": 0,
        "n_triplets": 9,
    }
    rows = [
        names | {"interval": interval, "seconds": 9.0, "cpu_seconds": seconds}
        for interval, seconds in ((None, 10.0), (1.0, 12.0), (None, 11.0), (1.0, 10.5))
    ]
    plain, each = interruptions_page({"overhead": rows})["overhead"]
    assert (plain["every"], plain["more"]) == ("no checkpoint", 0)
    assert each["more"] == pytest.approx(0.05)
    assert each["megabytes"] == 2
