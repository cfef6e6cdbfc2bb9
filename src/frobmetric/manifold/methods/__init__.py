"""How unfolding problems are solved."""
