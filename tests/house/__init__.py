"""Measure the whole library, so that a redesign can be compared with what was before it.

``python tests/house COMMAND --tree PATH`` measures any checkout: answers, public names, walks,
lines and types, test cases, speed. See ``python tests/house --help``.
"""
