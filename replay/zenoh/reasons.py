"""Why frames do not tell what a subscriber was handed, in words."""

from typing import Final

#: What is null then.
FIGURES: Final = (
    "delivered", "delivered_unsure", "misses", "recovered", "unrecovered", "lost", "lost_seqnos",
    "unrecovered_seqnos", "subscribers",
)  # fmt: skip
#: Of these what says which samples it was handed; the others are the same either way.
HANDED: Final = ("delivered", "delivered_unsure", "subscribers")
#: Those of what releases do otherwise.
RELEASED: Final = (*HANDED, "misses")
#: Those of what came back, which was handed on all the same.
RECOVERED: Final = ("lost", "lost_seqnos", "recovered")
LATE: Final = (
    "samples came late, and nothing shows whether their subscriber has recovery: it is handed "
    "them, or they come in vain"
)
SEVERAL: Final = (
    "queries of this node at one key expression may be of several subscribers, and do not tell "
    "whose each is; they need not have the same samples"
)
BEFORE: Final = (
    "it had asked for samples below the first that came here: this waited until the answer ended"
)
BLIND: Final = (
    "samples came by the answer to a query of before all samples here: live before the capture as "
    "well, or not"
)
BEHIND: Final = (
    "it asked for what it should have been handed long before: what came here reached it later, or "
    "is handed to nobody, or the request is of another subscriber at its key expression"
)
AHEAD: Final = (
    "it asked for samples above some that came only then: it had these by an earlier run of their "
    "source, or the request is of another subscriber at its key expression"
)
CUT_SHORT: Final = (
    "it ended soon behind a gap: nothing shows whether it had gone on or was about to ask"
)
SHARED: Final = (
    "a reply to a query that several subscribers of this node may have sent, or that one sent when "
    "samples had come"
)
SHARED_OUT: Final = (
    "samples came by the answer to one of several subscribers that asked in the same words, and "
    "not to the others: nothing tells who was handed them"
)
STRAY: Final = (
    "samples came by the answer to a query that is not here: nothing tells whose that was"
)
FIRST: Final = (
    "frames are missing before its first sample, which is not the publisher's first: what these "
    "held nothing asks for"
)
UNHEARD: Final = (
    "no subscriber is declared or asks in this capture, which began after the session: a client "
    "sends though there is none, and so does who has not heard that"
)
NOBODY: Final = (
    "samples come, and nobody has declared a subscriber on this link that they may be for: there "
    "is none, or its declaration came by another link of the two nodes, or is not in this capture"
)
UNNAMED: Final = (
    "samples had come for its node before any subscriber was declared: nothing shows which of them "
    "were for this one"
)
LAPSED: Final = (
    "samples came when an end had been silent for longer than its lease and no sign of the session "
    "followed: the other end drops it then, and hands nobody what comes"
)
UNJOINED: Final = (
    "the Join of their sender was not captured since that of the member that listens here: nothing "
    "shows whether this knows it and takes its frames"
)
EARLY: Final = "samples came just before it was declared: nothing shows whether it was there"
COMING: Final = (
    "samples came for another subscriber of its node just before it was declared: nothing shows "
    "whether it was handed them, too"
)
OWN_FRAMES: Final = (
    "frames that its node sent are not in this capture: in one of them a subscriber at its key "
    "expression may have been declared or undeclared, or asked for something"
)
UNHEARD_THEN: Final = (
    "nothing that its node sent is in this capture when samples were missing, though it had to "
    "speak, if it lived: nothing shows whether it asked for them"
)
LEFT_BEFORE: Final = (
    "no sample came live behind the first 100 ms of this capture, which began after the session: "
    "its subscriber may have been undeclared just before, and asks on"
)
ONE_LEFT: Final = (
    "a subscriber of its node whose declaration is not in this capture was undeclared: nothing "
    "shows whether it was this one"
)
AS_THEY_COME: Final = (
    "samples came live before its history was there, or a query for a publisher that it heard of "
    "was open at its end: since zenoh 1.10 all wait for that, before they are handed on as they "
    "come, and older ones dropped"
)
LEFT_OPEN: Final = (
    "a query of it was open when it was undeclared, or sent behind that: since zenoh 1.9 what "
    "waits for such, and what they bring, reaches nobody; up to 1.7 it is handed on"
)
LEFT_UNSEEN: Final = (
    "a member of the group declares its subscriber at this key expression once more: the first was "
    "undeclared before, of which a group is not told, and what came then reached nobody"
)
MAY_HAVE_LEFT: Final = (
    "a group is not told when a subscriber is undeclared: this one may have been so before any of "
    "these samples, and was handed none and missed none from then on"
)
LEAVING: Final = (
    "samples came just before it was undeclared, or its node left: nothing shows whether it was "
    "handed them still"
)
ASKED_LATER: Final = (
    "its node asked by a later session for samples that came by this one, which went on: nothing "
    "shows whether it was handed them"
)
CLOSED: Final = (
    "its receiver said nothing more, and another session began at the same address before any "
    "Close: nothing shows when its socket was closed, and what came behind that reached nobody"
)
SILENT: Final = (
    "its receiver said nothing more, not even that it lives, and the capture went on: nothing "
    "shows when it ended, and what came behind that reached nobody"
)
CROSSED: Final = (
    "its query for a publisher that it heard of crossed with the end of its history: what that "
    "brought was handed on, or dropped behind a newer sample"
)
CLOSING: Final = (
    "its host said that nobody listens there just after samples had come: those that waited in the "
    "socket when it was closed reached nobody"
)
BROKEN: Final = (
    "its connection was reset just after samples had come: those that it had not read reached "
    "nobody"
)
LINKS: Final = (
    "its session may have several links: declarations, samples, queries and replies may have come "
    "by another"
)
OVERTAKEN: Final = (
    "samples leave in another order than that of their numbers, and frames are missing: what these "
    "held may have come before others, which were then too old to be handed on"
)
IN_VAIN: Final = (
    "frames overtake each other on its link, and one is missing right behind one that has a reply: "
    "if that came first, its transport threw this away"
)
PASSED: Final = (
    "frames overtake each other on its link, and some are missing: if one of these came before a "
    "frame that is here, its transport threw this away, and who asks for nothing does not say so"
)
ROUTED: Final = (
    "its receiver is a router, which hands samples on to others: what these were handed is visible "
    "at their interfaces only"
)
UNDECLARED: Final = "its key has a number that nobody declared here, unless that was not captured"
FLOODED: Final = (
    "so many datagrams came for its node at once that the buffer of its socket may have been full: "
    "what its host dropped then it was not handed, which no frame says"
)
HAD: Final = "its requests show that it had samples that are not in this capture (CP007)"
OTHERS_HAD: Final = (
    "requests of a subscriber on its link show that frames are missing in this capture (CP007)"
)
HOLE: Final = (
    "samples may have lain in bytes of its connection that are missing here, or could not be read"
)
WAITED: Final = "samples waited when its session ended unseen: nothing tells if it had them then"
UNASKED = (
    "it asks for what it misses and did not ask at some gap: it had what is not here, or its query "
    "and what came back are not here"
)
AGAIN: Final = (
    "its source began again under the same id: samples that are not here have numbers that it had "
    "used before, which their subscriber takes for repeats, and neither misses nor asks for (ZN026)"
)
BESIDE: Final = (
    "samples that its link lacks came here by a group, or those that a group lacks by a link: who "
    "hears both takes a sample by whichever brings it"
)
