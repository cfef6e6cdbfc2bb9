"""Tables of the benchmark of the defaults."""


def defaults_page(parts):
    """Return."""
    return {}
