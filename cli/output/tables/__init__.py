"""Tables of single commands."""
