"""Entry point of `python -m frobmetric` and of the console script."""

import os
import sys

from .app.signals import end_at_once, leave


def main() -> None:
    """Run the command line; a missing extra gives one line, not a traceback."""
    end_at_once()
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by who started the process
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    try:
        from .app.cli import main as run
    except ImportError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
    except OSError as error:  # a module cannot be read: too many open files
        sys.stderr.write(f"error: {error}\n")
        sys.exit(3)
    try:
        run()
    except SystemExit as end:
        leave(end.code if isinstance(end.code, int) else 0)


if __name__ == "__main__":
    main()
