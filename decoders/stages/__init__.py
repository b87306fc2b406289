"""The decoding stages: which systems there are, and what each stage finishes."""
