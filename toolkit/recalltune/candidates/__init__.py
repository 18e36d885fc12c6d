"""Admit and arms. In: a lab, queries. Out: one row per (query, memory), as of the query's time."""
