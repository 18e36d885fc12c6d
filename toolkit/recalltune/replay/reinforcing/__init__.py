"""What is shown is used, and what is used fades more slowly: the parts of `replay.reinforce`.

In: a candidate table, one config, a rule of what counts as a use. Out: the lists it shows.

- `rule` says what counts; `uses` are those recorded before the start; `state` and `tiers` are
  what the walk has done so far.
- `reference` is the walk as it is defined. `split` runs once what does not depend on use.
- `fade` recognises configs in which use moves one fade alone, `tables` holds what all of these
  share, and `lanes` (NumPy) and `compiled` (numba) walk them to the lists of the reference.
- `views` makes frames of the lists.
"""
