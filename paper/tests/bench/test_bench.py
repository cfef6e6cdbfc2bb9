"""Driver of the benchmarks, its results files, and the committed results of all benchmarks."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from frobmetric_paper.baselines.base import cache_folder
from frobmetric_paper.bench import RESULTS, __main__, find, names, summary
from frobmetric_paper.harness import timing
from frobmetric_paper.harness.benchmark import Benchmark, Cell, Options
from frobmetric_paper.harness.formatting import mark
from frobmetric_paper.harness.page import fill_tables
from frobmetric_paper.harness.task import Store
from frobmetric_paper.harness.timing import Timing, best_answer, best_of
from frobmetric_paper.harness.worker import ProgramMissingError, TimeLimitError

BENCHMARKS = {name: find(name) for name in names()}


@pytest.fixture(autouse=True)
def _keep_environment(monkeypatch):
    """Undo what the command sets for the processes that it starts."""
    for name in (*__main__.THREAD_VARIABLES, "NUMBA_NUM_THREADS"):
        monkeypatch.setenv(name, "1")


# Committed results


@pytest.fixture(params=BENCHMARKS)
def committed(request):
    """A benchmark and its committed cells by part."""
    return BENCHMARKS[request.param], BENCHMARKS[request.param].cells(RESULTS)


def test_committed_page_is_made_of_the_committed_results(committed):
    benchmark, cells = committed
    page = (RESULTS / f"{benchmark.name}.md").read_text(encoding="utf-8")
    assert benchmark.as_markdown(cells) == page


def test_committed_results_say_how_they_were_made(committed):
    benchmark, cells = committed
    stored = Store(RESULTS, Cell).read(f"{benchmark.name}.json")
    assert len(cells) == len(stored) > 0
    for record in (record for cell in stored for record in cell.runs):
        assert set(record) >= {"command", "commit", "machine", "threads", "python", "versions"}
    assert all(cell.runs and cell.task.benchmark == benchmark.name for cell in stored)


def test_page_of_each_part_alone(committed):
    benchmark, cells = committed
    whole = benchmark.as_markdown(cells)
    for part, cell in cells.items():
        page = benchmark.as_markdown({part: cell})
        assert page.splitlines()[0] == whole.splitlines()[0]


def test_some_committed_numbers():
    pages = {name: (RESULTS / f"{name}.md").read_text(encoding="utf-8") for name in BENCHMARKS}
    for name, text in {
        "speed": "| 0.29 s | dlib 4.43 s | 15.3 |  | 4.8e-05 |",
        "unfolding": "| 800 | 0.7 | \\[688314.06, 688317.70\\] | 5.3e-06 | 93.2 | 133 |",
        "sdplib": "| arch0 | 174 | 335 | 0.56651727 | optimal | 2e-08 / 0e+00 / 7e-07 |",
        "sdp_speed": "| 2.22 s | CSDP with OpenBLAS 11.5 s | 5.17 |",
        "shoes": "| learned, rows of unit length | 78.3 % (73.9 ... 82.1) |",
        "accuracy": "| mnist | kernel 0.3 | plain | 1.53 / 1.66 | 1.41 / 1.54 |",
        "kernels": "| rbf | 0.60 | 1.76 | -48.76 (-50.17 to -47.35) |",
        "growth": "| 2,000 | 1024 | 18,000 | lbfgsb | 87 | 46.481 |",
        "levers": "| prior within | 4.89 / 5.59 | 0.74 \\* / 1.54 |",
        "paper_rows": "| usps | 69,300 | 10000 | 6.6e-04 | 33 | 49 | 0.4 + 0.2 | 1.94 | 2.00 \\* |",
        "pair_learners": "| all | 36 | +0.91 ± 0.73 | +0.15 ± 0.66 | +1.09 ± 0.75 |",
    }.items():
        assert text in pages[name], name


# The driver


@pytest.fixture
def toy(tmp_path_factory):
    """Return a function that makes a benchmark of some parts."""
    template = tmp_path_factory.mktemp("pages") / "toy.md"
    template.write_text("# Toy\n\n$rows\n| n |\n| --- |\n| {n} |\n")

    def make(**parts):
        return Benchmark(parts=parts, page=lambda data: {"rows": data.values()}, template=template)

    return make


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Return a function that runs the command for a benchmark and returns its exit code."""

    def call(benchmark, *arguments):
        monkeypatch.setattr(__main__, "names", lambda: ["toy"])
        monkeypatch.setattr(__main__, "find", lambda name: benchmark)
        return __main__.main(["toy", "-o", str(tmp_path), *arguments])

    return call


