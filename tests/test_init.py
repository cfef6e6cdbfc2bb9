"""The face of the package: what is there, and what is imported only when it is used."""

import inspect
import re
import types
from functools import cached_property
from importlib import import_module
from typing import get_type_hints

import numpy as np
import pytest

import frobmetric
import frobmetric.comparisons
import frobmetric.neighbors
import frobmetric.sdp
from frobmetric.manifold import MaximumVarianceUnfolding
from frobmetric.plotting import SpectrumDisplay
from frobmetric.sdp import nearest_correlation, solve_sdp
from house.names import names as public_names


@pytest.mark.parametrize("name", frobmetric.__all__)
def test_every_public_name_exists(name):
    assert getattr(frobmetric, name).__module__.startswith("frobmetric.")


def test_only_public_names_and_rooms_are_listed():
    assert len(frobmetric.__all__) <= 40
    listed = set(dir(frobmetric)) - {"__version__", *frobmetric.__all__}
    assert len(dir(frobmetric)) == len(listed) + len(frobmetric.__all__) + 1
    assert listed >= {"core", "learners", "metric"}  # rooms are found, but are no names in __all__
    assert all(isinstance(getattr(frobmetric, each), types.ModuleType) for each in listed)
    by_case = sorted(frobmetric.__all__, key=lambda name: (not name.isupper(), name))
    assert frobmetric.__all__ == by_case  # as ruff sorts them: names in capitals first


def test_the_library_has_few_public_names_each_of_one_thing():
    found = public_names()
    assert found["counts"]["listed, distinct"] <= 150
    assert not found["in two modules"]


def test_names_of_rooms_that_are_imported_on_first_use():
    assert frobmetric.MaximumVarianceUnfolding is MaximumVarianceUnfolding
    assert frobmetric.manifold.MaximumVarianceUnfolding is MaximumVarianceUnfolding
    assert frobmetric.plotting.SpectrumDisplay is SpectrumDisplay
    assert frobmetric.solve_sdp is frobmetric.sdp.solve_sdp is solve_sdp
    assert frobmetric.nearest_correlation is nearest_correlation


def test_a_name_that_does_not_exist():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = frobmetric.nothing


#: Parameters with a default that may be given by position: data, and as in scikit-learn the
#: number of neighbours and the estimator inside another one.
DATA = {"y", "sample_weight", "A", "b", "senses", "response", "n_neighbors", "metric"}


def public_callables():
    rooms = (frobmetric, *(getattr(frobmetric, n) for n in ("sdp", "manifold", "comparisons")))
    for room in (*rooms, frobmetric.neighbors, frobmetric.metric, frobmetric.embeddings):
        for name in room.__all__:
            value = getattr(room, name)
            if inspect.isfunction(value) or hasattr(value, "get_params"):
                yield value


CALLABLES = sorted(set(public_callables()), key=lambda value: value.__name__)


def public_methods(kind):
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        if not name.startswith("_") and method.__module__.startswith("frobmetric."):
            yield method


@pytest.mark.parametrize("value", CALLABLES)
def test_parameters_after_the_data_are_keywords(value):
    methods = public_methods(value) if inspect.isclass(value) else ()
    functions = {value, *methods}
    if value.__name__ in (*frobmetric.learners.__all__, "DrawnConstraints"):
        functions -= {value, value.__dict__.get("fit")}  # the order is that of metric-learn
        functions = {
            each for each in functions if each.__module__ != "frobmetric.learning.constraints"
        }
    for function in functions:
        for parameter in inspect.signature(function).parameters.values():
            if parameter.default is not parameter.empty and parameter.name not in DATA:
                assert parameter.kind is parameter.KEYWORD_ONLY, (function, parameter)


@pytest.mark.parametrize("value", CALLABLES)
def test_every_parameter_is_in_the_table_of_the_docstring(value):
    table = re.search(r"Parameters\n-+\n(.*?)(\n\n|$)", inspect.getdoc(value), re.DOTALL)[1]
    lines = re.findall(r"^(\w[\w, ]*?)(?: : .*)?$", table, re.MULTILINE)
    names = [name for line in lines for name in line.split(", ")]
    assert names == list(inspect.signature(value).parameters)


ROOMS = ["core", "solvers", "comparisons", "neighbors", "metric", "embeddings", "sdp", "manifold"]
ROOMS += ["io", "plotting"]


def public_functions(module):
    """Generate the public functions of a module and of its classes, with their names."""
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isfunction(value):
            yield name, value
        elif inspect.isclass(value):
            members = [m for m in dir(value) if m == "__init__" or not m.startswith("_")]
            for member in members:
                function = inspect.getattr_static(value, member)
                if isinstance(function, property):
                    function = function.fget
                elif isinstance(function, cached_property):
                    function = function.func
                else:
                    function = inspect.unwrap(getattr(value, member, function))
                    function = getattr(function, "__func__", function)
                if inspect.isfunction(function):
                    yield f"{name}.{member}", function


@pytest.mark.parametrize("room", ["", *ROOMS])
def test_every_public_parameter_and_result_is_annotated(room):
    n_checked, bare = 0, []
    for name, function in public_functions(import_module(f"frobmetric.{room}".rstrip("."))):
        if not function.__module__.startswith("frobmetric."):
            continue  # inherited, or written by the standard library
        hints = get_type_hints(function)
        expected = {*inspect.signature(function).parameters, "return"} - {"self", "cls"}
        bare += [f"{name}: {one}" for one in sorted(expected - set(hints))]
        n_checked += 1
    assert n_checked
    assert not bare


def test_reprs_hold_no_arrays():
    """Only a nearest matrix shows itself: it is what its user asked for."""
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 2
    path, triplets = frobmetric.frob_path(X, y, Cs=[1.0, 10.0]), frobmetric.mine_triplets(X, y)
    assert repr(path) == "FrobPath(Cs=[1.0, 10.0], n_triplets=270)"
    assert repr(triplets) == "MinedTriplets(n_triplets=270)"
    infeasible = frobmetric.solve_sdp(frobmetric.sdp.make_sdp(np.eye(2), [np.eye(2)], [-1.0]))
    answer = frobmetric.sdp.sdpa.SDPAAnswer.from_solution(infeasible)
    quiet = (path.points[0], infeasible, infeasible.ray, answer)
    assert not any("array(" in repr(value) for value in quiet)
    assert (
        repr(frobmetric.manifold.neighbor_graph(X[:3], 2)) == "NeighborGraph(n_points=3, n_edges=3)"
    )
    assert repr(frobmetric.neighborhood_quality(X, X)) == (
        "NeighborhoodQuality(n_samples=30, area=1.000)"
    )
    assert repr(frobmetric.read_comparisons([[0, 1, 2]])) == (
        "Comparisons(n_comparisons=1, n_objects=3, n_undecided=0)"
    )
