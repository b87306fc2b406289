"""Sans-I/O engines, rules, findings, windows and summaries (CONTRIBUTING.md 2)."""
