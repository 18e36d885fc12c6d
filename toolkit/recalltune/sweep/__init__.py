"""Whole grids at once. In: candidates, a config, a Space. Out: per-case metrics of every point."""
