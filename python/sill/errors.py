"""How a command ends early: its one exception, and signals."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from types import FrameType

_ENDING = (signal.SIGTERM, signal.SIGHUP)  # SIGINT is an exception already


def reason(error: OSError) -> str:
    """What the system says, with the path it says it of."""
    return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)


class SillError(Exception):
    """Something the user can mend; the text is one line that says what to do next."""

    def __init__(self, text: str, exit_code: int = 1) -> None:
        super().__init__(text)
        self.exit_code = exit_code


@contextlib.contextmanager
def held_signals() -> Iterator[None]:
    """Where signals wait that would end the command, for what it starts there must be known to what ends it then."""
    came: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, *_ENDING)}
    held = {number: handler for number, handler in before.items() if callable(handler)}
    for number in held:
        signal.signal(number, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
        for number in came[:1]:
            signal.raise_signal(number)


@contextlib.contextmanager
def unwound_by_signals() -> Iterator[None]:
    """Where a batch system's SIGTERM, or a closed terminal's SIGHUP, is an exception, so that what was started is ended
    and what was made is removed. The first one counts; one that the caller ignores (nohup) stays ignored."""
    before = {number: signal.getsignal(number) for number in _ENDING}

    def end(number: int, frame: FrameType | None) -> None:
        for other in before:
            signal.signal(other, signal.SIG_IGN)
        sys.exit(128 + number)

    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
