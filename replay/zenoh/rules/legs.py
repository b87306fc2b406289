"""What several legs or captures show together (``replay.zenoh.legs`` judges them)."""

from typing import Final

from seqaudit.replay.contract.rule import Rule, error, info, warning

RULES: Final[tuple[Rule, ...]] = (
    error(
        "ZN019", "last-samples-lost-unnoticed",
        "The publisher's last samples did not reach the subscriber and nothing told it: no "
        "heartbeat, no newer sample, no miss callback.",
        "Captures of two places: the source's highest sn at the one is above all that was seen or "
        "announced at the other.",
        "Use heartbeats or periodic queries.",
        "zenoh.md 9.4, 11"),
    info(
        "ZN020", "where-samples-were-lost",
        "Two legs or two captures of the same source together say between which points samples "
        "were lost.",
        "Sns of a source that were seen live at one leg and not at the next.",
        "Look at the hop that the text names.",
        "zenoh.md 11"),
    warning(
        "ZN021", "heartbeat-lost",
        "A sporadic heartbeat left the publisher and did not arrive; nothing repeats it.",
        "Captures of two places: the highest sn told by heartbeats differs.",
        "Use periodic heartbeats on lossy links.",
        "zenoh.md 9.2"),
    error(
        "ZN025", "first-samples-lost",
        "The first samples that a publisher sent to a subscriber did not reach it: it takes the "
        "first one that comes for the beginning, asks for nothing older and is told of no miss.",
        "Captures of two places: the source's lowest live sns at the one are below all that came "
        "to the other.",
        "Ask for history, or use heartbeats with recovery: these bring the whole cache.",
        "zenoh.md 9.4 rule 5"),
    error(
        "ZN026", "source-began-again",
        "A publisher began again under the same zid and entity id: its subscribers take the sns "
        "that they have had for repeats and drop these samples without a word.",
        "Two sessions of one node in turn: live sns of the later one are not above those of the "
        "earlier one.",
        "Do not configure fixed zids, or start the subscribers again as well.",
        "zenoh.md 9.4 rule 9"),
)  # fmt: skip
