"""Configs and the stages they list. In: candidates, a RankingConfig. Out: ordered lists."""
