"""Feeds: any numbered datagrams."""
