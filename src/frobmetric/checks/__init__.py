"""Checks of input: arguments, samples, parameters and text; one text for one mistake."""
