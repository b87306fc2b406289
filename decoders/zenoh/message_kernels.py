"""One message of zenoh after the other: where it ends and what it says (zenoh.md 1 to 7), in the
restricted style of decoders/README.md 4.
"""

# ruff: noqa: F403, F405, RUF059, SIM102, SIM109  (one comparison a line, no tuples: decoders/README.md 4)

from seqaudit.decoders.kernels.reads import *
from seqaudit.decoders.zenoh.kernel_words import *


def zint(d, at, stop):
    """(value, next); next is -1 where the bytes end. Above 2**61 the value is only large."""
    value = 0
    shift = 0
    while shift < 56:
        if at >= stop:
            return 0, -1
        b = d[at] | 0
        at += 1
        value |= (b & 127) << shift
        if b < 128:
            return value, at
        shift += 7
    if at >= stop:
        return 0, -1
    b = d[at] | 0
    if b > 31:
        b = 31
    return value | b << 56, at + 1


def sized(d, at, stop, end):
    """(begin, next) of bytes behind their length; next is -1 where they do not fit."""
    n, at = zint(d, at, stop)
    if at < 0:
        return 0, -1
    if n > end - at:
        return 0, -1
    return at, at + n


def chain(d, at, stop, end, h, context, m):
    """Behind the extensions of a message with header ``h``, if it has any; -1 stays -1."""
    if at >= 0:
        if h & 128:
            at = extensions(d, at, stop, end, context, m)
    return at


def extensions(d, at, stop, end, context, m):
    """Skip a chain (zenoh.md 1.3); notes priority, unit ids and where SourceInfo is.

    Returns next, or -1.
    """
    more = 1
    while more:
        if at < 0:
            return -1
        if at >= stop:
            return -1
        h = d[at] | 0
        at += 1
        more = 1 if h & 128 else 0
        h &= 127
        if h & 16:
            known = 0
            if context == OF_NETWORK:
                if h == 51 or h == 52:
                    known = 1
            elif context == OF_PUT:
                if h == 18:
                    known = 1
            elif context == OF_FRAME:
                if h == 49:
                    known = 1
            elif context == OF_UNDECLARE:
                if h == 95:
                    known = 1
            elif context == OF_JOIN:
                if h == 81 or h == 82:
                    known = 1
            if known == 0:
                m[M_WHY] = UNDECODABLE
                return -1
        form = h >> 5
        if form == 3:
            return -1
        if form == 0:
            m[M_UNITS] |= 1 << (h & 15)
        elif form == 1:
            value, at = zint(d, at, stop)
            if h == 49:
                m[M_PRIORITY] = value & 7
            elif h == 33:
                if context == OF_NETWORK:
                    m[M_QOS] = value & 255
        else:
            begin, at = sized(d, at, stop, end)
            if h == 65:
                if context == OF_PUT or context == OF_DEL:
                    if at >= 0:
                        m[M_SI] = begin
                        m[M_SI_END] = at
            elif h == 67 or h == 66:
                if h == 67 if context == OF_PUT else context == OF_DEL:
                    if at >= 0:
                        m[M_ATTACHED] = begin
                        m[M_ATTACHED_END] = at
    return at


def timestamp(d, at, stop, end):
    value, at = zint(d, at, stop)
    if at < 0:
        return -1
    begin, at = sized(d, at, stop, end)
    if at < 0:
        return -1
    if at - begin > MAX_ZID:
        return -1
    return at


def encoding(d, at, stop, end):
    value, at = zint(d, at, stop)
    if at < 0:
        return -1
    if value & 1:
        begin, at = sized(d, at, stop, end)
    return at


