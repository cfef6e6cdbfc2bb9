"""The monitor: history, best iterate, limits, parts of a run, and how a run is concluded."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from frobmetric.core.solution import STATUSES, Certificate, Step
from frobmetric.solvers import Interrupted, Monitor, State
from frobmetric.solvers.monitor import Reporter, conclude


def iterate(error, **extra):
    values = {"primal": 1.0 + error, "dual": 1.0, "gap": error, "rank": 2}
    return SimpleNamespace(error=error, **values, **extra)


def test_history_best_and_tolerance():
    monitor = Monitor(0.1, 100)
    assert [monitor.record(iterate(error)) for error in (np.inf, 0.5, 0.9, 0.1)] == [0, 0, 0, 1]
    assert monitor.status == "optimal"
    assert monitor.best.error == monitor.error == 0.1
    assert monitor.n_steps == len(monitor.history) == 4
    assert [type(step) for step in monitor.history] == 4 * [Step]
    assert monitor.history[1][:4] == (1.5, 1.0, 0.5, 2)
    seconds = [step.seconds for step in monitor.history]
    assert seconds == sorted(seconds)


def test_an_iterate_without_an_error_counts_only():
    monitor = Monitor(0.1, 100)
    assert not monitor.record(iterate(np.nan))
    assert (monitor.n_steps, monitor.history, monitor.best) == (1, [], None)
    assert monitor.error == np.inf
    assert monitor.state.is_empty


def test_limits():
    few = Monitor(0.1, 2)
    assert [few.record(iterate(0.5)), few.count()] == [False, True]
    assert few.status == "max_iter"
    late = Monitor(0.1, 100, time_limit=0.0)
    assert late.record(iterate(0.5))
    assert late.status == "time_limit"


def test_the_callback_stops_unless_the_tolerance_is_met():
    seen = []
    stopped = Monitor(0.1, 100, lambda step: seen.append(step) or len(seen) == 2)
    assert [stopped.record(iterate(error)) for error in (0.9, 0.8)] == [False, True]
    assert stopped.status == "stopped"
    assert seen == stopped.history
    done = Monitor(0.1, 100, lambda step: True)
    done.record(iterate(0.05))
    assert done.status == "optimal"


def test_another_description_of_iterates():
    monitor = Monitor(0.1, 100, describe=lambda iterate, seconds: iterate.error)
    monitor.record(iterate(0.5))
    assert monitor.phase(0.1).record(iterate(0.3)) is False
    assert monitor.history == [0.5, 0.3]


def test_a_phase_is_recorded_in_the_whole():
    whole = Monitor(0.01, 5)
    phase = whole.phase(0.2, max_iter=3)
    assert phase.record(iterate(0.1))
    assert (phase.status, whole.status) == ("optimal", "")
    assert whole.best is phase.best
    second = whole.phase(0.001)
    assert second.tol == 0.01  # never below that of the whole
    assert [second.record(iterate(0.5)) for _ in range(4)] == [False, False, False, True]
    assert second.status == whole.status == "max_iter"
    assert (whole.n_steps, len(whole.history)) == (5, 5)


def test_another_problem_counts_but_is_not_recorded():
    whole = Monitor(0.01, 5)
    inner = whole.inner(0.1, max_iter=3)
    assert inner.record(iterate(0.05))
    assert (inner.status, whole.status) == ("optimal", "")
    assert (whole.n_steps, whole.history, whole.best) == (1, [], None)
    assert inner.max_iter == 3
    assert whole.inner(0.1).max_iter == 4


def test_parts_end_with_the_time_of_the_whole():
    whole = Monitor(0.01, 100, time_limit=0.0)
    for part in (whole.phase(0.1), whole.inner(0.1)):
        assert part.should_stop()
        assert part.status == "time_limit"


def test_ctrl_c_needs_an_iterate():
    monitor = Monitor(0.1, 100)
    with pytest.raises(KeyboardInterrupt), monitor.running():
        raise KeyboardInterrupt
    monitor.record(iterate(0.5))
    with monitor.running():
        raise KeyboardInterrupt
    assert monitor.status == "interrupted"


def test_state_is_that_of_the_best_iterate():
    monitor = Monitor(0.1, 100)
    best = iterate(0.5, u=np.ones(2), point=np.eye(2), sigma=3.0)
    monitor.record(best)
    monitor.record(iterate(0.9))
    state = monitor.state
    assert (state.u is best.u, state.point is best.point, state.sigma) == (True, True, 3.0)
    assert not state.is_empty
    assert State().is_empty


def answer(status, error=0.5):
    certificate = Certificate(1.0 + error, 1.0, error, error / (1 + error))
    return SimpleNamespace(status=status, solver="anyone", n_iter=7, certificate=certificate)


@pytest.mark.parametrize("status", [s for s in STATUSES if s != "interrupted"])
def test_a_warning_for_every_end_that_the_user_did_not_ask_for(status, recwarn):
    conclude(answer(status), 0.1)
    expected = status in ("max_iter", "time_limit", "stalled")
    assert [str(warning.message) for warning in recwarn] == expected * [
        f"anyone ended ({status}) after 7 steps with relative gap 3.3e-01 > tol=0.1; raise "
        + {"stalled": "tol"}.get(status, f"{status} or tol")
    ]


def test_the_warning_points_to_the_caller_and_gives_advice():
    def solve():
        conclude(answer("stalled"), 0.1, advice="try another method")

    with pytest.warns(ConvergenceWarning, match="> tol=0.1; try another method") as caught:
        solve()
    assert caught[0].filename == __file__


def test_an_interruption_has_the_answer():
    interrupted = answer("interrupted")
    with pytest.raises(Interrupted, match=r"after 7 steps; optimum in \[1, 1.5\]") as info:
        conclude(interrupted, 0.1)
    assert info.value.solution is interrupted
    assert str(Interrupted([], "3 of 7 points")) == "3 of 7 points"


def test_a_reporter_writes_some_lines_and_passes_every_step_on(capsys):
    seen = []
    reporter = Reporter(2, lambda step: seen.append(step) or len(seen) == 3)
    assert [reporter(Step(1.5, 1.0, 0.5, 2, 0.1)) for _ in range(3)] == [False, False, True]
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"step {k:4d}  objective 1.5  gap 5.00e-01  rank 2  0.1 s" for k in (1, 3)]
