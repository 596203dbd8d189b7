"""Sizes as options take them: bytes, or with a unit, such as 512MiB."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from kwire_cli.codec.model import Limits

_UNITS = {"": 0, "k": 10, "m": 20, "g": 30}
_SIZE = re.compile(r"(\d{1,18})\s*([kmg]?)(?:i?b)?", re.IGNORECASE)


def size_of(text: str, option: str) -> int:
    """The bytes that `text` says; UsageError that names the option otherwise. Units are powers of 1024."""
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise click.UsageError(f"{option} takes bytes, or a size such as 512MiB, not {text!r}")
    return int(match[1]) << _UNITS[match[2].lower()]


def limits_of(options: dict[str, Any]) -> Limits:
    """What --max-decompressed says."""
    from kwire_cli.codec.model import Limits

    text = options["max_decompressed"]
    return Limits() if text is None else Limits(output=size_of(text, "--max-decompressed"), ratio=None)
