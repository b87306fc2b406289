"""Streams and the run that each has open, in the restricted style of decoders/README.md 4."""

# ruff: noqa: F403, F405, SIM102, SIM109  (one comparison a line, no tuples: decoders/README.md 4)

from seqaudit.decoders.feeds.field_kernels import *
from seqaudit.decoders.feeds.words import *
from seqaudit.decoders.kernels.reads import *


def same_key(s, ident, place, source, words, m):
    """1 if stream ``s`` has this key; its field words are at H_KEY."""
    if m[s + IDENT] != ident or m[s + PLACE] != place or m[s + FROM] != source:
        return 0
    for n in range(words):
        if m[s + KEY + n] != m[H_KEY + n]:
            return 0
    return 1


def find_stream(ident, place, source, words, m):
    """The number of the stream with this key, new if need be; 0: the table is full."""
    fields = mix(ident >> 8, 1)
    for n in range(words):
        fields = mix(fields, m[H_KEY + n])
    h = mix(mix(fields, (place ^ place >> 32) + (ident & 255)), source)
    stride = m[H_STRIDE]
    for probe in range(PROBES):
        slot = SLOTS + ((h + probe) & (SLOT_COUNT - 1))
        found = m[slot]
        if found == 0:
            if m[H_STREAMS] >= m[H_STREAM_LIMIT]:
                return 0
            found = m[H_STREAMS] + 1
            m[H_STREAMS] = found
            m[slot] = found
            s = m[H_STREAM_ROWS] + found * stride
            m[s + KIND] = 0
            m[s + STREAM] = found
            m[s + CONVERSATION] = TURNS + (fields & (CONVERSATIONS - 1))
            m[s + IDENT] = ident
            m[s + PLACE] = place
            m[s + FROM] = source
            for n in range(words):
                m[s + KEY + n] = m[H_KEY + n]
            return found
        s = m[H_STREAM_ROWS] + found * stride
        if same_key(s, ident, place, source, words, m) == 1:
            return found
    return 0


def end_run(s, m):
    """Write the open run of a stream as a row; the caller has made sure of room."""
    if m[s + KIND] == 0:
        return 0
    row = m[H_ROWS]
    for n in range(WIDTH):
        m[row + n] = m[s + n]
    m[H_ROWS] = row + WIDTH
    m[s + KIND] = 0
    return 1


def is_aside(c, f, sort, message, m):
    """1: a repair, or data that may be one."""
    if sort == IS_REQUEST:
        return 0
    if message > 0 and sort == IS_REPAIR:
        return 1
    if m[f + F_ASIDE] == 1 and m[c + C_ASIDE] == 1:
        return 1
    return 0


def its_turn(s, f, sort, aside, m):
    """The turn of a conversation that streams share: what else of it ends runs."""
    if m[f + F_SHARED] != 1:
        return 0
    t = m[s + CONVERSATION]
    turn = m[t]
    if sort == IS_REQUEST or sort == IS_RESET or sort == IS_END:
        turn = turn + 2
    elif aside != turn & 1:
        turn = turn + 1
    m[t] = turn
    return turn


def alive(s, f, turn, m):
    """1 if a stream's open run, or heartbeat, may go on."""
    if m[s + KIND] > 0 and m[s + BARRIERS] == m[H_BARRIERS] and m[s + TURN] == turn:
        if m[s + SOURCE] == m[H_START] and m[s + DESTINATION] == m[H_TO]:
            if m[H_TIME] - m[s + LAST_AT] <= m[f + F_PAUSE]:
                return 1
    return 0


def one_more(m):
    """A unit, as it is counted in UNITS."""
    if m[H_TOLD] == 1:
        return 1
    m[H_TOLD] = 1
    return 1 + ONE_DATAGRAM


