"""Recordings spoiled in every way a capture can be, and what an audit then calls proven."""
