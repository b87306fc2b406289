"""Datagrams of invented feeds, drawn from a seed, with the layout that made them."""

import random
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seqaudit.decoders.infer.layout import HEAD_BYTES, Sample
from seqaudit.decoders.infer.number import Order


@dataclass(frozen=True)
class Drawn:
    """A layout and its datagrams; ``key`` and ``count`` are (offset, width) or null."""

    offset: int
    width: int
    order: Order | None  # null: one byte has none
    count: tuple[int, int] | None
    key: tuple[int, int] | None
    payloads: list[bytes]


def draw(seed: int, *, datagrams: int = 2_500, disorder: float = 0.0) -> Drawn:
    """A number of ``1 + seed % 8`` bytes anywhere among constants, clocks, prices and noise."""
    rng = random.Random(seed)
    width = 1 + seed % 8
    order: Order = "big" if rng.random() < 0.5 else "little"
    kinds = rng.choices(["constant", "clock", "price", "noise", "flag"], k=rng.randint(1, 5))
    wanted = ["seqno"] + ["count"] * (rng.random() < 0.4) + ["key"] * (rng.random() < 0.4)
    for kind in wanted:
        kinds.insert(rng.randrange(len(kinds) + 1), kind)
    widths = {"seqno": width, "clock": 8, "price": 4, "flag": 1, "key": 4}
    sizes = [widths.get(kind) or rng.choice([1, 2, 3]) for kind in kinds]
    places = {kind: (sum(sizes[:at]), sizes[at]) for at, kind in enumerate(kinds) if kind in wanted}
    constants = [rng.randbytes(size) for size in sizes]
    keys = [rng.randbytes(4) for _ in range(rng.randint(2, 5))] if "key" in kinds else [b""]
    # A number begins anywhere below the width's highest byte: above, nothing tells the constant
    # high bytes of a number from any other constant.
    highest = 1 << min(20, max(5, 8 * (width - 1)) if width != 2 else 16)
    numbers = {key: rng.choice([0, 1, rng.randrange(highest)]) for key in keys}
    at_ns, price, payloads = 1_795_000_000_000_000_000, 100_000, []
    for _ in range(datagrams):
        at_ns += rng.randint(10_000, 3_000_000)
        price += rng.randint(-5, 5)
        key = rng.choice(keys)
        count = rng.choice([0, 1, 1, 2, 3, 5]) if "count" in kinds else 1
        values = {
            "seqno": numbers[key] % (1 << 8 * width),
            "clock": at_ns,
            "price": price,
            "count": count,
            "flag": rng.choice([0, 0, 0, 1, 2]),
        }
        payload = b""
        for kind, size, constant in zip(kinds, sizes, constants, strict=True):
            if kind == "key":
                payload += key
            elif kind == "constant":
                payload += constant
            elif kind == "noise":
                payload += rng.randbytes(size)
            else:
                payload += values[kind].to_bytes(size, order)
        numbers[key] += count
        body = 10 * count if "count" in kinds else rng.randint(0, 30)
        payloads.append(payload + rng.randbytes(body))
    if disorder:
        payloads = disturbed(payloads, rng, disorder)
    offset, _ = places["seqno"]
    told = order if width > 1 else None
    return Drawn(offset, width, told, places.get("count"), places.get("key"), payloads)


def disturbed(payloads: Sequence[bytes], rng: random.Random, share: float) -> list[bytes]:
    """That share lost, of the others that share late by up to eight, and that share doubled."""
    arrivals: list[tuple[int, int, bytes]] = []
    for at, payload in enumerate(payloads):
        if rng.random() < share:
            continue
        late = at + (rng.randint(1, 8) if rng.random() < share else 0)
        arrivals.append((late, len(arrivals), payload))
        if rng.random() < share:
            arrivals.append((late + rng.randint(0, 3), len(arrivals), payload))
    return [payload for _, _, payload in sorted(arrivals)]


def moldudp64(datagrams: int, sessions: Sequence[bytes] = (b"FEED00001 ",)) -> list[bytes]:
    """MoldUDP64 with heartbeats (count 0)."""
    rng = random.Random(64)
    numbers = dict.fromkeys(sessions, 1)
    payloads = []
    for _ in range(datagrams):
        session = rng.choice(sessions)
        count = rng.choice([0, 1, 1, 1, 2, 3])
        header = session + struct.pack(">QH", numbers[session], count)
        payloads.append(header + rng.randbytes(20 * count))
        numbers[session] += count
    return payloads


def rtp(datagrams: int, sources: int = 1, payload_type: int = 0) -> list[bytes]:
    """RTP of several sources with random first numbers and timestamps (RFC 3550 5.1)."""
    rng = random.Random(3550)
    ids = [rng.randrange(1 << 32) for _ in range(sources)]
    numbers = [rng.randrange(1 << 8, 1 << 16) for _ in ids]
    payloads = []
    for _ in range(datagrams):
        which = rng.randrange(sources)
        number = numbers[which]
        stamp = 0x5A000000 + 160 * number & 0xFFFFFFFF
        head = struct.pack(">BBHII", 0x80, payload_type, number & 0xFFFF, stamp, ids[which])
        payloads.append(head + rng.randbytes(40))
        numbers[which] += 1
    return payloads


def sample(payloads: Sequence[bytes], *, step_ns: int = 1_300_000) -> Sample:
    """Datagrams of one source as the search takes them."""
    heads = np.zeros((len(payloads), HEAD_BYTES), np.uint8)
    for row, payload in enumerate(payloads):
        head = payload[:HEAD_BYTES]
        heads[row, : len(head)] = np.frombuffer(head, np.uint8)
    zeros = np.zeros(len(payloads), np.int64)
    lengths = np.array([len(payload) for payload in payloads], np.int64)
    return Sample(heads, lengths, np.arange(len(payloads)) * step_ns, zeros, zeros)
