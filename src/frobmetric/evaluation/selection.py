"""Choice of the options of a fit: settings, and the way in which they are tried."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from math import ceil, inf, log10
from typing import Any

from ..core.points import Vector
from ..model.units import UNITS
from ..runtime.progress import stage, working

#: Metadata of fields that files leave out: see `io.values`.
NOT_SAVED = {"is_saved": False}
#: Stages of a choice and its fit: Euclid, other settings, variants of the best, the last fit.
N_STAGES = 4
#: C of a metric that stays at its prior: it moves by rounding only.
NO_LEARNING = 1e-9
#: Standard errors by which a setting has to be better than a simpler one to be chosen.
AHEAD = 0.5
#: C and number of passes of the default of `FrobMetric`, which is good on most data.
USUAL = (1e3, 2)
#: Largest C to which a grid is extended while the errors fall at its end.
LARGEST_C = 1e6


@dataclass(frozen=True)
class Setting:
    """Options of one fit. A prior matrix is not part of it: `prior` is then None."""

    prior: str | None
    units: str
    C: float
    n_neighbors: int
    n_passes: int

    def __post_init__(self):
        if self.units not in UNITS or not 0 <= self.C < inf or self.n_neighbors < 1:
            raise ValueError(f"{vars(self)} is no setting of a fit")

    @property
    def is_euclidean(self):
        """Whether nothing is learned but the units of the features."""
        return self.prior == "identity" and self.C == NO_LEARNING

    @property
    def family(self):
        """All options but C and passes: settings of a family share neighbours and starts."""
        return replace(self, C=0.0, n_passes=0)

    def __str__(self):
        if self.is_euclidean:
            names = {"raw": "raw features", "deviation": "scaled features"}
            return f"Euclid on {names.get(self.units, 'features scaled within classes')}"
        words = [f"prior {self.prior}", f"C = {self.C:g}", f"{self.n_neighbors} neighbours"]
        if self.prior in (None, "identity"):
            words.insert(0, f"units {self.units}")
        return ", ".join([*words, f"{self.n_passes} pass" + "es" * (self.n_passes > 1)])


@dataclass(frozen=True)
class Options:
    """Values to choose from."""

    units: tuple
    priors: tuple
    Cs: tuple
    n_neighbors: tuple
    n_passes: tuple
    is_open: bool  # whether C may leave the grid at its upper end

    def with_neighbors(self, n_neighbors):
        """Return all values of C and of the number of passes, with this number of neighbours."""
        return [(C, n_neighbors, n_passes) for C in self.Cs for n_passes in self.n_passes]


@dataclass(frozen=True, eq=False)
class Choice:
    """What a choice of options led to: parameters, report, and the classifier on the map.

    `results` has the errors of all settings, None in saved models; `classifier` is the chosen rule,
    fitted to the mapped training samples, None where these are not kept.
    """

    params: Mapping[str, Any]
    C: float
    classes: Vector
    report: Any
    results: Mapping[str, Any] | None = field(default=None, metadata=NOT_SAVED)
    classifier: Any = field(default=None, metadata=NOT_SAVED)

    def __post_init__(self) -> None:
        expected = asdict(self.report.setting)
        if self.params.get("C") != self.C or not self.params.items() <= expected.items():
            raise ValueError(
                f"best_params_ = {dict(self.params)} and C_ = {self.C:g} are not {expected}"
            )


def choose(race, options):
    """Return the best setting that a race finds.

    The Euclidean metric in all units comes first. Then metrics are learned from the best of these
    starts and from the other priors. At last variants of the best one are tried. The smallest of
    many errors is partly luck: so the default of `FrobMetric` is chosen only if it is better than
    the Euclidean metric by `AHEAD` standard errors, and another setting only if it is better than
    the default by as much.
    """
    k = options.n_neighbors[0]
    euclidean = [Setting("identity", units, NO_LEARNING, k, 1) for units in UNITS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of the race, not of the answer
        with stage(1, N_STAGES):
            race.run(euclidean)
        units = _promising(race, [each for each in euclidean if each.units in options.units])
        starts = [(prior, u) for prior in options.priors for u in _units_of(prior, units)]
        rests = options.with_neighbors(k)
        with stage(2, N_STAGES):
            race.run(Setting(*start, *rest) for start in starts for rest in rests)
        with stage(3, N_STAGES):
            _try_variants(race, options)
    # Euclid in other units than those that were asked for only runs along, to be compared with
    allowed = [
        each for each in race.finished if each.units in options.units or each not in euclidean
    ]
    chosen = race.best([each for each in euclidean if each in allowed])
    usual = [each for each in allowed if (each.C, each.n_passes) == USUAL]
    for better in ([race.best(usual)] if usual else []) + [race.best(allowed)]:
        gain, error = race.advantage(better, chosen)
        chosen = better if gain > AHEAD * error else chosen
    return chosen


def _promising(race, settings):
    """Return the best units, and the second best ones if they are not clearly behind."""
    best, *others = sorted(settings, key=race.score)
    behind = (race.advantage(best, each) for each in others[:1])
    return [best.units, *(o.units for o, (d, e) in zip(others, behind, strict=False) if d <= e)]


def _units_of(prior, units):
    """Return the units to try with a prior: most priors have units of their own."""
    return {None: units, "identity": units[:1]}.get(prior, ["raw"])


def _try_variants(race, options):
    """Try larger C if the best one is clearly better than those below it, and more neighbours."""
    best, more, n_folds = race.best(), options.n_neighbors[1:], len(race.folds)
    # of several values of C, the number of which is not known before
    n_larger = ceil(log10(LARGEST_C / best.C)) if _is_open(options, best) else 0
    doing = "trying larger C and more neighbours"
    with working(doing, (n_larger + len(more)) * n_folds, "settings") as work:
        while _is_open(options, best):
            below = replace(best, C=best.C / 10)
            is_known = below in race.finished
            if is_known and race.advantage(best, below)[0] <= _error(race, best, below):
                break
            race.run([replace(best, C=10 * best.C)])
            n_larger -= 1
            if race.best() == best:
                break
            best = race.best()
        work.advance(max(0, n_larger) * n_folds)  # those that need not be tried
        if not best.is_euclidean:
            race.run([replace(best, n_neighbors=k) for k in more])
        else:
            work.advance(len(more) * n_folds)


def _is_open(options, best):
    """Return whether a C above that of the best setting may be tried."""
    return options.is_open and max(options.Cs) <= best.C < LARGEST_C


def _error(race, setting, other):
    return race.advantage(setting, other)[1]
