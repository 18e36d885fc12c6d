"""Walk a transcript through time. In: turns or cases, a config. Out: one account a step.

Four doors, each with what it needs around it:

- `steps.replay`: every question as of its time. `walk` keeps the states, `account` counts what goes
  in and out, `fates` says where a wanted memory was lost; `step_views` and `fate_views` are frames
  of it, `step_objects` JSON.
- `search_log.replay_search_log`: production's own searches. `logged_lists` is what can be replayed,
  `list_changes` the comparison, `explained_changes` the stage behind each difference, `log_views`
  frames.
- `reinforce.reinforce`: what is shown counts as used; its parts stand in `reinforcing`.
- `proof`: no score knows the future, shown over `future` and `other_futures`. `companion`,
  `reread`, `reread_gain` and `probe` are the loop and the experiments of the HEL-847 plan.
"""
