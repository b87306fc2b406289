"""The signals that ask this process to end, held back where its end would leave something behind.

A command makes SIGTERM and SIGHUP what Ctrl-C is (``ask_alike``), so that each of them ends a run
in the same order: what is known is printed, processes end, folders go. Signals that whoever started
us has switched off (``nohup``, ``&`` in a script) stay off.
"""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Final

#: What asks to end; not every system has all.
ENDINGS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)

#: Who shows lines; nobody in a process that is no command.
_tell: list[Callable[[str], None]] = []


def ask_alike(tell: Callable[[str], None]) -> None:
    """Every signal that asks to end raises KeyboardInterrupt from here on: those that nobody has
    switched off, whatever they did while the command was starting.

    Args:
        tell: shows a line, where a signal is held back for longer than people wait for nothing.
    """
    _tell.append(tell)
    for number in ENDINGS:
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            signal.signal(number, signal.default_int_handler)


def no_more() -> None:
    """This process ends by itself now, with its own exit code, and is not to be disturbed while it
    cleans up.

    Python remembers an interrupt that left the text of an ``exec``, by which dataclasses are made,
    and would end by that signal whatever became of it. It forgets it at the next one.
    """
    for number in ENDINGS:
        signal.signal(number, signal.SIG_IGN)
    exec("")


@contextlib.contextmanager
def held_back(waits_for: str = "") -> Iterator[None]:
    """Raise the KeyboardInterrupt of a signal after this, not inside.

    What ends this process without Python, or is switched off, does so inside as well.

    Args:
        waits_for: what is said at the first signal, of something that takes seconds.
    """
    if threading.current_thread() is not threading.main_thread():  # signals come to the first only
        yield
        return
    interrupted: list[int] = []

    def keep(number: int, frame: FrameType | None) -> None:
        if waits_for and not interrupted:
            for tell in _tell:
                tell(f"interrupted; waiting for {waits_for}")
        interrupted.append(number)

    before = {number: signal.getsignal(number) for number in ENDINGS}
    held = {number: handler for number, handler in before.items() if callable(handler)}
    try:
        for number in held:
            signal.signal(number, keep)
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
    if interrupted:
        raise KeyboardInterrupt


@contextlib.contextmanager
def first_is_heard(told: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """Go on at the first Ctrl-C, which is told; the second one ends what is inside.

    Yields:
        Whether there was one.
    """
    heard: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    def hear(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)
        heard.append(number)
        told()

    signal.signal(signal.SIGINT, hear)
    try:
        yield lambda: bool(heard)
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def none_in_a_fork() -> Iterator[None]:
    """Around a fork: a signal between it and the first line of the new process must not make a
    second first process of it. ``alone`` has to be called there."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def alone() -> None:
    """In a fork: Ctrl-C is the first process's affair, and other signals end this one at once."""
    for number in ENDINGS:
        signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDINGS)
