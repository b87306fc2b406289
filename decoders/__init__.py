"""Bytes to events: containers, link, IP and transport layers, one decoder a protocol
(CONTRIBUTING.md 2)."""
