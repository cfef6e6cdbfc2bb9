"""Numbers of the page on faces as words."""

from __future__ import annotations

from ..table.words import NOTHING, outcome_words, parameters, percent
from .rules import COUNTING
from .summary import done, mean

#: What a recipe's words mean for people.
SPACES = {
    "identity": "principal components",
    "covariance": "whitened",
    "within": "whitened within people",
}


def rule_words(rule):
    """A rule, for people."""
    if rule.startswith(COUNTING):
        return f"MkNN, k = {rule.removeprefix(COUNTING)}"
    return rule


def share(value):
    """A share as percent."""
    return NOTHING if value is None else f"{100 * value:.2f}"


def with_error(found):
    """Mean and standard error: 87.52 ± 0.31."""
    if found is None:
        return NOTHING
    return f"{found.accuracy:.2f}" + ("" if found.error is None else f" ± {found.error:.2f}")


def with_std(found):
    """As the paper writes it: 84.34 (1.23)."""
    return NOTHING if found is None else percent(found.accuracy, found.std)


def accuracy(cells, rule, words=with_error):
    """The accuracy of a rule over folds, or why there is none."""
    found = mean(cells, rule)
    return words(found) if found else outcome_words(cells[0])


def folds(cells):
    """How many folds have an answer."""
    n_done = len(done(cells))
    return str(n_done) if n_done == len(cells) else f"{n_done} of {len(cells)}"


def where(task, recipe):
    """The split of a task, and what tells it from others of its method."""
    return f"{task.split}, {task.variant}: {recipe.n_dimensions}-D, {recipe.n_triplets:,} triplets"


def setup_words(setup, names):
    """Those values of a setup that were chosen, by name."""
    known = {name: getattr(setup.recipe, name, None) for name in names} | {
        name: setup.parameters[name] for name in names if name in setup.parameters
    }
    return parameters({name: "none" if value is None else value for name, value in known.items()})


def recipe_words(recipe):
    """How images become vectors, in a sentence."""
    root = "square roots of the descriptors" if recipe.root else "descriptors"
    unit = ", each vector at unit length" if recipe.unit else ""
    return f"{root}, PCA to {recipe.n_dimensions} dimensions, {SPACES[recipe.space]}{unit}"
