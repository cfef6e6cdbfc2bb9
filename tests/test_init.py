"""The face of the package: what is there, and what is imported only when it is used."""

import inspect
import types
from functools import cached_property
from importlib import import_module
from typing import get_type_hints

import pytest

import frobmetric
from frobmetric.manifold import MaximumVarianceUnfolding
from frobmetric.plotting import SpectrumDisplay
from frobmetric.sdp import nearest_correlation, solve_sdp

ROOMS = [
    "core",
    "solvers",
    "comparisons",
    "neighbors",
    "metric",
    "sdp",
    "manifold",
    "io",
    "plotting",
]


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


@pytest.mark.parametrize("name", frobmetric.__all__)
def test_every_public_name_exists(name):
    value = getattr(frobmetric, name)
    assert isinstance(value, types.ModuleType) or value.__module__.startswith("frobmetric.")


def test_only_public_names_are_listed():
    assert sorted(dir(frobmetric)) == sorted([*frobmetric.__all__, "__version__"])
    assert frobmetric.__all__ == sorted(frobmetric.__all__)


def test_names_of_rooms_that_are_imported_on_first_use():
    assert frobmetric.MaximumVarianceUnfolding is MaximumVarianceUnfolding
    assert frobmetric.manifold.MaximumVarianceUnfolding is MaximumVarianceUnfolding
    assert frobmetric.plotting.SpectrumDisplay is SpectrumDisplay
    assert frobmetric.solve_sdp is frobmetric.sdp.solve_sdp is solve_sdp
    assert frobmetric.nearest_correlation is nearest_correlation


def test_a_name_that_does_not_exist():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = frobmetric.nothing
