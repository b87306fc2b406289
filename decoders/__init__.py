"""Bytes to events: containers, link, IP and transport layers, one decoder a protocol (design 2)."""
