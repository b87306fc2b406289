"""Text that came from a wire or a file name, made safe to show (cli/README.md 2).

Whatever a terminal would act on becomes visible instead: control characters, escape sequences, and
the Unicode controls that reorder or hide text.
"""

import unicodedata
from collections.abc import Mapping
from typing import Final

from seqaudit.replay.contract.report_rows import FindingRow

#: Categories that have no picture of their own: controls, formats (bidi, zero width), surrogates,
#: private use, unassigned, line and paragraph separators.
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def frame_at(entry: Mapping[str, object]) -> str:
    """``4``, or ``4 of cap.pcap2`` in a capture of several files: a number is one of a file."""
    file = entry.get("file")
    return f"{entry['frame']}" + (f" of {safe(file)}" if file is not None else "")


def finding_text(finding: FindingRow) -> str:
    """What a finding says, and of which subject or key."""
    subject = finding.get("subject")
    return safe(finding["text"] if subject is None else f"On {subject}: {finding['text']}")


def filter_of(finding: FindingRow) -> str:
    """A finding's display filter, and for which file of a capture of several it is."""
    file = finding.get("filter_file")
    return safe(finding["filter"]) + (f" (in {safe(file)})" if file is not None else "")


def safe(text: object) -> str:
    r"""A value as text in which every unprintable character is written out: ESC is ``\x1b``."""
    plain = str(text)
    if plain.isascii() and plain.isprintable():
        return plain
    return "".join(c if unicodedata.category(c) not in _UNSEEN else _written(c) for c in plain)


def _written(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
