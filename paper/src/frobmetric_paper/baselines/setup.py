"""Set up what baselines need: `python -m frobmetric_paper.baselines.setup [name ...]`.

It compiles the driver of dlib, makes metric-learn's environment and unpacks Debian's csdp and sdpa,
all in the folder of `base.cache_folder`. What needs rights on the machine is only printed.
"""

import sys

from . import BASELINES
from .base import ProgramFailedError


def set_up(baseline):
    """Set up a baseline and return a line about the result."""
    try:
        baseline.install()
    except (ProgramFailedError, OSError) as error:
        return f"{baseline.name}: {error}"
    return f"{baseline.name}: {baseline.missing() or 'ready'}"


def main(names):
    """Set up the baselines of these names, or all; return the exit code or an error message."""
    known = dict.fromkeys(baseline.name for baseline in BASELINES)
    unknown = sorted(set(names) - set(known))
    if unknown:
        return f"unknown baselines {unknown}; the known ones are {', '.join(known)}"
    for baseline in BASELINES:
        if not names or baseline.name in names:
            sys.stdout.write(set_up(baseline) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
