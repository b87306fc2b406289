"""The models of a multicast stream, made as the parameters and the capture's beginning say."""

from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.parameters import DEFAULT, EngineParameters
from seqaudit.replay.contract.settings import MEMBER, Vantage
from seqaudit.replay.jgroups.evidence import QUIET_NS, SECOND_NS, Beginning, Life
from seqaudit.replay.jgroups.mcast.merges import Merges
from seqaudit.replay.jgroups.mcast.origin import Origin
from seqaudit.replay.jgroups.mcast.owed import AckSchedule
from seqaudit.replay.jgroups.mcast.parameters import SOONEST_MS
from seqaudit.replay.jgroups.mcast.passing import PassingModel
from seqaudit.replay.jgroups.mcast.receiver import ReceiverModel
from seqaudit.replay.jgroups.mcast.sender import SenderModel
from seqaudit.replay.jgroups.mcast.streams import McastStream
from seqaudit.replay.jgroups.mcast.terms import WindowTerms
from seqaudit.replay.jgroups.members import SeenViews, View
from seqaudit.replay.sequence.elapsed import Elapsed
from seqaudit.replay.sequence.gaps import Mark


class Models:
    """What makes the models of one cluster in one capture.

    Attributes:
        elapsed: the time between the cluster's events.
        life: of the member at this point.
    """

    def __init__(self, parameters: EngineParameters, vantage: Vantage, seen: SeenViews) -> None:
        self.elapsed = Elapsed()
        self._merges = Merges(seen)
        self.life = Life(self.elapsed)
        self._parameters = parameters
        self._document = parameters.value("rules") == "document"
        self._at_member = vantage.kind == MEMBER
        self._began: Mark | None = None
        # what was asked for and is lacked still is asked for again with every tick (4.4)
        self._rest_ns = max(SECOND_NS, int(parameters.value("xmit_interval_ms")) * 1_000_000)

    def begins(self, mark: Mark) -> None:
        """Something of the cluster was captured: the first such moment counts."""
        if self._began is None:
            self._began = mark
            self.elapsed.saw(mark)

    def saw(self, event: Event, local: str | None) -> None:
        """Any event of the cluster but what comes between frames.

        Args:
            local: the member at this point; null: not known.
        """
        self.elapsed.saw(event.first_mark())
        self._merges.saw(event)
        if local is not None and event.source == local:
            self.life.spoke(event.last_mark())

    def stream(
        self, key: str, sender: str, event: Event, view: View | None, *, as_sender: bool
    ) -> McastStream:
        """A stream that begins with an event.

        Args:
            view: that its sender has.
            as_sender: what is replayed of it is its sender's window.
        """
        stream = McastStream(key, sender, event.system)
        if as_sender and event.system != "nakack2":
            stream.sender_model = self.sender()
            if view is not None:
                members = frozenset(view.members)
                stream.sender_model.members_are(members, sender, event.first_mark())
        return stream

    def sender(self) -> SenderModel:
        """Of a stream that is sent here, or passes."""
        proof_ns = self._parameters.value("block_proof_ms") * 1_000_000
        return SenderModel(self._parameters.value("capacity"), proof_ns, document=self._document)

    def passing(self, event: Event) -> PassingModel:
        """Of a stream that begins to pass with an event."""
        assert self._began is not None and event.seqno is not None
        long = self.elapsed.at_least(self._began, event.first_mark()) >= self._rest_ns
        bound = 0 if long and event.seqno == 1 else None
        beginning = Beginning(self._began, self.elapsed, bound)
        return PassingModel(event.seqno, beginning, at_sender=self._at_member)

    def long_before(self, mark: Mark) -> bool:
        """Does the capture go back so far that what was asked for then is not asked for again?"""
        assert self._began is not None, "something was captured"
        return self.elapsed.at_least(self._began, mark, trusted_ns=QUIET_NS) >= self._rest_ns

    def receiver(
        self,
        system: str,
        low: int,
        *,
        known: bool,
        based: Mark | None,
        exact: bool,
        let_in: Mark | None,
    ) -> ReceiverModel:
        """The window of the member at this point; see ``WindowTerms`` and ``Origin``.

        Args:
            exact: what says where it begins says all that had been sent before the capture began.
        """
        given = self._parameters
        assert self._began is not None, "a window opens with an event"
        beginning = Beginning(self._began, self.elapsed)
        if based is not None:
            beginning.bound = low if exact else None
            beginning.begins(low)
        terms = WindowTerms(
            low=low,
            known=known,
            capacity=given.value("capacity") if system != "nakack2" else None,  # N2
            interval_ns=given.value("xmit_interval_ms") * 1_000_000,
            interval_given=not self._document and given.origin("xmit_interval_ms") != DEFAULT,
            merge_ns=min(given.value("merge_min_interval_ms"), SOONEST_MS) * 1_000_000,
            document=self._document,
            acks=AckSchedule.of(given) if system == "nakack4" else None,  # N3
            began=self._began,
            beginning=beginning,
            elapsed=self.elapsed,
            merges=self._merges,
            life=self.life,
            origin=Origin(low, based, let_in),
        )
        return ReceiverModel(terms)
