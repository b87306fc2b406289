"""Commands, tables and machine formats: asks and shows, computes nothing (design 2)."""
