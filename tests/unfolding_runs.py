"""One run of an unfolding method with a monitor of its own."""

from types import SimpleNamespace

from frobmetric.solvers import Monitor


def run_method(method, program, start=None, *, tol=1e-5, max_iter=1000, callback=None, **limits):
    """The coordinates and the multipliers, with what the monitor has recorded."""
    monitor = Monitor(tol, max_iter, callback)
    Y, w = method(program, start, monitor, **limits)
    return SimpleNamespace(
        Y=Y, w=w, status=monitor.status, history=tuple(monitor.history), n_iter=len(monitor.history)
    )
