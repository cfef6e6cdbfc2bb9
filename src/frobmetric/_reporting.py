"""Lines for people who watch a long fit."""

from __future__ import annotations

import sys


class Reporter:
    """Writes a line every so many steps, and passes each step on."""

    def __init__(self, every, callback):
        self.every, self.callback, self.count = every, callback, 0

    def __call__(self, step):
        if self.count % self.every == 0:
            sys.stdout.write(
                f"step {self.count + 1:4d}  objective {step.primal:.6g}  gap {step.gap:.2e}  "
                f"rank {step.rank}  {step.seconds:.1f} s\n"
            )
        self.count += 1
        return self.callback is not None and self.callback(step)
