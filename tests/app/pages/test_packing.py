"""Packed arrays hold what they were made of."""

from base64 import b64decode

import numpy as np
import pytest

from frobmetric.app.pages.packing import pack_numbers, pack_whole, packed_size, rounded


def _unpack(packed):
    raw = np.frombuffer(b64decode(packed["data"]), dtype=f"<{packed['type']}")
    raw = raw.reshape(packed["shape"]).astype(float)
    return np.array(packed["low"]) + raw * np.array(packed["step"])


def test_numbers_are_rounded_to_steps_of_their_range(rng):
    values = rng.standard_normal((50, 4)) * [1e-6, 1.0, 1e3, 0.0] + [0, 5, -1e4, 7]
    packed = pack_numbers(values)
    assert packed["type"] == "u2"
    error = np.abs(_unpack(packed) - values).max(axis=0)
    assert (error <= 1e-4 * np.ptp(values, axis=0) + 1e-5 * np.abs(values).max(axis=0)).all()


def test_small_whole_numbers_are_exact_and_short(rng):
    values = rng.integers(-3, 200, size=(30, 5))
    packed = pack_numbers(values)
    assert packed["type"] == "u1"
    np.testing.assert_array_equal(_unpack(packed), values)
    assert packed_size(30, values) == len(b64decode(packed["data"])) == 150


@pytest.mark.parametrize(("largest", "kind"), [(255, "u1"), (256, "u2"), (70_000, "u4")])
def test_whole_numbers_take_as_few_bytes_as_they_need(largest, kind):
    packed = pack_whole(np.array([0, largest]))
    assert packed["type"] == kind
    raw = np.frombuffer(b64decode(packed["data"]), dtype=f"<{kind}")
    np.testing.assert_array_equal(raw, [0, largest])


def test_rounded_keeps_significant_digits():
    assert rounded([123456789.0, 0.000123456789, 0.0], 3) == [123000000.0, 0.000123, 0.0]
