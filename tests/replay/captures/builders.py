"""Merged accounts of captures, of which a test says what it is about."""

from dataclasses import replace
from typing import Any

from seqaudit.pipeline.report.accounts import merge
from seqaudit.pipeline.shared.plan import File
from seqaudit.replay.contract.capture_rows import MergedAccount

NOTHING = merge([], [File("a.pcap", "a.pcap", "pcap", "", 0, 1)])


def merged(**told: Any) -> MergedAccount:
    """The account of a capture in which nothing was noticed but what is told: figures that the
    report shows, or what else it is made of; of those that have several words, some."""
    parts = {name: getattr(NOTHING, name) for name in MergedAccount.__slots__}
    figures: Any = dict(NOTHING.figures)
    for name, value in told.items():
        known = figures if name in figures else parts
        known[name] = {**known[name], **value} if isinstance(known[name], dict) else value
    return replace(NOTHING, **parts | {"figures": figures})
