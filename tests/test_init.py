"""The face of the package: what is there, and what is imported only when it is used."""

import types

import pytest

import frobmetric
from frobmetric.manifold import MaximumVarianceUnfolding
from frobmetric.plotting import SpectrumDisplay
from frobmetric.sdp import nearest_correlation, solve_sdp


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
