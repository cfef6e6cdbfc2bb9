"""Tests of metric-learn that do not hold for frobmetric, and why."""

UNEXPLAINED = "not explained yet"
REASONS: dict[str, str] = {}
