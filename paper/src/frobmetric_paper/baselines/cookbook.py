"""Matrix trained by Adam on pairs, after the recipe of OpenAI's cookbook."""

from __future__ import annotations

from pathlib import Path

from ..harness.worker import Target
from .environment import Environment
from .maps import MapBaseline

ENVIRONMENT = Environment("torch", ("torch==2.13.0", "nudge-ft==0.1.2", "numpy"))
#: File of the programs that run in this environment.
PROGRAMS = Path(__file__).with_name("torch_programs.py")


#: The cookbook tries three settings of 30 epochs with a dropout of 0.2 and takes the best epoch. A
#: step of 1e-2 was tried on eleven tasks and never chosen.
SETTING = {"strengths": (1, 3, 10, 30), "batch_size": 100, "dropout": 0.2}

BASELINES = (
    MapBaseline(
        name="adam_matrix",
        label="Adam matrix",
        target=Target(f"{PROGRAMS}:train_matrix", ("torch",), ENVIRONMENT.python),
        learns_from="pairs",
        families=tuple(SETTING | {"learning_rate": rate} for rate in (1e-4, 1e-3)),
        missing=ENVIRONMENT.missing,
        install=ENVIRONMENT.install,
    ),
)
