"""What the truth of a recording says against a proven finding."""

from tests.degraded.claims import Finding
from tests.degraded.subjects import Recording


def refuted(recording: Recording, found: Finding) -> str | None:
    """Why the truth refutes a finding; null where it does not, or cannot tell."""
    return None