def read(tmp_path):
    """The stored cells by part, in the order of the file."""
    return {cell.task.method: cell for cell in Store(tmp_path, Cell).read("toy.json")}


def data_of(tmp_path):
    return {part: cell.data for part, cell in read(tmp_path).items()}


def test_parts_are_kept(run, toy, tmp_path, capsys):
    assert run(toy(a=lambda o: {"n": 1}, b=lambda o: {"n": 2})) == 0
    assert run(toy(a=lambda o: {"n": 3}, b=lambda o: {"n": 4}), "--only", "b") == 0
    assert data_of(tmp_path) == {"a": {"n": 1}, "b": {"n": 4}}
    assert re.search(r"toy: b   took \d", capsys.readouterr().err)
    page = (tmp_path / "toy.md").read_text()
    assert page.startswith("# Toy\n\n| n |\n| --- |\n| 1 |\n| 4 |\n")
    assert re.search(r"\nb: `python -m frobmetric_paper.bench toy -o \S+ --only b`", page)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["toy.json", "toy.md"]


def test_a_part_that_fails_keeps_its_earlier_data(run, toy, tmp_path, capsys):
    run(toy(a=lambda o: {"n": 1}, b=lambda o: {"n": 2}))
    answer = run(toy(a=lambda o: 1 / 0, b=lambda o: {"n": 3}))
    assert answer == "parts that failed: a"
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert data_of(tmp_path) == {"a": {"n": 1}, "b": {"n": 3}}


def test_a_stopped_part_is_completed_with_resume(run, toy, tmp_path):
    def stopped(options):
        options.store({"n": [*(options.stored or {"n": []})["n"], 1]})
        raise RuntimeError("stopped")

    def finished(options):
        return {"n": [*options.stored["n"], 2]}

    assert run(toy(a=stopped)) == "parts that failed: a"
    assert run(toy(a=finished), "--resume") == 0
    assert data_of(tmp_path) == {"a": {"n": [1, 2]}}
    assert len(read(tmp_path)["a"].runs) == 2
    assert run(toy(a=lambda o: {"n": o.stored})) == 0
    assert data_of(tmp_path) == {"a": {"n": None}}
    assert len(read(tmp_path)["a"].runs) == 1


def test_page_is_written_again(run, toy, tmp_path):
    assert run(toy(a=lambda o: {"n": 1})) == 0
    page = (tmp_path / "toy.md").read_text()
    (tmp_path / "toy.md").unlink()
    assert run(toy(a=lambda o: 1 / 0), "--page-only") == 0
    assert (tmp_path / "toy.md").read_text() == page


def test_parts_that_another_process_measured_meanwhile_are_kept(run, toy, tmp_path):
    def slow(options):
        assert run(toy(b=lambda o: {"n": 2})) == 0
        return {"n": 1}

    assert run(toy(a=slow, b=lambda o: {"n": 3}), "--only", "a") == 0
    assert data_of(tmp_path) == {"b": {"n": 2}, "a": {"n": 1}}


