"""Ranges, gaps and clocks: what knows no system and no event."""
