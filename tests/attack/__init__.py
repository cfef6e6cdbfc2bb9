"""Hostile input of every kind: tests that found defects, and a suite of attacks with new seeds."""
