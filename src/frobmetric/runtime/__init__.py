"""Threads, files replaced whole or not at all, checkpoints, progress and printed tables."""
