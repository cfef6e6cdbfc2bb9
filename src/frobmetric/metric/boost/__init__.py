"""BoostMetric."""
