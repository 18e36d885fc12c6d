"""What a ranking is worth. In: candidates, a config, eval cases. Out: metrics, verdicts, decisions."""
