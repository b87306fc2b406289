"""The replay stage: which systems there are, and rows to engines."""
