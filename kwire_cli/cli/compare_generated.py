"""Values that `kwire compare` generates instead of reading an input: --make.

With --message, a message is generated, and --make has the sizes of its arrays and strings. Without --message, records
are generated. A size of a message can be a range, and the message is then generated in each of the sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import click

from kwire_cli.analysis.costs.generated import ROLES, Wanted
from kwire_cli.cli.typed_options import Printing, numbers_of, option

if TYPE_CHECKING:
    from collections.abc import Mapping

_BYTES = range((100 << 20) + 1)
_RECORDS = {
    "records": range(1, 10_000_001),
    "key": _BYTES,
    "value": _BYTES,
    "headers": range(10_001),
    "header-size": _BYTES,
}
"""The settings of generated records, with their numbers."""
_NULLABLE = ("key", "value")
_EXAMPLE = "partitions=10,replicas=3"


def _settings(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> dict[str, str] | None:
    """Parse the lists in --make. A part without a name continues the value before it. This is a callback for click."""
    settings: dict[str, str] = {}
    for text in texts:
        name = ""
        for part in text.split(","):
            left, equals, right = part.partition("=")
            if equals and left.strip():
                name = left.strip().removesuffix("[]")
                settings[name] = right
            elif name and not equals:
                settings[name] += f",{part}"
            else:
                raise click.BadParameter(f"{text!r} is not a list of NAME=N, such as {_EXAMPLE}", ctx, param)
    return settings or None


class Generated(Printing):
    """Options for generated values: --make."""

    SECTION: ClassVar[str] = "Input"

    made: Mapping[str, str] | None = option(
        "--make",
        default=None,
        multiple=True,
        metavar="NAME=N,...",
        callback=_settings,
        help=f"Generate arrays of these sizes ({_EXAMPLE}), or records=1000,key=16,value=100.",
    )

    @property
    def made_sizes(self) -> dict[str, tuple[int, ...]]:
        """Return the sizes of the arrays and strings of generated messages, by role or path."""
        return {name: numbers_of(text, f"--make {name}") for name, text in (self.made or {}).items()}

    @property
    def made_records(self) -> Wanted:
        """Return the number and the sizes of generated records. Raise UsageError for an unknown or missing setting."""
        made = self.made or {}
        for name in made:
            if name not in _RECORDS:
                raise click.UsageError(
                    f"--make {name}: records have {', '.join(_RECORDS)}; with --message, there are also {ROLES}"
                )
        if "records" not in made:
            raise click.UsageError("--make needs records=N, or a --message whose arrays have these sizes")
        names = tuple(name.strip() for name in made.get("headers", "0").split(","))
        if names[0].isdecimal() and len(names) == 1:
            count = self._number("headers") or 0
            names = tuple(f"header-{number}" for number in range(1, count + 1))
        return Wanted(
            self._number("records") or 0,
            self._number("key", 16),
            self._number("value", 100),
            names,
            self._number("header-size", 16) or 0,
        )

    def _number(self, name: str, default: int = 0) -> int | None:
        text = (self.made or {}).get(name, str(default)).strip()
        if text == "null" and name in _NULLABLE:
            return None
        known = _RECORDS[name]
        if not (text.isascii() and text.isdecimal()) or int(text[:12]) not in known:
            or_null = ", or null" if name in _NULLABLE else ""
            raise click.UsageError(f"--make {name}={text}: {name} takes {known[0]} to {known[-1]}{or_null}")
        return int(text)
