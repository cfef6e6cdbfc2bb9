"""Driver of learners in a worker: the same code fits those of metric-learn and ours."""

from importlib import import_module


def warm_up(name):
    """Import the package of a target before the first task is timed."""
    import_module(name)


def metric_learn(task):
    """Fit a learner of metric-learn.

    Its SCML compares given bases with a text and fails; they are handed to its inner function.
    """
    package = import_module("metric_learn")
    if task["learner"] == "SCML":
        model, bases = package.SCML(**task["parameters"]), task["bases"]
        model._fit(task["triplets"], basis=bases, n_basis=len(bases))
        return {"components": model.components_}, {"steps": int(model.n_iter_)}
    return _fit(package, task)


def frobmetric(task):
    """Fit a learner of this library."""
    return _fit(import_module("frobmetric.learners"), task)


def _fit(package, task):
    """Fit a learner to the arrays that the task names, and return its map.

    Arrays may be parameters too, by the names in `array_parameters`.
    """
    arrays = {name: task[array] for name, array in task["array_parameters"].items()}
    model = getattr(package, task["learner"])(**task["parameters"], **arrays)
    model.fit(*(task[name] for name in task["arguments"]))
    detail = {"steps": int(getattr(model, "n_iter_", 0))}
    if hasattr(model, "certificate_"):
        detail["gap"] = model.certificate_.relative_gap
    return {"components": model.components_}, detail
