"""Table I of the paper: metrics for classification on seven data sets."""
