"""Sets up what rivals need: `python -m frobmetric_paper.rivals.setup [name ...]`.

Compiles the driver of dlib and makes metric-learn's environment, in the folder of
`cache.cache_folder`. What takes rights on the machine it does not do, but says.
"""

import sys

from . import RIVALS
from .rival import RivalFailed


def set_up(name, rivals=RIVALS):
    """Set one rival up; a sentence about how that went."""
    rival = rivals[name]
    try:
        rival.install()
    except (RivalFailed, OSError) as error:
        return f"{name}: {error}"
    return f"{name}: {rival.missing() or 'ready'}"


def main(names, rivals=RIVALS):
    unknown = set(names) - set(rivals)
    if unknown:
        return f"unknown rivals {sorted(unknown)}; the known ones are {', '.join(rivals)}\n"
    for name in names or rivals:
        sys.stdout.write(set_up(name, rivals) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
