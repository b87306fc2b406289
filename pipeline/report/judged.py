"""Where each rule was judged, and where it could not be."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

from seqaudit.replay.contract.report_rows import Judged, NotJudged
from seqaudit.replay.contract.results import JudgedDetail, JudgedRow, ResultRow

_place: Final = itemgetter("capture", "conversation")


class Places(NamedTuple):
    """Of one rule, by capture and conversation, each fact once. Rules that are judged in the same
    places share the entries, which nobody changes."""

    judged: Sequence[Judged]
    not_judged: Sequence[NotJudged]


def places_of_rules(
    rows: Iterable[ResultRow[JudgedDetail]],
    told: Iterable[JudgedRow],
    together: Mapping[str, Collection[tuple[int, str]]],
) -> Mapping[str, Places]:
    """The places of every rule that rows tell of.

    Args:
        rows: of JUDGED, by capture and conversation.
        told: what comparisons say, each of one rule; in their order behind the others.
        together: rule to (capture, conversation) that several legs together judge it on.
    """
    judged: dict[str, list[Judged]] = defaultdict(list)
    not_judged: dict[str, list[NotJudged]] = defaultdict(list)
    for (capture, conversation), same in groupby(rows, key=_place):
        here: Judged = {"capture": capture, "conversation": conversation}
        yes: dict[str, None] = {}
        no: dict[tuple[str, str], None] = {}
        for row in same:
            yes |= dict.fromkeys(row["detail"]["judged"])
            for why, rules in row["detail"]["not_judged"].items():
                no |= dict.fromkeys((why, rule) for rule in rules)
        for why, of_why in groupby(sorted(no, key=itemgetter(0)), key=itemgetter(0)):
            nowhere: NotJudged = {**here, "why": why}
            for _, rule in of_why:
                if (capture, conversation) in together.get(rule, ()):
                    yes[rule] = None
                else:
                    not_judged[rule].append(nowhere)
        for rule in yes:
            judged[rule].append(here)
    for rule, own in groupby(sorted(told, key=itemgetter("rule")), key=itemgetter("rule")):
        known = {_place(entry) for entry in judged[rule]}
        known_not = {(_place(entry), entry["why"]) for entry in not_judged[rule]}
        for one in own:
            at, unjudged = _place(one), one["why"]
            here = {"capture": at[0], "conversation": at[1]}
            if unjudged is None or at in together.get(rule, ()):
                if at not in known:
                    known.add(at)
                    judged[rule].append(here)
            elif (at, unjudged) not in known_not:
                known_not.add((at, unjudged))
                not_judged[rule].append({**here, "why": unjudged})
    return {rule: Places(judged[rule], not_judged[rule]) for rule in {**judged, **not_judged}}
