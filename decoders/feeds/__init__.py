"""Feeds declared in YAML: files, lookup tables, datagrams."""