def sample(d, at, stop, end, m):
    """A Put or Del (zenoh.md 5.1); M_SI, M_STAMPED and M_PAYLOAD say what it has."""
    if at >= stop:
        return -1
    h = d[at] | 0
    at += 1
    kind = h & 31
    m[M_SI] = 0
    m[M_ATTACHED] = 0
    m[M_UNITS] = 0
    m[M_STAMPED] = 1 if h & 32 else 0
    m[M_PAYLOAD] = 0
    if kind == 1:
        if h & 32:
            at = timestamp(d, at, stop, end)
            if at < 0:
                return -1
        if h & 64:
            at = encoding(d, at, stop, end)
            if at < 0:
                return -1
        at = chain(d, at, stop, end, h, OF_PUT, m)
        if at < 0:
            return -1
        if m[M_UNITS] & 4:
            count, at = zint(d, at, stop)
            while count > 0:
                if at < 0:
                    return -1
                if at >= stop:
                    return -1
                begin, at = sized(d, at + 1, stop, end)
                count -= 1
            return at
        begin, at = sized(d, at, stop, end)
        if at >= 0:
            m[M_PAYLOAD] = at - begin
        return at
    if kind == 2:
        if h & 64:
            return -1
        if h & 32:
            at = timestamp(d, at, stop, end)
            if at < 0:
                return -1
        return chain(d, at, stop, end, h, OF_DEL, m)
    return -1


def wire_expr(d, at, stop, end, named, to, m):
    """Scope and suffix (zenoh.md 6), noted in the record at ``to``."""
    scope, at = zint(d, at, stop)
    if at < 0:
        return -1
    if scope > 65535:
        return -1
    m[to + 8] = scope
    m[to + 10] = 0
    m[to + 11] = 0
    if named:
        begin, at = sized(d, at, stop, end)
        if at < 0:
            return -1
        if at > stop:
            return -1
        if at - begin > 65535:
            return -1
        m[to + 10] = begin
        m[to + 11] = at - begin
    return at


def declaration(d, at, stop, end, to, m):
    if at >= stop:
        return -1
    h = d[at] | 0
    at += 1
    kind = h & 31
    if kind == 26:
        return chain(d, at, stop, end, h, OF_OTHERS, m)
    if kind > 7:
        return -1
    number, at = zint(d, at, stop)
    if at < 0:
        return -1
    if kind & 1 == 0:
        at = wire_expr(d, at, stop, end, h & 32, to, m)
        if at < 0:
            return -1
    return chain(d, at, stop, end, h, OF_UNDECLARE if kind & 1 else OF_OTHERS, m)


def oam(d, at, stop, end, h, m):
    number, at = zint(d, at, stop)
    at = chain(d, at, stop, end, h, OF_OTHERS, m)
    if at < 0:
        return -1
    form = h >> 5 & 3
    if form == 3:
        return -1
    if form == 1:
        number, at = zint(d, at, stop)
    elif form == 2:
        begin, at = sized(d, at, stop, end)
    return at


def source_info(d, at, stop, to, m):
    """Read a SourceInfo (zenoh.md 5.2) into the record; 0 where it is none."""
    if at >= stop:
        return 0
    size = ((d[at] | 0) >> 4) + 1
    at += 1
    if at + size > stop:
        return 0
    m[to + 5] = at
    m[to + 15] = size
    eid, at = zint(d, at + size, stop)
    if at < 0:
        return 0
    sn, at = zint(d, at, stop)
    if at < 0:
        return 0
    if at != m[M_SI_END]:
        return 0
    m[to + 7] = eid & 4294967295
    m[to + 6] = sn & 4294967295
    return 1


def letters(d, at, n):
    """Sum of the bytes of a name, which stands for the name."""
    total = 0
    i = 0
    while i < n:
        total += d[at + i] | 0
        i += 1
    return total


def numbered(d, stop, to, m):
    """Read the number that ROS 2 puts into an attachment (zenoh.md 9.7); 0 where it is none."""
    at = m[M_ATTACHED]
    if m[M_ATTACHED_END] - at != ROS_BYTES:
        return 0
    if at + ROS_BYTES > stop:
        return 0
    if (d[at] | 0) != 15 or (d[at + 24] | 0) != 16:
        return 0
    if (d[at + 49] | 0) != 10 or (d[at + 60] | 0) != 16:
        return 0
    if letters(d, at + 1, 15) != ROS_NUMBER:
        return 0
    if letters(d, at + 25, 16) != ROS_STAMP:
        return 0
    if letters(d, at + 50, 10) != ROS_GID:
        return 0
    if (d[at + 23] | 0) > 31:
        return 0
    sn = 0
    i = 7
    while i >= 0:
        sn = sn << 8 | (d[at + 16 + i] | 0)
        i -= 1
    m[to + 5] = at + 61
    m[to + 15] = 16
    m[to + 7] = ROS_EID
    m[to + 6] = sn
    return 1


