"""Sans-I/O engines, rules, findings, windows and summaries (design 2)."""
