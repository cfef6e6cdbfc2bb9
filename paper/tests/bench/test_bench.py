"""Driver of the benchmarks, its results files, and the committed results of all benchmarks."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from frobmetric_paper import bench
from frobmetric_paper.bench import (
    RESULTS,
    Benchmark,
    Options,
    Results,
    Timing,
    __main__,
    best_answer,
    best_of,
    fill,
    find_benchmarks,
    mark,
)
from frobmetric_paper.harness.worker import ProgramMissingError, TimeLimitError

BENCHMARKS = find_benchmarks()


@pytest.fixture(autouse=True)
def _keep_environment(monkeypatch):
    """Undo what the command sets for the processes that it starts."""
    for name in (*__main__.THREAD_VARIABLES, "NUMBA_NUM_THREADS"):
        monkeypatch.setenv(name, "1")


# Committed results


@pytest.mark.parametrize("name", BENCHMARKS)
def test_committed_page_is_made_of_the_committed_results(name):
    results = Results.read(RESULTS / f"{name}.json")
    committed = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    assert results.as_markdown(BENCHMARKS[name]) == committed


@pytest.mark.parametrize("name", BENCHMARKS)
def test_committed_results_say_how_they_were_made(name):
    results = Results.read(RESULTS / f"{name}.json")
    assert results.parts
    known = {*BENCHMARKS[name].parts, *BENCHMARKS[name].retired}
    assert set(results.parts) == set(results.runs) <= known
    for records in results.runs.values():
        for record in records:
            assert set(record) >= {"command", "commit", "machine", "threads", "python", "versions"}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_page_of_each_part_alone(name):
    results = Results.read(RESULTS / f"{name}.json")
    whole = results.as_markdown(BENCHMARKS[name])
    for part in results.parts:
        alone = Results({part: results.parts[part]}, results.runs)
        page = alone.as_markdown(BENCHMARKS[name])
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
def _toy_text(monkeypatch, tmp_path_factory):
    """Let the toy benchmark have a text of its page."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "toy.md").write_text("# Toy\n\n$rows\n| n |\n| --- |\n| {n} |\n")
    monkeypatch.setattr(bench, "PAGES", folder)


def make_benchmark(**parts):
    return Benchmark(name="toy", parts=parts, page=lambda data: {"rows": data.values()})


@pytest.fixture
def run(monkeypatch, tmp_path, _toy_text):
    """Return a function that runs the command for a toy benchmark and returns its exit code."""

    def call(benchmark, *arguments):
        monkeypatch.setattr(__main__, "find_benchmarks", lambda: {"toy": benchmark})
        return __main__.main(["toy", "-o", str(tmp_path), *arguments])

    return call


def read(tmp_path):
    return json.loads((tmp_path / "toy.json").read_text())


def test_parts_are_kept(run, tmp_path, capsys):
    assert run(make_benchmark(a=lambda o: {"n": 1}, b=lambda o: {"n": 2})) == 0
    assert run(make_benchmark(a=lambda o: {"n": 3}, b=lambda o: {"n": 4}), "--only", "b") == 0
    assert read(tmp_path)["parts"] == {"a": {"n": 1}, "b": {"n": 4}}
    assert "toy: b took" in capsys.readouterr().out
    page = (tmp_path / "toy.md").read_text()
    assert page.startswith("# Toy\n\n| n |\n| --- |\n| 1 |\n| 4 |\n")
    assert re.search(r"\nb: `python -m frobmetric_paper.bench toy -o \S+ --only b`", page)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["toy.json", "toy.md"]


def test_a_part_that_fails_keeps_its_earlier_data(run, tmp_path, capsys):
    run(make_benchmark(a=lambda o: {"n": 1}, b=lambda o: {"n": 2}))
    answer = run(make_benchmark(a=lambda o: 1 / 0, b=lambda o: {"n": 3}))
    assert answer == "parts that failed: a"
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert read(tmp_path)["parts"] == {"a": {"n": 1}, "b": {"n": 3}}