def test_options_reach_the_parts(run, toy, tmp_path):
    def part(o):
        return {"n": [o.repeat, o.threads, o.limit, str(o.folder), o.is_quick]}

    benchmark = replace(toy(a=part), options=Options(repeat=7, limit=5.0))
    given = ("--threads", "2", "--folder", "here", "--quick")
    assert run(benchmark, *given) == 0
    assert data_of(tmp_path)["a"]["n"] == [7, 2, 5.0, "here", True]
    record = read(tmp_path)["a"].runs[0]
    assert record["settings"] == {"repeat": 7, "threads": 2, "limit": 5.0}
    page = (tmp_path / "toy.md").read_text()
    assert "Settings: repeat 7, threads 2, limit 5." in page
    assert "This is the small version" in page


def test_unknown_parts(run, toy):
    answer = run(toy(a=lambda o: {"n": 1}), "--only", "b")
    assert answer == "unknown parts ['b']; toy has a"


def test_unknown_names(capsys):
    with pytest.raises(SystemExit):
        __main__.main(["nothing"])
    assert "invalid choice: 'nothing'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        __main__.main([])
    assert "give the name of a benchmark" in capsys.readouterr().err


def test_list(capsys):
    assert __main__.main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"{name}: {summary(name)}" for name in BENCHMARKS]
    assert all(line.endswith(".") for line in lines)
    assert __main__.main(["growth", "--list"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "    D m"


def test_a_benchmark_is_found_without_the_others():
    code = "import sys; from frobmetric_paper.bench import find, names; names(); find('verifier')"
    code += "; print(*(name for name in sys.modules if 'paper.bench.' in name))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["frobmetric_paper.bench.verifier"]


def test_figure(run, toy, tmp_path):
    def draw(parts, path):
        path.write_text(json.dumps(parts))

    assert run(replace(toy(a=lambda o: {"n": 1}), draw=draw)) == 0
    assert (tmp_path / "toy.png").read_text() == '{"a": {"n": 1}}'
    assert "![Toy](toy.png)" in (tmp_path / "toy.md").read_text()


def test_remarks_are_on_the_page_until_the_part_is_measured_again(run, toy, tmp_path):
    benchmark = toy(a=lambda o: {"n": 1}, b=lambda o: {"n": 2})
    assert run(benchmark) == 0
    store = Store(tmp_path, Cell)
    for cell in read(tmp_path).values():
        store.save(replace(cell, remark="One run was stopped by hand."))
    assert run(benchmark, "--page-only") == 0
    assert (tmp_path / "toy.md").read_text().count("stopped by hand") == 1
    assert run(benchmark) == 0
    assert "stopped by hand" not in (tmp_path / "toy.md").read_text()


def test_ctrl_c_keeps_what_is_finished(run, toy, tmp_path, capsys):
    def stop(options):
        raise KeyboardInterrupt

    assert run(toy(a=lambda o: {"n": 1}, b=stop, c=lambda o: {"n": 3})) == 130
    assert data_of(tmp_path) == {"a": {"n": 1}}
    assert "interrupted" in capsys.readouterr().err


def test_results_that_cannot_be_read_are_not_replaced(run, toy, tmp_path):
    (tmp_path / "toy.json").write_text("{")
    with pytest.raises(ValueError, match="Expecting"):
        run(toy(a=lambda o: {"n": 1}))
    assert (tmp_path / "toy.json").read_text() == "{"


# Tools


def test_table():
    rows = [{"name": "a_b", "x": 0.123}, {"name": "c", "x": 2}]
    header = "| name | x, % |\n| --- | --: |\n"
    text = f"# Title\n\n$rows\n{header}| {{name}} | {{x:.1f}} |\n"
    assert fill_tables(text, {"rows": rows}) == f"# Title\n\n{header}| a\\_b | 0.1 |\n| c | 2.0 |\n"
    assert fill_tables(text, {"rows": []}) == "# Title\n"
    assert fill_tables(text, {"rows": [{"name": "d", "x": None}]}).endswith("| d |  |\n")
    assert (mark("1", True), mark("1", False)) == ("1 *", "1")


def test_best_of():
    timing = best_of(iter([3, 4]).__next__, 2)
    assert len(timing.runs) == 2
    assert timing.seconds == min(timing.runs)
    assert timing.result in (3, 4)


def test_best_answer():
    answers = iter([SimpleNamespace(seconds=2.0), SimpleNamespace(seconds=1.0)])
    timing = best_answer(answers.__next__, 2)
    assert (timing.runs, timing.result.seconds, str(timing)) == ((2.0, 1.0), 1.0, "1 s")


def test_long_runs_are_not_repeated():
    answers = iter([SimpleNamespace(seconds=timing.LONG)])
    assert str(best_answer(answers.__next__, 3)) == "120 s, one run"


@pytest.mark.parametrize(
    ("error", "text", "seconds"),
    [
        (TimeLimitError(22.0), "> 22 s", 22.0),
        (ProgramMissingError("no dlib"), "not available: no dlib", None),
    ],
)
def test_baselines_without_an_answer(error, text, seconds):
    def call():
        raise error

    timing = best_answer(call, 3)
    assert (timing.runs, str(timing), timing.seconds) == ((), text, seconds)


def test_peak_memory():
    assert timing.peak_memory() > 1e6
    assert str(Timing((1234.5, 1300.0))) == "1,234 s"


# Small versions, with the baselines that are installed

#: Parts to run, those of one text together.
QUICK = {
    "accuracy": ("letters", "usps"),
    "attack": ("names",),
    "adapter_speed": ("query structure fit",),
    "bridge": ("banking77/wordllama/use",),
    "choice": ("wine",),
    "defaults": ("euclid lda default cv settings times",),
    "embeddings": ("unchanged ridge_map",),
    "export": ("npy safetensors onnx faiss duckdb",),
    "growth": ("D", "m"),
    "interruptions": ("overhead",),
    "kernels": ("rings", "balance", "r8"),
    "learners": ("balance/MMC balance/SCML diabetes/MLKR",),
    "regression": ("diabetes",),
    "report": ("pages",),
    "levers": ("wine", "letters"),
    "metric_learn_tests": ("test_constraints", "test_quadruplets_classifiers"),
    "mutants": ("proof",),
    "neighbors": ("exact", "approximate"),
    "overhead": ("usps",),
    "pair_learners": ("iris", "digits", "lfw"),
    "paper_rows": ("usps", "letters"),
    "promise": ("neighbors",),
    "scale": ("model new plan",),
    "sdp_speed": ("theta6", "random", "nearest", "invalid"),
    "sdplib": ("frobmetric csdp sdpa scs clarabel",),
    "shards": ("cluster", "million"),
    "shoes": ("unseen", "seeds", "curve", "by_comparison"),
    "speed": tuple(BENCHMARKS["speed"].parts),
    "teach": ("agreement",),
    "verifier": ("small",),
    "unfolding": tuple(BENCHMARKS["unfolding"].parts),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "parts"), [(n, parts) for n, some in QUICK.items() for parts in some]
)
def test_small_version(name, parts, data_folder, tmp_path):
    if name == "metric_learn_tests" and not (data_folder / "metric-learn" / "test").is_dir():
        pytest.skip(f"needs a clone of metric-learn in {data_folder / 'metric-learn'}")
    if name == "learners" and not (cache_folder() / "metric-learn").is_dir():
        pytest.skip("needs metric-learn; install it by: frobmetric reproduce baselines")
    given = ["--only", *parts.split(), "--quick", "--repeat", "1", "--limit", "20"]
    given += ["--folder", str(data_folder), "-o", str(tmp_path)]
    assert __main__.main([name, *given]) == 0
    assert [*BENCHMARKS[name].cells(tmp_path)] == parts.split()
    page = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
    assert page.count("\n| ") >= 3 or parts == "seeds"


def test_every_benchmark_has_a_small_version():
    assert set(QUICK) == set(BENCHMARKS)
