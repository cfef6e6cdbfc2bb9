"""Checks of what users give: arguments, samples, parameters and text, one text for one mistake."""
