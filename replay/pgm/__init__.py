"""PGM: receive windows, NAKs and repairs."""