def body_of(d, at, stop, end, h, to, m):
    """Where the body of a Request or Response begins, behind id, key and extensions; or -1."""
    number, at = zint(d, at, stop)
    if at < 0:
        return -1
    at = wire_expr(d, at, stop, end, h & 32, to, m)
    at = chain(d, at, stop, end, h, OF_NETWORK, m)
    if at >= stop:
        return -1
    return at


def request(d, at, stop, end, h, to, m):
    """A Request behind its header: a Query. Returns next or -1."""
    at = body_of(d, at, stop, end, h, to, m)
    if at < 0:
        return -1
    h = d[at] | 0
    at += 1
    if h & 31 != 3:
        return -1
    if h & 32:
        number, at = zint(d, at, stop)
        if at < 0:
            return -1
    if h & 64:
        number, at = sized(d, at, stop, end)
        if at < 0:
            return -1
    return chain(d, at, stop, end, h, OF_DEL, m)


def response(d, at, stop, end, h, to, m):
    """A Response behind its header: a Reply or an Err. Returns next or -1."""
    at = body_of(d, at, stop, end, h, to, m)
    if at < 0:
        return -1
    h = d[at] | 0
    at += 1
    if h & 31 == 4:
        if h & 32:
            number, at = zint(d, at, stop)
            if at < 0:
                return -1
        at = chain(d, at, stop, end, h, OF_OTHERS, m)
        if at < 0:
            return -1
        at = sample(d, at, stop, end, m)
        if m[M_SI]:
            m[M_STRONG] = 1
    elif h & 31 == 5:
        if h & 64:
            at = encoding(d, at, stop, end)
            if at < 0:
                return -1
        at = chain(d, at, stop, end, h, OF_DEL, m)
        if at < 0:
            return -1
        number, at = sized(d, at, stop, end)
    else:
        return -1
    return at


def network(d, at, stop, end, to, m):
    """One network message into the record at ``to``: KIND and its fields. Returns next or -1."""
    h = d[at] | 0
    begin = at
    at += 1
    kind = h & 31
    m[to] = NETWORK
    m[to + 1] = begin
    m[to + 12] = h
    m[to + 9] = h >> 6 & 1
    m[M_SI] = 0
    if kind == 29:
        m[M_QOS] = 5
        at = wire_expr(d, at, stop, end, h & 32, to, m)
        at = chain(d, at, stop, end, h, OF_NETWORK, m)
        if at < 0:
            return -1
        at = sample(d, at, stop, end, m)
        if at < 0:
            return -1
        m[to + 14] = m[M_QOS]
        if m[M_SI]:
            if source_info(d, m[M_SI], stop, to, m) == 0:
                return -1
            m[to] = SAMPLES
            m[M_STRONG] = 1
        else:
            ros = 0
            if m[M_ATTACHED]:
                ros = numbered(d, stop, to, m)
            if ros:
                m[to] = SAMPLES
                m[M_STRONG] = 1
            elif m[M_STAMPED] == 0:
                if m[M_PAYLOAD] != HEARTBEAT_BYTES:
                    m[to] = PLAIN
    elif kind == 28:
        at = request(d, at, stop, end, h, to, m)
    elif kind == 27:
        at = response(d, at, stop, end, h, to, m)
    elif kind == 26:
        number, at = zint(d, at, stop)
        at = chain(d, at, stop, end, h, OF_NETWORK, m)
    elif kind == 30:
        if h & 32:
            number, at = zint(d, at, stop)
            if at < 0:
                return -1
        at = chain(d, at, stop, end, h, OF_NETWORK, m)
        if at < 0:
            return -1
        at = declaration(d, at, stop, end, to, m)
    elif kind == 25:
        number, at = zint(d, at, stop)
        if at < 0:
            return -1
        if h & 96:
            if at >= stop:
                return -1
            options = d[at] | 0
            at += 1
            if options & 16:
                at = wire_expr(d, at, stop, end, options & 32, to, m)
                if at < 0:
                    return -1
        at = chain(d, at, stop, end, h, OF_NETWORK, m)
    elif kind == 31:
        at = oam(d, at, stop, end, h, m)
    else:
        return -1
    if at < 0:
        return -1
    if at > end:
        return -1
    m[to + 2] = at
    return at


