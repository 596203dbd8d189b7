"""What a look at one thing found."""

from __future__ import annotations

from typing import Literal, NamedTuple

State = Literal["ok", "absent", "broken"]
"""Broken is what is there, or has to be, and can't be used; absent what kwire does without."""


class Finding(NamedTuple):
    """One thing: a library, a program, a folder."""

    group: str
    """What it belongs to: `kwire`, `libraries`, an extra such as `kwire[tls]`, `programs` or `surroundings`."""
    name: str
    state: State
    found: str = ""
    """The version, or where it is."""
    purpose: str = ""
    """The commands or options that need it."""
    how: str = ""
    """How to get or mend it; of what is not ok."""


def one_line(text: object) -> str:
    """What somebody else says, such as an error, in one line."""
    return " ".join(str(text).split())
