"""Capture containers: from a file's bytes to frames."""