def version_and_zid(d, at, stop):
    """Behind version, zid length and role, and zid; -1 where they are not zenoh's."""
    if at + 2 > stop:
        return -1
    version = d[at] | 0
    if version != 9:
        if version != 8:
            return -1
    if (d[at + 1] | 0) & 15 > 2:  # router, peer, client
        return -1
    at += 2 + ((d[at + 1] | 0) >> 4) + 1
    if at > stop:
        return -1
    return at


def join(d, at, stop, end, h, m):
    """A Join; proof of zenoh only as writers make it, for its fields alone would often fit.

    Alone in its datagram, a role that there is, numbers that 32 bits have and no longer than
    needed, a lease of at most a day (zenoh.md 3.7, 8.1).
    """
    proof = 1
    at = version_and_zid(d, at, stop)
    if at < 0:
        return -1
    if h & 64:
        if at + 3 > stop:
            return -1
        if (d[at] | 0) > 15:
            return -1
        at += 3
    lease, at = zint(d, at, stop)
    if at < 0:
        return -1
    if lease < 1 or lease > 86400000:
        proof = 0
    turn = 0
    while turn < 2:
        begin = at
        sn, at = zint(d, at, stop)
        if at < 0:
            return -1
        if at - begin > 5:
            proof = 0
        if at - begin > 1:
            if (d[at - 1] | 0) == 0:
                proof = 0
        turn += 1
    at = chain(d, at, stop, end, h, OF_JOIN, m)
    if at == end:
        if proof:
            m[M_STRONG] = 1
    return at


def control(d, at, stop, end, m):
    """A transport message without network messages. Returns next or -1."""
    h = d[at] | 0
    kind = h & 31
    at += 1
    if kind == 1:
        at = version_and_zid(d, at, stop)
        if at < 0:
            return -1
        if h & 64:
            at += 3
        if h & 32:
            begin, at = sized(d, at, stop, end)
            if at < 0:
                return -1
        at = chain(d, at, stop, end, h, OF_OTHERS, m)
        if at == end:
            m[M_STRONG] = 1
        return at
    if kind == 2:
        lease, at = zint(d, at, stop)
        if at < 0:
            return -1
        sn, at = zint(d, at, stop)
        if at < 0:
            return -1
        if h & 32 == 0:
            begin, at = sized(d, at, stop, end)
            if at < 0:
                return -1
        return chain(d, at, stop, end, h, OF_OTHERS, m)
    if kind == 3:
        if at >= stop:
            return -1
        if (d[at] | 0) > 7:
            return -1
        at += 1
        return chain(d, at, stop, end, h, OF_OTHERS, m)
    if kind == 4:
        if h & 96:
            return -1
        return chain(d, at, stop, end, h, OF_OTHERS, m)
    if kind == 7:
        return join(d, at, stop, end, h, m)
    return -1


def scouting(d, at, stop, end, at_port, m):
    """1 where the datagram is a Scout or Hello (zenoh.md 7).

    ``at_port``: not 0 at the scouting port; elsewhere only a Hello with locators is taken for one.
    """
    if at + 3 > stop:
        return 0
    h = d[at] | 0
    what = d[at + 2] | 0
    version = d[at + 1] | 0
    if version != 9:
        if version != 8:
            return 0
    if h & 31 == 2:
        if what & 12:
            return 0
        at += 3 + (what >> 4) + 1
        if h & 32:
            count, at = zint(d, at, stop)
            if at < 0:
                return 0
            if count > 64:
                return 0
            while count > 0:
                begin, at = sized(d, at, stop, end)
                if at < 0:
                    return 0
                count -= 1
        elif at_port == 0:
            return 0
    elif at_port:
        if h & 31 != 1:
            return 0
        at += 3
        if what & 8:
            at += (what >> 4) + 1
    else:
        return 0
    return 1 if chain(d, at, stop, end, h, OF_OTHERS, m) == end else 0
