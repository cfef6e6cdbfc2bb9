"""Reading what a process shows on a terminal."""

import os
import re


def read_until(terminal, pattern):
    """What a terminal shows until the pattern is seen, or to its end."""
    seen = b""
    while pattern is None or not re.search(pattern, seen):
        try:
            more = os.read(terminal, 4096)
        except OSError:  # how Linux says that the other side is closed
            more = b""
        if not more:
            assert pattern is None, f"the process ended early: {seen.decode()}"
            break
        seen += more
    return seen
