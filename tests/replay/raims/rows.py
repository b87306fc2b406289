"""The decision tables of raims, as data: one row, one id (raims.md 7.2, 8, 9, 11; CONTRIBUTING.md
4).

The id is cited where the engine implements the row, and by the tests that show it
(``@pytest.mark.rule("raims-9.11")``).
"""

from collections.abc import Mapping
from typing import Final

from tests.replay.decision_row import Row

_SUBSCRIBER: Final = "raims.md 9"
_DOCUMENT: Final = "raims.md 9.3; raims message loss document"
_PUBLISHER: Final = "raims.md 8"
_RELEASES: Final = "raims.md 14.1"
_NOTICE: Final = "raims.md 10.3"
_COUNTERS: Final = "raims.md 10.1"
_ADVISORY: Final = "raims.md 11"

_TABLE: Final = (
    Row("raims-9.0", "time + clock skew before the trailing time: REPEAT", _SUBSCRIBER),
    Row("raims-9.1", "subject in no table, no subscription matches: NOT_SUBSCR", _SUBSCRIBER),
    Row("raims-9.2", "subject in no table, subscribed: FIRST", _SUBSCRIBER),
    Row("raims-9.3", "subscriptions changed since, no match any more: NOT_SUBSCR", _SUBSCRIBER),
    Row("raims-9.4", "subscription stopped and started again: FIRST", _SUBSCRIBER),
    Row("raims-9.5", "another publisher, not in the uid map: FIRST", _SUBSCRIBER),
    Row("raims-9.6", "s = L + 1: NEXT", _SUBSCRIBER),
    Row("raims-9.7", "same frame, s > L: SKIP s - L - 1", _SUBSCRIBER),
    Row("raims-9.8", "same frame, s <= L: REPEAT", _SUBSCRIBER),
    Row("raims-9.9", "later frame, chain = L: NEXT", _SUBSCRIBER),
    Row("raims-9.10", "later frame, chain in the frame of L: SKIP chain - L", _SUBSCRIBER),
    Row("raims-9.11", "later frame, base 1: CYCLE, nothing counted", _SUBSCRIBER),
    Row("raims-9.12", "later frame, base not 1: SKIP of unknown size, counted as 1", _SUBSCRIBER),
    Row("raims-9.13", "earlier frame, base 1: CYCLE, L goes back", _SUBSCRIBER),
    Row("raims-9.14", "earlier frame, base not 1: SKIP of unknown size, L goes back", _SUBSCRIBER),
    Row("raims-9.G", "GLSNO: above the last of the publisher and path: NEXT, else REPEAT",
        _SUBSCRIBER),
    Row("raims-9.R", "the subscription window rotates; the third rotation forgets", _SUBSCRIBER),
    Row("raims-9.2-inbox", "inbox: s above last + 1: loss of the difference; s <= last: dropped",
        "raims.md 9.2"),
    Row("raims-D1", "the publisher's synchronising timestamp: L = s, no loss", _DOCUMENT),
    Row("raims-D2", "no L: FIRST", _DOCUMENT),
    Row("raims-D3", "s <= L: repeated, dropped", _DOCUMENT),
    Row("raims-D4", "s = L + 1: next", _DOCUMENT),
    Row("raims-D5", "s > L + 1: s - L - 1 lost, notified, delivered", _DOCUMENT),
    Row("raims-D6", "no subscription matches: not subscribed", _DOCUMENT),
    Row("raims-8.1", "new subject: first(now), no chain", _PUBLISHER),
    Row("raims-8.2", "frame old enough: first(now), chain = last", _PUBLISHER),
    Row("raims-8.3", "base wraps: first(now), chain = last", _PUBLISHER),
    Row("raims-8.4", "else last + 1, no chain", _PUBLISHER),
    Row("raims-8.5", "rotation: due, too big, and (9 times the interval, or enough entries)",
        _PUBLISHER),
    Row("raims-8.6", "rotation for the old table's size only after 17 times the interval",
        _PUBLISHER),
    Row("raims-8.7", "looked up in the old table: moved to the current one", _PUBLISHER),
    Row("raims-8.8", "a reported loss of unknown size lets pub_window_count grow, if the table "
        "holds more than half of it, once in 2 intervals", _PUBLISHER),
    Row("raims-10.1-multicast", "what a daemon asks all others counts as a null rte", _COUNTERS),
    Row("raims-10.1", "a loss is told to its publisher if the one before is 10 s ago", _NOTICE),
    Row("raims-10.2", "a notice: count, total of the peer, restart if no size is known", _NOTICE),
    Row("raims-14.1-0", "before August 2022: time with the first message only, none too old",
        _RELEASES),
    Row("raims-14.1-4", "before April 2024: subscription began again: CYCLE, publishers kept",
        _RELEASES),
    Row("raims-14.1-11", "before April 2024: later frame, base 1: SKIP of unknown size, counted",
        _RELEASES),
    Row("raims-14.1-13", "before April 2024: earlier frame, base 1: SKIP of unknown size, counted",
        _RELEASES),
    Row("raims-14.1-tables", "before April 2024: the second rotation forgets", _RELEASES),
    Row("raims-14.1-publisher", "before April 2024: no age; a frame ends when the network has "
        "converged since", _RELEASES),
    Row("raims-14.1-defaults", "before October 2023: 4 MiB publisher window, no counts", _RELEASES),
    Row("raims-14.1-inbox", "before December 2024: one inbox counter per peer", _RELEASES),
    Row("raims-11.1", "the first loss event is advised at once", _ADVISORY),
    Row("raims-11.2", "then once a second, everything since, by subject", _ADVISORY),
    Row("raims-11.3", "a second without news ends it: the next event is advised at once",
        _ADVISORY),
    Row("raims-11.4", "at most nine pairs of subject and count", _ADVISORY),
    Row("raims-11.5", "the publisher's daemon tells its clients of what others' clients lost",
        _ADVISORY),
)  # fmt: skip

ROWS: Final[Mapping[str, Row]] = {row.id: row for row in _TABLE}
