"""The findings of unfolding follow from the cells: ratios, orders, who is best."""

from dataclasses import dataclass, replace

from frobmetric_paper.baselines import EMBEDDING
from frobmetric_paper.baselines.embedding import perturbed
from frobmetric_paper.mvu.experiment import Cell, Part, PartResult, Scale, Task
from frobmetric_paper.mvu.findings import findings
from frobmetric_paper.mvu.report import UnfoldingResults
from frobmetric_paper.mvu.spread import EVENNESS

METHODS = (perturbed(1e2), EMBEDDING["ours_exact"], EMBEDDING["csdp_original"])


@dataclass
class Answer:
    """What a method has: time, area, evenness; over the limit if it has no time."""

    seconds: float | None = 1.0
    area: float = 0.5
    spread: float = 0.1
    variance: float = 100.0
    bias: float = -0.1


def make_cell(part, method, n, answer):
    job = Task(method=method.name, threads=1, data="x", part=part, n=n, n_neighbors=6)
    known = {"task": job, "label": method.label, "limit": 9.0}
    if answer.seconds is None:
        return Cell(**known, outcome="limit", remark="> 9 s")
    measures = dict.fromkeys(EVENNESS, answer.spread)
    measures |= {"alcd": 1 - answer.spread, "area": answer.area, "mean_b_nx": answer.bias}
    proof = {"primal": 1.0, "dual": 1.0, "relative_gap": 3e-7, "violation": 0.0}
    more = {"objective": answer.variance, "certificate": proof, "measures": measures}
    return Cell(**known, outcome="done", seconds=answer.seconds, **more)


def make_result(name, *rows, sizes=(50,)):
    """A part with an answer of each method for each number of points."""
    part = Part(name, 6, 1e2, METHODS, lambda: [], len(sizes))
    cells = [
        make_cell(name, method, n, answer)
        for n, answers in zip(sizes, rows, strict=True)
        for method, answer in zip(METHODS, answers, strict=True)
    ]
    return PartResult(part, [], [Scale(n, 3, 4, 1.0, 1.0, 1.0) for n in sizes], cells)


def sentences(*results, paper=None):
    return findings(results, paper or {}).splitlines()


def test_the_race_is_on_the_largest_set_that_csdp_finished():
    fast = [Answer(2.0), Answer(0.5), Answer(8.0)]
    slow = [Answer(3.0), Answer(0.6), Answer(None)]
    first, *_, last = sentences(make_result("time", fast, slow, sizes=(40, 80)))
    assert "swiss roll of 40 points" in first
    assert "CSDP (original) 8.00 s to 3e-7, 4.0 times ours (σ = 1e2) and 16 times" in first
    assert (
        "80 points: ours (σ = 1e2) 3.00 s; ours (exact) 0.600 s; CSDP (original) \\> 9 s" in first
    )
    assert "No answer within the limit of 9 s" in last
    assert "CSDP (original), swiss rolls, 80 points" in last


def test_an_answer_that_csdp_calls_a_failure_is_said_to_be_one():
    result = make_result("time", [Answer(2.0), Answer(0.5), Answer(8.0)])
    assert "failure" not in findings([result], {})
    cells = [replace(cell, remark="Failure: return code is 7") for cell in result.cells]
    text = findings([replace(result, cells=cells)], {})
    assert "CSDP (original) 8.00 s to 3e-7, reported as a failure, 4.0 times" in text


def test_sets_on_which_csdp_is_faster_are_named():
    (text,) = (
        line
        for line in sentences(make_result("teapots", [Answer(2.0), Answer(1.0), Answer(0.5)]))
        if "CSDP is faster than ours" in line
    )
    assert "teapots (50 points) (2.0 times)" in text
    lines = sentences(make_result("teapots", [Answer(0.1), Answer(1.0), Answer(0.5)]))
    assert not any("CSDP is faster" in line for line in lines)


def test_the_best_neighbourhoods_come_first_and_equal_ones_together():
    answers = [Answer(area=0.5), Answer(area=0.5, bias=0.1), Answer(area=0.7)]
    text = findings([make_result("teapots", answers)], {})
    assert "0.700 CSDP (original), 0.500 ours (σ = 1e2) and ours (exact)" in text
    assert "on teapots for ours (σ = 1e2) and CSDP (original)" in text


def test_the_cost_of_the_perturbation():
    answers = [Answer(variance=75.0), Answer(variance=100.0), Answer()]
    assert "25.0 % on teapots (σ = 1e2)" in findings([make_result("teapots", answers)], {})
    answers[0] = Answer(variance=100.0)
    text = findings([make_result("teapots", answers)], {})
    assert "less than a millionth on teapots" in text


def test_the_paper_is_set_beside_times_and_orders():
    names = {"seconds": "", **dict.fromkeys(EVENNESS, "0.2")}
    paper = {
        ("teapots", "FrobMetric"): names | {"seconds": "4", "alcd": "0.9"},
        ("teapots", "MVU"): {"seconds": "80", **dict.fromkeys(EVENNESS, "0.3")},
    }
    answers = [Answer(2.0, spread=0.4), Answer(), Answer(1.0, spread=0.3)]
    text = findings([make_result("teapots", answers)], paper)
    assert "teapots here 0.50 times, in the paper 20 times" in text
    assert "the paper's in no measure" in text
    assert "MVU is first here, FrobMetric in the paper" in text
    answers[0] = Answer(2.0, spread=0.2)
    text = findings([make_result("teapots", answers)], paper)
    assert "the paper's in ALSTD, ALED, ALCD and GSCD" in text


def test_nothing_finished_is_no_finding():
    results = [make_result("teapots", [Answer(None)] * 3), make_result("time", [Answer(None)] * 3)]
    assert findings(results, {}) == ""
    assert findings([], {}) == ""
    assert UnfoldingResults([], ()).blocks(None)["findings"] == ""


def test_the_best_of_a_column_is_bold_and_all_with_its_digits():
    answers = [Answer(2.0, area=0.50001), Answer(1.0, area=0.5), Answer(3.0, area=0.4)]
    result = make_result("teapots", answers)
    page = UnfoldingResults([result], (result.part,)).blocks(None)["teapots"]
    assert "| ours (σ = 1e2) | 2.00 s / 4 s | **0.5000** |" in page
    assert "| ours (exact) | **1.00 s** | **0.5000** |" in page
    assert "| CSDP (original) | 3.00 s / 85 s | 0.4000 |" in page
