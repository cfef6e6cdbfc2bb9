"""Runs CSDP and takes its time, which Debian's does not tell; needs nothing but Python.

    python -P csdp_clock.py FOLDER COMMAND ... SOLUTION

CSDP first speaks when it has read the problem and begins, and opens the file of the solution when
it has ended. What comes before and after, reading and writing, is not counted.
"""

import json
import subprocess
import sys
import time
from pathlib import Path


def moment(process, has_come):
    """When it came, to a millisecond or a part in a thousand."""
    began = now = time.perf_counter()
    while process.poll() is None and not has_come():
        time.sleep(max(5e-4, (now - began) / 1000))
        now = time.perf_counter()
    return now


def main(folder, *command):
    said, solution = Path(folder, "stdout"), Path(folder, command[-1])
    with said.open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output)
    began = moment(process, lambda: said.stat().st_size > 0)
    ended = moment(process, solution.exists)
    code = process.wait()
    if not solution.exists():
        sys.exit(f"exit code {code} and no solution: {said.read_text()[-1000:]}")
    clock = {"code": code, "seconds": ended - began}
    Path(folder, "clock.json").write_text(json.dumps(clock))


if __name__ == "__main__":
    main(*sys.argv[1:])