def test_a_stopped_part_is_completed_with_resume(run, tmp_path):
    def stopped(options):
        options.store({"n": [*(options.stored or {"n": []})["n"], 1]})
        raise RuntimeError("stopped")

    def finished(options):
        return {"n": [*options.stored["n"], 2]}

    assert run(make_benchmark(a=stopped)) == "parts that failed: a"
    assert run(make_benchmark(a=finished), "--resume") == 0
    assert read(tmp_path)["parts"] == {"a": {"n": [1, 2]}}
    assert len(read(tmp_path)["runs"]["a"]) == 2
    assert run(make_benchmark(a=lambda o: {"n": o.stored})) == 0
    assert read(tmp_path)["parts"] == {"a": {"n": None}}
    assert len(read(tmp_path)["runs"]["a"]) == 1


def test_page_is_written_again(run, tmp_path):
    assert run(make_benchmark(a=lambda o: {"n": 1})) == 0
    page = (tmp_path / "toy.md").read_text()
    (tmp_path / "toy.md").unlink()
    assert run(make_benchmark(a=lambda o: 1 / 0), "--page-only") == 0
    assert (tmp_path / "toy.md").read_text() == page


def test_parts_that_another_process_measured_meanwhile_are_kept(run, tmp_path):
    def slow(options):
        assert run(make_benchmark(b=lambda o: {"n": 2})) == 0
        return {"n": 1}

    assert run(make_benchmark(a=slow, b=lambda o: {"n": 3}), "--only", "a") == 0
    assert read(tmp_path)["parts"] == {"b": {"n": 2}, "a": {"n": 1}}


def test_options_reach_the_parts(run, tmp_path):
    def part(o):
        return {"n": [o.repeat, o.threads, o.limit, str(o.folder), o.is_quick]}

    benchmark = replace(make_benchmark(a=part), options=Options(repeat=7, limit=5.0))
    given = ("--threads", "2", "--folder", "here", "--quick")
    assert run(benchmark, *given) == 0
    assert read(tmp_path)["parts"]["a"]["n"] == [7, 2, 5.0, "here", True]
    record = read(tmp_path)["runs"]["a"][0]
    assert record["settings"] == {"repeat": 7, "threads": 2, "limit": 5.0}
    page = (tmp_path / "toy.md").read_text()
    assert "Settings: repeat 7, threads 2, limit 5." in page
    assert "This is the small version" in page


def test_unknown_parts(run):
    answer = run(make_benchmark(a=lambda o: {"n": 1}), "--only", "b")
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
    assert "speed: Speed" in lines
    assert "    D m" in lines


@pytest.mark.usefixtures("_toy_text")
def test_figure(tmp_path):
    def draw(parts, path):
        path.write_text(json.dumps(parts))

    benchmark = replace(make_benchmark(a=lambda o: None), draw=draw)
    Results({"a": {"n": 1}}, {"a": []}).write(benchmark, tmp_path)
    assert (tmp_path / "toy.png").read_text() == '{"a": {"n": 1}}'
    assert "![Toy](toy.png)" in (tmp_path / "toy.md").read_text()


# Tools


def test_table():
    rows = [{"name": "a_b", "x": 0.123}, {"name": "c", "x": 2}]
    header = "| name | x, % |\n| --- | --: |\n"
    text = f"# Title\n\n$rows\n{header}| {{name}} | {{x:.1f}} |\n"
    assert fill(text, {"rows": rows}) == f"# Title\n\n{header}| a\\_b | 0.1 |\n| c | 2.0 |\n"
    assert fill(text, {"rows": []}) == "# Title\n"
    assert fill(text, {"rows": [{"name": "d", "x": None}]}).endswith("| d |  |\n")
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
    answers = iter([SimpleNamespace(seconds=bench.LONG)])
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
    assert bench.peak_memory() > 1e6
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
    given = ["--only", *parts.split(), "--quick", "--repeat", "1", "--limit", "20"]
    given += ["--folder", str(data_folder), "-o", str(tmp_path)]
    assert __main__.main([name, *given]) == 0
    results = Results.read(tmp_path / f"{name}.json")
    assert list(results.parts) == parts.split()
    page = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
    assert page.count("\n| ") >= 3 or parts == "seeds"


def test_every_benchmark_has_a_small_version():
    assert set(QUICK) == set(BENCHMARKS)
