"""Moves and orders: plan, Spark job, direct engine, report assembly (pipeline/README.md 2)."""
