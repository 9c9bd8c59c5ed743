"""The one exception of the command."""

from __future__ import annotations


def reason(error: OSError) -> str:
    """What the system says, with the path it says it of."""
    return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)


class SillError(Exception):
    """Something the user can mend; the text is one line that says what to do next."""

    def __init__(self, text: str, exit_code: int = 1) -> None:
        super().__init__(text)
        self.exit_code = exit_code
