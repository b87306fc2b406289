"""Commands, tables and machine formats: asks and shows, computes nothing (CONTRIBUTING.md 2)."""
