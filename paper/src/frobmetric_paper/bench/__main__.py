"""Command of the benchmarks: `python -m frobmetric_paper.bench NAME [options]`."""

import argparse
import os
import sys
import tempfile
import traceback
import warnings
from dataclasses import replace
from pathlib import Path

from threadpoolctl import threadpool_limits

from ..harness.machine import run_record
from ..harness.worker import THREAD_VARIABLES
from . import RESULTS, Results, find_benchmarks, timed


def parse(arguments, names):
    """Return the options of the command line."""
    program, description = "python -m frobmetric_paper.bench", "Run a benchmark and write its page."
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument("name", nargs="?", choices=names, metavar="NAME")
    parser.add_argument("--list", action="store_true", help="list the benchmarks and their parts")
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
        parser.error(f"give the name of a benchmark: {', '.join(names)}")
    return options


def measure(benchmark, part, options, output, *, command="", resume=False):
    """Measure a part and write the results with it; return whether it succeeded."""
    path = output / f"{benchmark.name}.json"
    found = Results.read(path)
    stored, earlier = (found.parts.get(part), found.runs.get(part, [])) if resume else (None, [])
    settings = {name: getattr(options, name) for name in ("repeat", "threads", "limit")}
    record = {"command": command, "settings": settings, "is_quick": options.is_quick}
    record = run_record() | record

    def store(data):
        results = Results.read(path)  # another process may measure other parts
        results.parts[part] = data
        results.runs[part] = [*earlier, record | {"load": os.getloadavg()}]
        results.write(benchmark, output)

    options = replace(options, stored=stored, store=store)
    print(f"{benchmark.name}: {part} ...", flush=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # pages show the gaps that were reached
            seconds, data = timed(lambda: benchmark.parts[part](options))
    except Exception:  # one part must not end the others, which may take hours
        traceback.print_exc()
        return False
    store(data)
    print(f"{benchmark.name}: {part} took {seconds:.1f} s", flush=True)
    return True


def main(arguments=None):
    """Run the command; return the exit code or an error message."""
    known = find_benchmarks()
    given = parse(arguments, list(known))
    if given.list:
        for each in known.values():
            print(f"{each.name}: {each.title}\n    {' '.join(each.parts)}")
        return 0
    benchmark = known[given.name]
    unknown = sorted(set(given.only or ()) - set(benchmark.parts))
    if unknown:
        return f"unknown parts {unknown}; {given.name} has {', '.join(benchmark.parts)}"
    settings = {name: getattr(given, name) for name in ("repeat", "threads", "limit", "folder")}
    settings = {name: value for name, value in settings.items() if value is not None}
    options = replace(benchmark.options, is_quick=given.quick, **settings)
    for name in (*THREAD_VARIABLES, "NUMBA_NUM_THREADS"):  # of processes that are started
        os.environ[name] = str(options.threads)
    output = given.output or (Path(tempfile.mkdtemp()) if given.quick else RESULTS)
    output.mkdir(parents=True, exist_ok=True)
    if given.page_only:
        Results.read(output / f"{given.name}.json").write(benchmark, output)
        print(f"wrote {output / given.name}.md")
        return 0
    command = " ".join(["python -m frobmetric_paper.bench", *(arguments or sys.argv[1:])])
    how = {"command": command, "resume": given.resume}
    with threadpool_limits(options.threads):
        names = given.only or benchmark.parts
        failed = [part for part in names if not measure(benchmark, part, options, output, **how)]
    print(f"wrote {output / given.name}.md")
    return f"parts that failed: {', '.join(failed)}" if failed else 0


if __name__ == "__main__":
    sys.exit(main())
