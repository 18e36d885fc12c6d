"""What a ranking is worth. In: candidates, a config, cases. Out: metrics, verdicts, decisions."""
