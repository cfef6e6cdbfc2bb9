"""Change of encoder: queries of a new encoder search the index of an old one."""
