"""Moves and orders: plan, Spark job, direct engine, report assembly (design 3)."""
