"""Table of action recognition, on substitutes for the paper's data; and merged words of R8."""
