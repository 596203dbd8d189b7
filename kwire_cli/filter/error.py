"""What is wrong with a filter, and where."""

from __future__ import annotations

from kwire_cli.errors import InputError


class FilterError(InputError):
    """A filter is no filter: `column` counts from 1 and is that of the first wrong character of `text`; `reason` says what was expected."""

    def __init__(self, message: str, *, text: str, column: int) -> None:
        super().__init__(message, column=column)
        self.text = text
        self.args = (f"filter, column {column}: {message}",)