def take(s, f, sort, message, aside, turn, seqno, stop, length, by, odd, stamp, m):
    """Numbers [seqno, stop) into a stream's run."""
    flag = m[H_FLAG]
    if aside == 1 and sort == IS_DATA:
        flag = flag | FLAG_ASIDE
    wanted = DATA_RUN if sort == IS_DATA else REPAIR
    limit = m[f + F_LIMIT]
    items = stop - seqno
    rest = 0
    if limit > 0 and stop > limit:
        rest = stop - limit
        stop = limit
    if (
        alive(s, f, turn, m) == 1
        and m[s + KIND] == wanted
        and aside == 0  # when each repair came is the question
        and m[s + STOP] == seqno
        and m[s + FLAGS] == flag
        and m[s + MESSAGE] == message
        and m[s + BY] == by
    ):
        m[s + LAST_FRAME] = m[H_FRAME]
        m[s + LAST_AT] = m[H_TIME]
        m[s + STOP] = stop
        m[s + COUNT] = m[s + COUNT] + items - rest
        m[s + SIZE] = m[s + SIZE] + length
        m[s + LAST_ID] = m[H_ID]
        m[s + ODD] = m[s + ODD] + odd
        m[s + UNITS] = m[s + UNITS] + one_more(m)
    else:
        end_run(s, m)
        single(s, wanted, f, message, seqno, stop, length, m)
        m[s + COUNT] = items - rest
        m[s + FLAGS] = flag
        m[s + BY] = by
        m[s + ODD] = odd
        m[s + BARRIERS] = m[H_BARRIERS]
        m[s + TURN] = turn
        if m[f + F_LOGGED] == 1 and sort == IS_DATA:
            m[H_RUN] = m[H_RUN] + 1
            m[s + RUN] = m[H_RUN]
    if m[s + RUN] > 0:
        entry = m[H_LOG]
        m[entry] = m[s + RUN]
        m[entry + 1] = seqno
        m[entry + 2] = m[H_TIME]
        m[entry + 3] = stamp
        m[H_LOG] = entry + LOG_WORDS
    if rest > 0:  # the datagram goes on behind the wrap
        end_run(s, m)
        m[s + KIND] = wanted
        m[s + FRAME] = m[H_FRAME]
        m[s + INDEX] = 2 * m[H_UNITS] + 1
        m[s + AT] = m[H_TIME]
        m[s + SEQNO] = 0
        m[s + STOP] = rest
        m[s + COUNT] = rest
        m[s + SIZE] = 0
        m[s + ID] = m[H_ID]
        m[s + ODD] = 0
        m[s + UNITS] = 0
        if m[s + RUN] > 0:
            m[H_RUN] = m[H_RUN] + 1
            m[s + RUN] = m[H_RUN]
    return 0


def heard(s, f, message, turn, seqno, stop, length, m):
    """A heartbeat of a stream."""
    kind = m[s + KIND]
    limit = m[f + F_LIMIT]
    shown = 0  # what the open run or heartbeat shows already
    # one without a number shows nothing of a run, not even that it is still the last
    if alive(s, f, turn, m) == 1 and (
        m[s + STOP] == stop or (limit > 0 and m[s + STOP] == limit and stop == 0)
    ):
        shown = 1
    if shown == 1 and kind != HIGHEST:
        m[s + LAST_FRAME] = m[H_FRAME]
        m[s + LAST_AT] = m[H_TIME]
        m[s + UNITS] = m[s + UNITS] + one_more(m)
    elif (
        shown == 1
        and m[s + STOP] == stop
        and m[s + FLAGS] == m[H_FLAG]
        and m[s + MESSAGE] == message
    ):
        m[s + LAST_FRAME] = m[H_FRAME]
        m[s + LAST_AT] = m[H_TIME]
        m[s + COUNT] = m[s + COUNT] + 1
        m[s + SIZE] = m[s + SIZE] + length
        m[s + LAST_ID] = m[H_ID]
        m[s + UNITS] = m[s + UNITS] + one_more(m)
    else:
        end_run(s, m)
        single(s, HIGHEST, f, message, seqno, stop, length, m)
        m[s + BARRIERS] = m[H_BARRIERS]
        m[s + TURN] = turn
    return 0


def single(s, kind, f, message, seqno, stop, length, m):
    """Open a row of one datagram at stream ``s``."""
    m[s + KIND] = kind
    m[s + FEED] = m[f + F_NUMBER]
    m[s + MESSAGE] = message
    m[s + FRAME] = m[H_FRAME]
    m[s + INDEX] = 2 * m[H_UNITS]
    m[s + LAST_FRAME] = m[H_FRAME]
    m[s + AT] = m[H_TIME]
    m[s + LAST_AT] = m[H_TIME]
    m[s + SOURCE] = m[H_START]
    m[s + DESTINATION] = m[H_TO]
    m[s + SEQNO] = seqno
    m[s + STOP] = stop
    m[s + COUNT] = 1
    m[s + SIZE] = length
    m[s + FLAGS] = m[H_FLAG]
    m[s + ID] = m[H_ID]
    m[s + LAST_ID] = m[H_ID]
    m[s + BY] = 0
    m[s + RUN] = 0
    m[s + ODD] = 0
    m[s + UNITS] = one_more(m)
    return 0
