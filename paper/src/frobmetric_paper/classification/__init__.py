"""Tables of methods × data sets × runs: shared by `uci` and `action`."""
