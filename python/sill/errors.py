"""The one exception of the command."""

from __future__ import annotations


class SillError(Exception):
    """Something the user can mend; the text is one line that says what to do next."""

    def __init__(self, text: str, exit_code: int = 1) -> None:
        super().__init__(text)
        self.exit_code = exit_code
