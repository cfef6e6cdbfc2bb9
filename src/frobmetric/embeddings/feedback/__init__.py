"""Feedback: examples of what should be near what, of each kind that people have."""
