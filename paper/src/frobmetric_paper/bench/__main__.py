"""Command of the benchmarks: `python -m frobmetric_paper.bench NAME [options]`."""

import argparse
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from threadpoolctl import threadpool_limits

from frobmetric.app.cli.terminal import say

from ..harness.benchmark import Cell
from ..harness.command import TerminalListener
from ..harness.run import Runner
from ..harness.task import Store
from ..harness.worker import THREAD_VARIABLES
from . import RESULTS, find, names, summary


def parse(arguments):
    """Return the options of the command line."""
    program, description = "python -m frobmetric_paper.bench", "Run a benchmark and write its page."
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument("name", nargs="?", choices=names(), metavar="NAME")
    parser.add_argument("--list", action="store_true", help="list the benchmarks, or parts of one")
    parser.add_argument("--only", nargs="+", metavar="PART", help="other parts keep their results")
    parser.add_argument("--repeat", type=int, help="runs of which the best counts, or splits")
    parser.add_argument("--threads", type=int, help="threads of numerical libraries")
    parser.add_argument("--limit", type=float, help="seconds for one run of another program")
    folder = os.environ.get("FROBMETRIC_DATA")
    parser.add_argument("--folder", type=Path, default=folder, help="data sets")
    parser.add_argument("--quick", action="store_true", help="small, to see that everything works")
    parser.add_argument("--resume", action="store_true", help="complete parts that were stopped")
    parser.add_argument("--page-only", action="store_true", help="write the page again")
    output = "folder of the results; --quick makes a new one"
    parser.add_argument("-o", "--output", type=Path, help=output)
    options = parser.parse_args(arguments)
    if options.name is None and not options.list:
        parser.error(f"give the name of a benchmark: {', '.join(names())}")
    return options


def main(arguments=None):
    """Run the command; return the exit code or an error message."""
    given = parse(arguments)
    if given.name is None:
        print("\n".join(f"{name}: {summary(name)}" for name in names()))
        return 0
    benchmark = find(given.name)
    if given.list:
        print(f"{given.name}: {summary(given.name)}\n    {' '.join(benchmark.parts)}")
        return 0
    unknown = sorted(set(given.only or ()) - set(benchmark.parts))
    if unknown:
        return f"unknown parts {unknown}; {given.name} has {', '.join(benchmark.parts)}"
    output = given.output or (Path(tempfile.mkdtemp()) if given.quick else RESULTS)
    output.mkdir(parents=True, exist_ok=True)
    if given.page_only:
        print(f"wrote {benchmark.write_page(output)}")
        return 0
    settings = {name: getattr(given, name) for name in ("repeat", "threads", "limit", "folder")}
    settings = {name: value for name, value in settings.items() if value is not None}
    options = replace(benchmark.options, is_quick=given.quick, **settings)
    for name in (*THREAD_VARIABLES, "NUMBA_NUM_THREADS"):  # of processes that are started
        os.environ[name] = str(options.threads)
    command = " ".join(["python -m frobmetric_paper.bench", *(arguments or sys.argv[1:])])
    runner = Runner(Store(output, Cell), options.limit, options.threads, TerminalListener(say))
    with threadpool_limits(options.threads):
        chosen = {"only": given.only or (), "resumes": given.resume}
        cells = benchmark.conduct(runner, options, command, **chosen)
    print(f"wrote {output / given.name}.md")
    if runner.interrupted:
        say("interrupted; what is finished was kept, and --resume completes a part that was not")
        return 130
    failed = [cell.label for cell in cells if not cell.is_done]
    return f"parts that failed: {', '.join(failed)}" if failed else 0


if __name__ == "__main__":
    sys.exit(main())
