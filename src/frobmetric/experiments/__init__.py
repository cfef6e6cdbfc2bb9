"""The experiments of the paper, and the programs that they compare with."""
