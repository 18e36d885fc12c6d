"""Walk a transcript through time. In: turns or cases, a config. Out: one account a step."""
